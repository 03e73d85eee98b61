"""The groups of an optimizer: their rates and what else they have. Hooks and schedulers change
them, which is state; what computes a part may not."""

from __future__ import annotations

from typing import Any, Iterator

import torch

from edl import errors
from edl._schedule_state import ScheduleState, values_of_groups


class Groups:
    """`rates` are what was given: what `schedule` and `lr_rule` multiply."""

    def __init__(self, optimizer: torch.optim.Optimizer, schedulers: list[Any], may_change: bool):
        self._optimizer = optimizer
        self.schedulers = schedulers
        is_state = schedulers or may_change  # else they stay as they are
        self._state = ScheduleState(optimizer, schedulers) if is_state else None
        self._see()

    def _see(self) -> None:
        """As they are now they are meant."""
        self.rates = [group["lr"] for group in self._optimizer.param_groups]
        self._seen = values_of_groups(self._optimizer)

    def check(self) -> None:
        if values_of_groups(self._optimizer) != self._seen:
            raise errors.InvalidError(
                "a learning rate, or what else the optimizer's groups have, was changed by what "
                "computes a part, which not every worker does: change it in a hook (on_step, "
                "on_resize), or use a scheduler")

    def multiply(self, factor: float) -> None:
        """For one update; by 1 after it: hooks see the rates that were given."""
        for group, rate in zip(self._optimizer.param_groups, self.rates):
            group["lr"] = rate if factor == 1 else rate * factor

    def keep(self) -> None:
        """What schedulers and hooks have made of them is state."""
        if self._state is None:
            return
        if self.schedulers or values_of_groups(self._optimizer) != self._seen:
            self._state.keep()
            self._see()

    def begin(self) -> None:
        if self._state is not None:
            self._state.begin()
        self.loaded()

    def loaded(self) -> None:
        """The bytes of the state were replaced."""
        if self._state is not None:
            self._state.loaded()
            self._see()

    def tensors(self) -> Iterator[tuple[str, torch.Tensor]]:
        if self._state is not None:
            yield "user/edl.schedule", self._state.bytes
