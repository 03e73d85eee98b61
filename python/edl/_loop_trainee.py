"""A program that keeps its loop, as EDL's core sees it."""

from __future__ import annotations

import math
import types
from typing import Any

import torch

from edl import _core, errors
from edl._compiled import compile_each_shape
from edl._feed import seed_all
from edl._torch_trainee import TorchTrainee, _is_state
from edl.loop import Loop, networks_of
from edl.training import AppliedStep, Settings


class LoopTrainee(TorchTrainee):
    """Parts are computed by the loop's thread; this one waits meanwhile."""

    def __init__(self, loop: Loop, settings: Settings):
        self.loop = loop
        self.epoch: int | None = None  # that the loop is in
        self.applied_steps = 0
        self.is_finished = False
        settings.on_step = lambda _, done: self._tell_step(done)
        settings.on_resize = lambda _, before, now: self._tell_resize(before, now)
        self.schedulers = loop.optimizer.schedulers if loop.optimizer else []
        super().__init__(settings)
        compile_each_shape()  # this is the loop's thread
        self._initial = [(tensor, tensor.detach().clone())
                         for _, tensor in (*self.parameters, *self.buffers)]
        self._initial += [(tensor, tensor.clone()) for tensor in self.user.values()]
        self._last_loss = 0.0
        self._watch_losses()

    def _made(self) -> dict[str, Any]:
        assert self.loop.optimizer is not None
        inner = self.loop.optimizer.inner
        parameters = [p for group in inner.param_groups for p in group["params"]]
        made = {**networks_of(parameters), "optimizer": inner}
        for name, obj in self.loop.registered.items():
            if isinstance(obj, torch.nn.Module):
                made.update({f"{name}.{key}": tensor for key, tensor in obj.state_dict().items()})
            elif _is_state(obj):
                made[name] = obj
            else:
                raise errors.InvalidError(f"edl.register({name!r}, ...) takes a tensor or a "
                                          f"module, not a {type(obj).__name__}")
        if self.schedulers:
            made["edl.schedule"] = self._schedule_state(inner)
        return made

    def _kept(self, value: torch.Tensor) -> torch.Tensor:
        """In place: the loop's own objects hold it."""
        if not value.is_contiguous():
            raise errors.InvalidError("a registered tensor has gaps between its numbers: register "
                                      "a contiguous one")
        return value.detach()

    def _schedule_state(self, inner: torch.optim.Optimizer) -> torch.Tensor:
        rates = [group["lr"] for group in inner.param_groups]
        return torch.tensor([*rates, *(s.last_epoch for s in self.schedulers)],
                            dtype=torch.float64)

    def _watch_losses(self) -> None:
        """What backward is called on is the loss; nobody else tells it."""
        plain = torch.Tensor.backward
        trainee = self

        def backward(self: torch.Tensor, *arguments: Any, **named: Any) -> None:
            if self.numel() == 1:
                trainee._last_loss = self.item()
            plain(self, *arguments, **named)

        torch.Tensor.backward = backward  # type: ignore[method-assign]

    # The core's calls.

    def initialise(self, seed: int) -> None:
        if seed != self.loop.seed:
            raise errors.InvalidError(f"the job's seed is {seed}, and the program has made its "
                                      f"network with {self.loop.seed}: write edl.init(seed={seed})")
        with torch.no_grad():
            for tensor, value in self._initial:
                tensor.copy_(value)
        self.optimizer_state.clear()
        self._take_schedule()

    def loaded(self) -> None:
        super().loaded()
        self._take_schedule()

    def compute(self, computing: int, part: _core.Part, measured: _core.Measured) -> None:
        for _, parameter in self.parameters:
            parameter.grad = None
        self.loop.compute(types.SimpleNamespace(
            epoch=part.epoch, seed=part.seed, random_seed=part.random_seed, step=part.step,
            indices=part.indices[:part.samples]))
        if not math.isfinite(self._last_loss):
            raise errors.InvalidError(
                f"the loss is {self._last_loss}: lower the learning rate, set clip_norm, or look "
                f"at the samples with edl data step --step={part.step}")
        give = _core.library().edl_gradient
        came = False
        for i, (name, parameter) in enumerate(self.parameters):
            gradient = parameter.grad
            if gradient is None:
                continue
            if gradient.is_sparse:
                raise errors.InvalidError(f"the gradient of {name} is sparse, which cannot be "
                                          "summed; use a dense one (sparse=False)")
            dense = gradient.contiguous()
            _core.check(give(computing, i, dense.data_ptr(), part.samples))
            came = True
        if not came:
            raise errors.InvalidError("no parameter has a gradient when optimizer.step() is "
                                      "called: call loss.backward() before it")
        measured.loss = self._last_loss * part.samples

    def batch_of(self, part: Any) -> Any:
        batch = self.data.batch(part.indices, part.seed, part.epoch)
        seed_all(part.random_seed)
        return batch if len(batch) > 1 else batch[0]

    def apply(self, step: _core.Step, applied: _core.Applied) -> None:
        self.loop.members = step.members
        super().apply(step, applied)
        self.applied_steps += 1
        self.is_finished = step.seen >= self.settings.epochs * len(self.data)

    def _update(self, step: _core.Step, factor: float) -> None:
        super()._update(step, factor)
        if not self.schedulers:
            return
        for group, base in zip(self.optimizer.param_groups, self.base_rates):
            group["lr"] = base
        for scheduler in self.schedulers:
            scheduler.step()
        self.user["edl.schedule"].copy_(self._schedule_state(self.optimizer))
        self.base_rates = [group["lr"] for group in self.optimizer.param_groups]

    def _take_schedule(self) -> None:
        if not self.schedulers:
            return
        kept = self.user["edl.schedule"].tolist()
        groups = self.optimizer.param_groups
        self.base_rates = kept[:len(groups)]
        for group, rate in zip(groups, kept):
            group["lr"] = rate
        for scheduler, last in zip(self.schedulers, kept[len(groups):]):
            scheduler.last_epoch = int(last)
            scheduler._step_count = int(last) + 1
            scheduler._last_lr = list(self.base_rates)

    def _tell_step(self, done: AppliedStep) -> None:
        for function in self.loop.on_step:
            function(done)

    def _tell_resize(self, before: int, now: int) -> None:
        for function in self.loop.on_resize:
            function(before, now)
