"""Gradients on their way from autograd to the core: each as soon as backward has it, so that it is
summed and sent while the rest is computed."""

from __future__ import annotations

import ctypes
from sys import getrefcount
from typing import Any

import torch

from edl import _core, errors
from edl._own import is_own

_GIVEN_BYTES = 64 << 10  # what is smaller is copied sooner than given away
_CAPSULE, _USED_CAPSULE = b"dltensor", b"used_dltensor"
_to_capsule = torch.utils.dlpack.to_dlpack
_pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_of.argtypes, _pointer_of.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_void_p
_rename = ctypes.pythonapi.PyCapsule_SetName
_rename.argtypes, _rename.restype = [ctypes.py_object, ctypes.c_char_p], ctypes.c_int


class Gradients:
    """`parameters`: with their names, in the core's order. Used by one thread at a time."""

    def __init__(self, parameters: list[tuple[str, torch.Tensor]]):
        self._parameters = parameters
        library = _core.library()
        self._copy, self._give = library.edl_gradient, library.edl_gradient_given
        self._hand_over_these = library.edl_gradients
        self._is_small = [parameter.numel() * parameter.element_size() < _GIVEN_BYTES
                          for _, parameter in parameters]
        self._each = [(i, parameter, is_small) for i, ((_, parameter), is_small)
                      in enumerate(zip(parameters, self._is_small))]
        pointers = ctypes.c_void_p * len(parameters)
        self._nothing = bytes(ctypes.sizeof(pointers))
        self._numbers, self._tensors = pointers(), pointers()  # of those that are handed over
        self._is_own = (ctypes.c_uint8 * len(parameters))()
        self._computing: int | None = None  # the part that gradients go to while backward runs
        self._samples = 0
        self._given: set[int] = set()
        self._keepers: list[Any] = []  # nodes of autograd live as long as somebody holds them
        self._is_watching = False
        # Whether each comes once in a backward pass; None: none was seen yet.
        self._comes_once: bool | None = None
        self._is_streaming = False

    def _watch_all(self) -> None:
        self._is_watching = True
        for i, (_, parameter) in enumerate(self._parameters):
            if parameter.requires_grad:
                self._watch(i, parameter)

    def _watch(self, i: int, parameter: torch.Tensor) -> None:
        if hasattr(parameter, "register_post_accumulate_grad_hook"):
            parameter.register_post_accumulate_grad_hook(lambda _: self._came(i))
            return
        keeper = parameter.expand_as(parameter).grad_fn.next_functions[0][0]
        keeper.register_hook(lambda *_: self._came(i))
        self._keepers.append(keeper)

    def _came(self, i: int) -> None:
        if self._computing is None:
            return
        if i in self._given:
            self._comes_once = False
            if self._is_streaming:
                raise errors.InvalidError(
                    f"backward computes the gradient of {self._parameters[i][0]} in several steps, "
                    "which it did not do in the first part; use torch.utils.checkpoint with "
                    "use_reentrant=False")
        self._given.add(i)
        if self._is_streaming:
            self._hand_over(i)

    def backward(self, loss: torch.Tensor, computing: int, samples: int, streams: bool) -> None:
        """Runs it, and gives the gradients of so many samples. With `streams`, while it runs."""
        if streams and not self._is_watching:
            self._watch_all()
        self._computing, self._samples = computing, samples
        self._given.clear()
        self._is_streaming = streams and self._comes_once is True
        try:
            loss.backward()
            if self._comes_once is None and self._is_watching:
                self._comes_once = True
            self._hand_over_all(computing, samples)
        finally:
            self._computing = None

    def give(self, computing: int, samples: int) -> bool:
        """Those that a loop of the program's own has left; whether there were any."""
        return self._hand_over_all(computing, samples)

    def _hand_over(self, i: int) -> None:
        dense = self._dense(i)
        if dense is None:
            return
        if self._is_small[i]:
            code = self._copy(self._computing, i, dense.data_ptr(), self._samples)
        else:
            code = self._give(self._computing, i, _given_away(dense), self._samples)
        if code:
            _core.check(code)

    def _hand_over_all(self, computing: int, samples: int) -> bool:
        """Those that are there, in one call; whether there were any."""
        numbers, tensors, owned = self._numbers, self._tensors, self._is_own
        ctypes.memmove(numbers, self._nothing, len(self._nothing))
        ctypes.memmove(tensors, self._nothing, len(self._nothing))
        kept = []  # until they are read
        places: dict[int, int] = {}  # of those that are given
        found = False
        for i, parameter, is_small in self._each:
            dense = parameter.grad
            if dense is None:
                continue
            found = True
            parameter.grad = None
            if (dense.dtype is not parameter.dtype or dense.is_sparse
                    or not dense.is_contiguous()):
                dense = self._made_dense(i, dense)
            if is_small:
                numbers[i] = dense.data_ptr()
                kept.append(dense)
            else:
                owned[i] = is_own(getrefcount(dense), dense)
                tensors[i] = _given_away(dense)
                other = places.setdefault(dense.data_ptr(), i)
                if other != i:  # one tensor as the gradient of two
                    owned[other] = owned[i] = False
        if not found:
            return False
        code = self._hand_over_these(computing, numbers, tensors, owned, samples)
        if code:
            _core.check(code)
        return True

    def _dense(self, i: int) -> torch.Tensor | None:
        """The gradient as the core takes it; the parameter has it no longer."""
        parameter = self._parameters[i][1]
        dense = parameter.grad
        parameter.grad = None
        return None if dense is None else self._made_dense(i, dense)

    def _made_dense(self, i: int, gradient: torch.Tensor) -> torch.Tensor:
        name, parameter = self._parameters[i]
        if gradient.is_sparse:
            raise errors.InvalidError(f"the gradient of {name} is sparse, which cannot be summed; "
                                      "use a dense one (sparse=False)")
        return gradient.to(parameter.dtype).contiguous()


def _given_away(tensor: torch.Tensor) -> int:
    """A DLManagedTensor that the core frees."""
    capsule = _to_capsule(tensor)
    pointer: int = _pointer_of(capsule, _CAPSULE)
    _rename(capsule, _USED_CAPSULE)
    return pointer
