"""Files that EDL writes and reads: programs of its own, and tensors."""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path
from typing import Any

from edl import errors

_HEADER_MAX = 100 << 20
_DTYPES = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16",
           "I64": "int64", "I32": "int32", "I16": "int16", "I8": "int8", "U8": "uint8",
           "BOOL": "bool"}


def edl_program() -> str:
    """The command `edl` that belongs to this package."""
    package = Path(__file__).resolve().parent
    said = os.environ.get("EDL_PROGRAM")
    places = [Path(said)] if said else [package / "bin/edl",
                                        package.parents[1] / "build/release/bin/edl"]
    for place in places:
        if place.exists():
            return str(place)
    raise errors.NotFoundError(f"the program edl is not at {' or '.join(map(str, places))}: build "
                               "it with `make build`, or say where it is in EDL_PROGRAM")


def read_tensors(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The tensors of a safetensors file, by name.

    They load into a plain network: ``net.load_state_dict(edl.read_tensors("model.safetensors"))``.

    >>> import struct, tempfile
    >>> header = b'{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}'
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     _ = file.write(struct.pack("<Q", len(header)) + header + struct.pack("<ff", 1.5, 2.5))
    ...     file.flush()
    ...     read_tensors(file.name)
    {'w': tensor([1.5000, 2.5000])}
    """
    import torch

    content = bytearray(Path(path).read_bytes())
    try:
        (length,) = struct.unpack_from("<Q", content)
        if length > min(_HEADER_MAX, len(content) - 8):
            raise ValueError(f"its header has {length} bytes")
        header = json.loads(content[8:8 + length])
        numbers = memoryview(content)[8 + length:]
        out = {}
        for name, tensor in header.items():
            if name == "__metadata__":
                continue
            begin, end = tensor["data_offsets"]
            dtype = getattr(torch, _DTYPES[tensor["dtype"]])
            if not 0 <= begin <= end <= len(numbers):
                raise ValueError(f"{name} lies outside of the file")
            flat = torch.frombuffer(numbers[begin:end], dtype=dtype) if end > begin else \
                torch.empty(0, dtype=dtype)
            out[name] = flat.reshape(tensor["shape"]).clone()
        return out
    except (KeyError, TypeError, ValueError, RuntimeError, struct.error) as wrong:
        raise errors.CorruptError(f"{path} is no file of tensors: {wrong}") from wrong
