"""Tensors of a program, by name and as the core sees them."""

from __future__ import annotations

import ctypes
import functools
from typing import Any, Iterator

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


def _held(params: dict[str, Any], what: str) -> Iterator[tuple[str, torch.nn.Module, str]]:
    """Each of `_parameters` or `_buffers`: its name, the module that has it, and as what."""
    nets = modules_of(params)
    for own, net in nets.items():
        for prefix, module in net.named_modules(remove_duplicate=False):
            for key, tensor in getattr(module, what).items():
                if tensor is not None:
                    words = [plain_name(prefix), key]
                    words = words if len(nets) == 1 else [own, *words]
                    yield ".".join(word for word in words if word), module, key


def _is_saved(module: torch.nn.Module, key: str) -> bool:
    return key not in getattr(module, "_non_persistent_buffers_set", ())


def named_tensors(params: dict[str, Any], what: str) -> list[tuple[str, torch.Tensor]]:
    """`_parameters` or `_buffers` by their names in the network's state_dict; with its own before
    them when there are several. What is shared comes under each of its names."""
    return [(name, getattr(module, what)[key]) for name, module, key in _held(params, what)
            if _is_saved(module, key)]


class UnsavedBuffers:
    """Those that are in no state_dict (persistent=False): state beside the model, in its order.
    Hooks may change them, as they run on every worker; what computes a part may not."""

    def __init__(self, params: dict[str, Any]):
        saved = {id(tensor) for _, tensor in named_tensors(params, "_buffers")}
        self._all = [(name, module, key, module._buffers[key])
                     for name, module, key in _held(params, "_buffers")
                     if not _is_saved(module, key) and id(module._buffers[key]) not in saved]
        self.see()

    def see(self) -> None:
        """As they are now they are meant."""
        self._versions = [tensor._version for _, _, _, tensor in self._all]

    def check(self) -> None:
        for (name, module, key, tensor), version in zip(self._all, self._versions):
            if module._buffers.get(key) is not tensor or tensor._version != version:
                raise errors.InvalidError(
                    f"the buffer {name} was changed by what computes a part, and it is in no "
                    "state_dict (persistent=False), so that its changes would not be shared: make "
                    "it persistent, or a plain attribute of the module")

    def tensors(self) -> list[tuple[str, torch.Tensor]]:
        once = {id(tensor): (f"user/edl.buffer.{name}", tensor) for name, _, _, tensor in self._all}
        return list(once.values())


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
