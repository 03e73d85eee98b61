"""What the bits of a program's numbers depend on beside the job."""

from __future__ import annotations

import ctypes
import dataclasses
import hashlib
import math
import os
import re
from pathlib import Path

import torch


class _Found(ctypes.Structure):
    """Dl_info of the C library."""
    _fields_ = [("file", ctypes.c_char_p), ("base", ctypes.c_void_p), ("name", ctypes.c_char_p),
                ("address", ctypes.c_void_p)]


@dataclasses.dataclass(frozen=True)
class Blas:
    """The library that torch's matrix products go to."""
    file: str = ""  # empty: it is part of torch
    config: str = ""  # what OpenBLAS says of itself; empty: it is another one

    def is_reference(self) -> bool:
        others = any(word in self.file for word in ("blis", "atlas", "mkl", "armpl"))
        return not others and not self.config and Path(self.file).name.startswith("libblas.so")

    def name(self) -> str:
        if self.config:
            return self.config
        if not self.file:
            return "of torch itself"
        return f"reference, {Path(self.file).name}" if self.is_reference() else self.file

    def warning(self) -> str:
        """A sentence about one that should not be used; empty when there is nothing to say."""
        if self.is_reference():
            return (f"Matrix products are computed by the reference BLAS ({self.file}), ten times "
                    "slower than need be: install libopenblas0-pthread.")
        if "openblas-serial" in self.file:
            return (f"Matrix products are computed by libopenblas0-serial ({self.file}), which is "
                    "not made for several threads: install libopenblas0-pthread.")
        return ""


def _file_of(library: ctypes.CDLL, function: str) -> str:
    """Of the library that has it, among this one and those that it needs; empty: none has."""
    found = _Found()
    try:
        address = ctypes.cast(getattr(library, function), ctypes.c_void_p)
    except AttributeError:
        return ""
    if not ctypes.CDLL(None).dladdr(address, ctypes.byref(found)) or not found.file:
        return ""
    return os.path.realpath(found.file.decode())


def loaded_blas() -> Blas:
    """Found from torch's own library on: another package may have brought a BLAS of its own."""
    maps = Path("/proc/self/maps").read_text(errors="replace")
    path = next((line.split()[-1] for line in maps.splitlines() if "libtorch_cpu" in line), None)
    if path is None:
        return Blas()
    torch_cpu = ctypes.CDLL(path)
    file = _file_of(torch_cpu, "sgemm_")
    if not file or "libtorch" in Path(file).name:
        return Blas()
    openblas = _file_of(torch_cpu, "openblas_get_config")
    if not openblas or (openblas != file and "openblas" not in file):
        return Blas(file)
    torch_cpu.openblas_get_config.restype = ctypes.c_char_p
    return Blas(file, torch_cpu.openblas_get_config().decode().strip())


def _numbers(shape: tuple[int, ...]) -> torch.Tensor:
    """0, 1, ... folded into [-0.5, 0.5): by arithmetic that is exact in every library."""
    whole = torch.arange(math.prod(shape), dtype=torch.int64).mul(7919).remainder(4096)
    return whole.to(torch.float32).div(4096).sub(0.5).reshape(shape)


def _known_computation() -> str:
    seen = hashlib.sha256()
    with torch.no_grad():
        a, b = _numbers((67, 131)), _numbers((131, 93))
        product = a @ b
        for result in (product, a.t() @ product, a.mv(b[:, 0].contiguous()),
                       torch.conv2d(_numbers((2, 3, 13, 13)), _numbers((8, 3, 3, 3)),
                                    _numbers((8,)), padding=1),
                       product.exp(), product.tanh(), product.log_softmax(1), product.sum(0),
                       torch.layer_norm(product, (93,))):
            dense = result.contiguous()
            seen.update(bytes((ctypes.c_char * (dense.numel() * 4)).from_address(dense.data_ptr())))
    return seen.hexdigest()[:16]


def _onednn(shown: str) -> str:
    version = re.search(r"(?:MKL-DNN|oneDNN) v([\w.]+)", shown)
    return version[1] if version and torch.backends.mkldnn.is_available() else "off"


def fingerprint(blas: Blas) -> dict[str, str]:
    """The parts that two machines must have in common to compute the same bits."""
    shown = torch.__config__.show()
    isa = re.search(r"CPU capability usage: *(\S+)", shown)
    return {"torch": torch.__version__, "blas": blas.name(), "onednn": _onednn(shown),
            "isa": isa[1] if isa else "", "threads": str(torch.get_num_threads()),
            "known": _known_computation()}
