"""What an optimizer keeps beside the parameters, in tensors that stay where they are.

torch makes them when it first needs them; from then on they lie here. What any optimizer keeps is
found out by letting one of its kind take a step with a tiny parameter.
"""

from __future__ import annotations

import ctypes
from typing import Any, Iterator

import torch

from edl import errors

_PROBE_SHAPE = (2, 3)
STEP = "step"


def _probe(optimizer: torch.optim.Optimizer) -> dict[str, str]:
    """Key -> `like` (a tensor of the parameter's shape) or `number`."""
    group = {key: value for key, value in optimizer.param_groups[0].items() if key != "params"}
    parameter = torch.zeros(_PROBE_SHAPE, requires_grad=True)
    try:
        twin = type(optimizer)([{"params": [parameter], **group}], **_needed(optimizer))
        parameter.grad = torch.ones(_PROBE_SHAPE)
        twin.step()
    except Exception as wrong:
        raise errors.InvalidError(
            f"this optimizer ({type(optimizer).__name__}) cannot be looked into: {wrong}; give one "
            "of torch.optim, or one that can be made from its groups alone") from wrong
    slots = {}
    for key, value in twin.state[parameter].items():
        if isinstance(value, torch.Tensor) and tuple(value.shape) == _PROBE_SHAPE:
            slots[key] = "like"
        elif isinstance(value, (int, float)) or (isinstance(value, torch.Tensor)
                                                 and value.numel() == 1):
            slots[key] = "number"
        elif value is not None:
            raise errors.InvalidError(
                f"the optimizer keeps {key}, a {type(value).__name__} that is neither a number nor "
                "a tensor of its parameter's shape")
    return slots


def _needed(optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    """Arguments without a default, where a group has none for them."""
    return {"lr": optimizer.param_groups[0]["lr"]} if "lr" in optimizer.defaults else {}


class OptimizerState:
    """`named`: the parameters with their names, each once."""

    def __init__(self, optimizer: torch.optim.Optimizer, named: list[tuple[str, torch.Tensor]]):
        self._optimizer = optimizer
        names = {id(parameter): name for name, parameter in named}
        slots = _probe(optimizer)
        self._like = [key for key, kind in slots.items() if kind == "like"]
        self._numbers = [key for key, kind in slots.items() if kind == "number" and key != STEP]
        self._entries = []
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if id(parameter) not in names:
                    raise errors.InvalidError("the optimizer has a parameter that is none of the "
                                              "model's; give it those of the same model")
                kept = {key: torch.zeros_like(parameter, memory_format=torch.contiguous_format,
                                              requires_grad=False) for key in self._like}
                kept.update({key: torch.zeros((), dtype=torch.float64) for key in self._numbers})
                kept[STEP] = torch.zeros((), dtype=torch.int64)
                self._entries.append((names[id(parameter)], parameter, kept))
        # The steps again, as memory: torch takes twenty times as long to fill a tensor.
        self._steps = [ctypes.c_int64.from_address(kept[STEP].data_ptr())
                       for _, _, kept in self._entries]
        self._prototypes: dict[str, Any] = {}  # of numbers: how torch wants to have them
        self.take()

    def tensors(self) -> Iterator[tuple[str, torch.Tensor]]:
        for name, _, kept in self._entries:
            for key, tensor in kept.items():
                yield f"optimizer/{name}/{key}", tensor

    def take(self) -> None:
        """After a step of the optimizer: what it has made is moved here."""
        all_states, prototypes = self._optimizer.state, self._prototypes
        for (_, parameter, kept), step in zip(self._entries, self._steps):
            state = all_states.get(parameter)
            if not state:
                continue
            for key in (STEP, *self._numbers):
                if key not in prototypes and key in state:
                    prototypes[key] = state[key]
            step.value = int(state.get(STEP, 1))
            for key in self._numbers:
                kept[key].fill_(float(state[key]))
            for key in self._like:
                made = state.get(key)
                if made is None or made is kept[key]:
                    continue
                if made.data_ptr() != kept[key].data_ptr():
                    kept[key].copy_(made)
                state[key] = kept[key]

    def loaded(self) -> None:
        """The bytes were replaced."""
        if not self._prototypes and self._numbers_needed():
            self._learn_prototypes()
        for _, parameter, kept in self._entries:
            if int(kept[STEP]) == 0:
                self._optimizer.state.pop(parameter, None)
                continue
            state: dict[str, Any] = {key: kept[key] for key in self._like}
            if STEP in self._prototypes:
                state[STEP] = _as(self._prototypes[STEP], int(kept[STEP]))
            for key in self._numbers:
                state[key] = _as(self._prototypes[key], float(kept[key]))
            self._optimizer.state[parameter] = state

    def begin_as(self, other: OptimizerState) -> None:
        """As before the first step: what a new optimizer has, mostly nothing."""
        for (_, _, kept), (_, _, fresh) in zip(self._entries, other._entries):
            for key, tensor in kept.items():
                tensor.copy_(fresh[key])
        self.loaded()

    def _numbers_needed(self) -> bool:
        return any(int(kept[STEP]) != 0 for _, _, kept in self._entries)

    def _learn_prototypes(self) -> None:
        group = {key: value for key, value in self._optimizer.param_groups[0].items()
                 if key != "params"}
        parameter = torch.zeros(_PROBE_SHAPE, requires_grad=True)
        twin = type(self._optimizer)([{"params": [parameter], **group}],
                                     **_needed(self._optimizer))
        parameter.grad = torch.ones(_PROBE_SHAPE)
        twin.step()
        state = twin.state[parameter]
        self._prototypes = {key: state[key] for key in (STEP, *self._numbers) if key in state}


def _as(prototype: Any, value: float) -> Any:
    if isinstance(prototype, torch.Tensor):
        return torch.full_like(prototype, value)
    return type(prototype)(value)
