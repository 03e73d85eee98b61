"""Tensors of a program, by name and as the core sees them."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import torch

from edl import _core, errors
from edl._compiled import plain_name

_DTYPES = {torch.float32: (2, 32), torch.float64: (2, 64), torch.float16: (2, 16),
           torch.bfloat16: (4, 16), torch.int64: (0, 64), torch.int32: (0, 32),
           torch.int16: (0, 16), torch.int8: (0, 8), torch.uint8: (1, 8), torch.bool: (6, 8)}


@functools.cache
def _size_of(dtype: torch.dtype) -> int:
    return torch.empty((), dtype=dtype).element_size()


def tensor_at(address: int, count: int, dtype: torch.dtype) -> torch.Tensor:
    """Numbers in memory of the core, without a copy."""
    memory = (ctypes.c_char * (count * _size_of(dtype))).from_address(address)
    return torch.frombuffer(memory, dtype=dtype, count=count)


def is_state(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and not isinstance(value, torch.nn.Parameter)


def modules_of(params: dict[str, Any]) -> dict[str, torch.nn.Module]:
    return {name: value for name, value in params.items() if isinstance(value, torch.nn.Module)}


def named_tensors(params: dict[str, Any], what: str) -> list[tuple[str, torch.Tensor]]:
    """`_parameters` or `_buffers` by their names within the network; with its own before them when
    there are several. What is shared comes under each of its names."""
    nets = modules_of(params)
    out = []
    for own, net in nets.items():
        for prefix, module in net.named_modules(remove_duplicate=False):
            for name, tensor in getattr(module, what).items():
                if tensor is not None:
                    words = [plain_name(prefix), name]
                    words = words if len(nets) == 1 else [own, *words]
                    out.append((".".join(word for word in words if word), tensor))
    return out


def load_model(params: dict[str, Any], tensors: dict[str, torch.Tensor]) -> None:
    """Into the networks of what `model()` made."""
    with torch.no_grad():
        for name, tensor in (*named_tensors(params, "_parameters"),
                             *named_tensors(params, "_buffers")):
            if name not in tensors or tensors[name].shape != tensor.shape:
                raise errors.InvalidError(f"the file has no {name} of shape {tuple(tensor.shape)}")
            tensor.copy_(tensors[name])


def described(name: str, tensor: torch.Tensor) -> _core.Tensor:
    if tensor.dtype not in _DTYPES:
        raise errors.InvalidError(f"{name}: a tensor of {tensor.dtype} cannot be part of the state")
    code, bits = _DTYPES[tensor.dtype]
    shape = (ctypes.c_int64 * max(1, tensor.dim()))(*tensor.shape)
    return _core.Tensor(data=tensor.data_ptr(), device=_core.Device(_core.CPU, 0),
                        ndim=tensor.dim(), dtype=_core.DataType(code, bits, 1), shape=shape)
