"""What schedulers of torch and the groups of an optimizer keep, as bytes of one tensor that goes to
joiners and into checkpoints: plain data as JSON, no code."""

from __future__ import annotations

import json
from typing import Any

import torch
from torch.optim import lr_scheduler

from edl import errors

_KINDS = (getattr(lr_scheduler, "LRScheduler", lr_scheduler._LRScheduler),
          lr_scheduler.ReduceLROnPlateau)
_SCALAR_BYTES = 40  # that a number may take more than it did at first
_SPARE_BYTES = 256


def schedulers_in(params: dict[str, Any]) -> list[Any]:
    return [value for value in params.values() if isinstance(value, _KINDS)]


def values_of_groups(optimizer: torch.optim.Optimizer) -> list[list[Any]]:
    """Rates, momenta and the like, to see whether somebody has changed them."""
    return [[value.tolist() if isinstance(value, torch.Tensor) else value
             for key, value in group.items() if key != "params"]
            for group in optimizer.param_groups]


def _plain(value: Any) -> Any:
    """Numbers, words and what is made of them; anything else is left out as null."""
    if isinstance(value, torch.Tensor):
        return value.item() if value.numel() == 1 else None
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return ["tuple" if isinstance(value, tuple) else "list", *map(_plain, value)]
    if isinstance(value, dict):
        return ["dict", *([_plain(key), _plain(each)] for key, each in value.items())]
    return None


def _made(plain: Any) -> Any:
    if not isinstance(plain, list):
        return plain
    kind, *rest = plain
    if kind == "dict":
        return {_made(key): _made(value) for key, value in rest}
    values = [_made(each) for each in rest]
    return tuple(values) if kind == "tuple" else values


def _scalars(plain: Any) -> int:
    return sum(map(_scalars, plain)) if isinstance(plain, list) else 1


def _like(old: Any, new: Any) -> Any:
    """Where torch keeps a tensor, it gets one."""
    return torch.full_like(old, new) if isinstance(old, torch.Tensor) else new


class ScheduleState:
    """`bytes` is the state: always of the same length, and at the same place."""

    def __init__(self, optimizer: torch.optim.Optimizer, schedulers: list[Any]):
        self._optimizer = optimizer
        self._schedulers = schedulers
        plain = self._plain()
        room = len(json.dumps(plain)) + _SCALAR_BYTES * _scalars(plain) + _SPARE_BYTES
        self.bytes = torch.zeros(-(-room // 8) * 8, dtype=torch.uint8)
        self.keep()
        self._first = self.bytes.clone()

    def begin(self) -> None:
        self.bytes.copy_(self._first)

    def _plain(self) -> Any:
        groups = [{key: value for key, value in group.items() if key != "params"}
                  for group in self._optimizer.param_groups]
        return _plain([groups, [scheduler.state_dict() for scheduler in self._schedulers]])

    def keep(self) -> None:
        """After the schedulers have made a step, or a hook has changed a group."""
        text = json.dumps(self._plain()).encode()
        if len(text) > len(self.bytes):
            raise errors.InvalidError(f"the schedulers and groups keep {len(text)} bytes, and had "
                                      f"at most {len(self.bytes)} to begin with: give EDL some "
                                      "that keep a fixed number of numbers")
        self.bytes.zero_()
        self.bytes[:len(text)] = torch.frombuffer(bytearray(text), dtype=torch.uint8)

    def loaded(self) -> None:
        """The bytes were replaced: schedulers and groups go back to what they say."""
        text = bytes(self.bytes.tolist()).rstrip(b"\0")
        groups, states = _made(json.loads(text))
        for group, kept in zip(self._optimizer.param_groups, groups):
            for key, value in kept.items():
                if _plain(group.get(key)) != _plain(value):  # what is no plain data is null
                    group[key] = _like(group.get(key), value)
        for scheduler, kept in zip(self._schedulers, states):
            now = scheduler.state_dict()
            other = {key: _like(now[key], value) for key, value in kept.items()
                     if key in now and _plain(now[key]) != _plain(value)}
            scheduler.load_state_dict({**now, **other})
