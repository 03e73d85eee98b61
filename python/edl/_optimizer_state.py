"""What an optimizer keeps beside the parameters, in tensors that stay where they are.

torch makes them when it first needs them; from then on they lie here. What any optimizer keeps is
found out by letting one of its kind take a step with a tiny parameter, for each group of
parameters: one may have momentum and another none.
"""

from __future__ import annotations

import ctypes
import dataclasses
from typing import Any, Iterator

import torch

from edl import errors
from edl._schedule_state import values_of_groups

_PROBE_SHAPE = (2, 3)
STEP = "step"


@dataclasses.dataclass
class _Slots:
    """What a parameter of one group has."""
    like: list[str] = dataclasses.field(default_factory=list)  # tensors of the parameter's shape
    numbers: list[str] = dataclasses.field(default_factory=list)  # but for the step
    absent: list[str] = dataclasses.field(default_factory=list)  # what this group does not use
    prototypes: dict[str, Any] = dataclasses.field(default_factory=dict)  # how torch has numbers
    changes_group: bool = False  # a step does so


@dataclasses.dataclass
class _Entry:
    """What one parameter has."""
    name: str
    parameter: torch.Tensor
    slots: _Slots
    kept: dict[str, torch.Tensor]
    is_born: bool  # it has a state before its first step


def _probe(optimizer: torch.optim.Optimizer, group: dict[str, Any]) -> _Slots:
    parameter = torch.zeros(_PROBE_SHAPE, requires_grad=True)
    try:
        # What a group has none for, and the kind has no default for.
        needed = {"lr": group["lr"]} if "lr" in optimizer.defaults else {}
        twin = type(optimizer)([{**group, "params": [parameter]}], **needed)
        parameter.grad = torch.ones(_PROBE_SHAPE)
        before = values_of_groups(twin)
        twin.step()
    except Exception as wrong:
        raise errors.InvalidError(
            f"this optimizer ({type(optimizer).__name__}) cannot be looked into: {wrong}; give one "
            "of torch.optim, or one that can be made from its groups alone") from wrong
    slots = _Slots(changes_group=values_of_groups(twin) != before)
    for key, value in twin.state[parameter].items():
        if isinstance(value, torch.Tensor) and tuple(value.shape) == _PROBE_SHAPE:
            slots.like.append(key)
        elif isinstance(value, (int, float)) or (isinstance(value, torch.Tensor)
                                                 and value.numel() == 1):
            slots.prototypes[key] = value
        elif value is None:
            slots.absent.append(key)
        else:
            raise errors.InvalidError(
                f"the optimizer keeps {key}, a {type(value).__name__} that is neither a number nor "
                "a tensor of its parameter's shape")
    slots.numbers = [key for key in slots.prototypes if key != STEP]
    return slots


class OptimizerState:
    """`named`: the parameters with their names, each once."""

    def __init__(self, optimizer: torch.optim.Optimizer, named: list[tuple[str, torch.Tensor]]):
        self._optimizer = optimizer
        names = {id(parameter): name for name, parameter in named}
        self._entries: list[_Entry] = []
        for group in optimizer.param_groups:
            slots = _probe(optimizer, group)
            for parameter in group["params"]:
                if id(parameter) not in names:
                    raise errors.InvalidError("the optimizer has a parameter that is none of the "
                                              "model's; give it those of the same model")
                kept = {key: torch.zeros_like(parameter, memory_format=torch.contiguous_format,
                                              requires_grad=False) for key in slots.like}
                kept.update({key: torch.zeros((), dtype=torch.float64) for key in slots.numbers})
                kept[STEP] = torch.zeros((), dtype=torch.int64)
                state = optimizer.state.get(parameter, {})
                self._entries.append(_Entry(names[id(parameter)], parameter, slots, kept,
                                            is_born=STEP in state and int(state[STEP]) == 0))
        self.changes_groups = any(entry.slots.changes_group for entry in self._entries)
        # The steps again, as memory: torch takes twenty times as long to fill a tensor.
        self._taken = [(one.parameter, one.kept, one.slots.like, one.slots.numbers,
                        one.slots.absent, ctypes.c_int64.from_address(one.kept[STEP].data_ptr()))
                       for one in self._entries]
        self.take()

    def tensors(self) -> Iterator[tuple[str, torch.Tensor]]:
        for entry in self._entries:
            for key, tensor in entry.kept.items():
                yield f"optimizer/{entry.name}/{key}", tensor

    def take(self) -> None:
        """After a step of the optimizer: what it has made is moved here."""
        all_states = self._optimizer.state
        for parameter, kept, like, numbers, absent, step in self._taken:
            state = all_states.get(parameter)
            if not state:
                continue
            step.value = int(state.get(STEP, 1))
            for key in numbers:
                kept[key].fill_(float(state[key]))
            for key in like:
                made = state.get(key)
                if made is None or made is kept[key]:
                    continue
                if made.data_ptr() != kept[key].data_ptr():
                    kept[key].copy_(made)
                state[key] = kept[key]
            for key in absent:
                if state.get(key) is not None:
                    raise errors.InvalidError(
                        f"the optimizer keeps {key} now, which it did not when the job began: its "
                        "groups must have from the beginning what they are to use later")

    def loaded(self) -> None:
        """The bytes were replaced."""
        for entry in self._entries:
            kept, prototypes = entry.kept, entry.slots.prototypes
            steps = int(kept[STEP])
            if steps == 0 and not entry.is_born:
                self._optimizer.state.pop(entry.parameter, None)
                continue
            state: dict[str, Any] = {key: kept[key] for key in entry.slots.like}
            if STEP in prototypes:
                state[STEP] = _as(prototypes[STEP], steps)
            for key in entry.slots.numbers:
                state[key] = _as(prototypes[key], float(kept[key]))
            self._optimizer.state[entry.parameter] = state

    def begin_as(self, other: OptimizerState) -> None:
        """As before the first step: what a new optimizer has, mostly nothing."""
        for entry, fresh in zip(self._entries, other._entries):
            for key, tensor in entry.kept.items():
                tensor.copy_(fresh.kept[key])
        self.loaded()


def _as(prototype: Any, value: float) -> Any:
    if isinstance(prototype, torch.Tensor):
        return torch.full_like(prototype, value)
    return type(prototype)(value)
