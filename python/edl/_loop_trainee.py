"""A program that keeps its loop, as EDL's core sees it."""

from __future__ import annotations

import math
import os
import types
from typing import Any

import torch

from edl import _core, errors
from edl._compiled import compile_each_shape
from edl._feed import seed_all
from edl._tensors import is_state
from edl._torch_trainee import TorchTrainee, wanted_by
from edl.checkpoints import check_names
from edl.loop import Loop, networks_of
from edl.training import AppliedStep, Settings


class LoopTrainee(TorchTrainee):
    """Parts are computed by the loop's thread; this one waits meanwhile."""

    def __init__(self, loop: Loop, settings: Settings):
        self.loop = loop
        self.applied_steps = 0
        if loop.on_step:
            settings.on_step = lambda _, done: self._tell_step(done)
        if loop.on_resize:
            settings.on_resize = lambda _, before, now: self._tell_resize(before, now)
        self.averages = loop.optimizer.averages if loop.optimizer else []
        super().__init__(settings)
        compile_each_shape()  # this is the loop's thread
        if self.averages and len(self.modules) != 1:
            raise errors.InvalidError(f"averages follow one network, and there are "
                                      f"{len(self.modules)}: update them in @edl.on_step")
        self._begin_with()
        self._initial = [(tensor, tensor.detach().clone()) for tensor in self._all().values()]
        self._loss: float | None = None  # of the part that the loop computes
        self._watch_losses()

    def describe(self) -> dict[str, Any]:
        """The loop's body sees parts of the job only."""
        told = {**super().describe(), "rehearses": False}
        if self.loop.loads is not None and os.path.isdir(self.loop.loads[0]):
            told["from"] = os.path.abspath(self.loop.loads[0])
        return told

    def _made(self) -> dict[str, Any]:
        assert self.loop.optimizer is not None
        inner = self.loop.optimizer.inner
        parameters = [p for group in inner.param_groups for p in group["params"]]
        made = {**networks_of(parameters), "optimizer": inner}
        for name, obj in self.loop.registered.items():
            if name in made:
                raise errors.InvalidError(f"edl.register({name!r}, ...): a network or the "
                                          "optimizer is called so; give it another name")
            if isinstance(obj, torch.nn.Module):
                made.update({f"{name}.{key}": tensor for key, tensor in obj.state_dict().items()})
            elif is_state(obj):
                made[name] = obj
            else:
                raise errors.InvalidError(f"edl.register({name!r}, ...) takes a tensor or a "
                                          f"module, not a {type(obj).__name__}")
        for number, average in enumerate(self.loop.optimizer.averages):
            kept = average.state_dict().items()
            made.update({f"edl.average{number}.{key}": tensor for key, tensor in kept})
        return made

    def _schedulers(self) -> list[Any]:
        return self.loop.optimizer.schedulers if self.loop.optimizer else []

    def _all(self) -> dict[str, torch.Tensor]:
        """The whole state, by its names there."""
        return {**{f"model/{name}": tensor for name, tensor in (*self.parameters, *self.buffers)},
                **dict(self._others())}

    def _begin_with(self) -> None:
        """What a checkpoint has, or a file of weights these."""
        if self.loop.loads is None:
            return
        path, given = self.loop.loads
        own = self._all()
        if not any(name.startswith("optimizer/") for name in given):
            own = {name: tensor for name, tensor in own.items() if name.startswith("model/")}
        check_names(path, given, own)
        with torch.no_grad():
            for name, tensor in own.items():
                tensor.copy_(given[name])
        self.loaded()

    def _kept(self, value: torch.Tensor) -> torch.Tensor:
        """In place: the loop's own objects hold it."""
        if not value.is_contiguous():
            raise errors.InvalidError("a registered tensor has gaps between its numbers: register "
                                      "a contiguous one")
        return value.detach()

    def _watch_losses(self) -> None:
        """What backward is called on is the loss; nobody else tells it."""
        plain = torch.autograd.backward  # Tensor.backward comes here, too
        trainee = self

        def backward(tensors: Any, *arguments: Any, **named: Any) -> None:
            each = (tensors,) if isinstance(tensors, torch.Tensor) else tuple(tensors)
            for tensor in each:
                if tensor.numel() == 1:  # who accumulates calls it several times
                    trainee._loss = (trainee._loss or 0.0) + tensor.item()
            plain(each, *arguments, **named)

        torch.autograd.backward = backward

    # The core's calls.

    def initialise(self, seed: int) -> None:
        if seed != self.loop.seed:
            raise errors.InvalidError(f"the job's seed is {seed}, and the program has made its "
                                      f"network with {self.loop.seed}: write edl.init(seed={seed})")
        with torch.no_grad():
            for tensor, value in self._initial:
                tensor.copy_(value)
        self.loaded()

    def compute(self, computing: int, part: _core.Part, measured: _core.Measured) -> None:
        self._loss = None
        for _, parameter in self.parameters:
            parameter.grad = None
        self.loop.compute(types.SimpleNamespace(epoch=part.epoch, step=part.step,
                                                random_seed=part.random_seed,
                                                wanted=wanted_by(part)))
        self.groups.check()
        self.unsaved.check()
        loss = self._loss
        if loss is not None and not math.isfinite(loss):
            raise errors.InvalidError(
                f"the loss is {loss}: lower the learning rate, set clip_norm, or look at the "
                f"samples with edl data step --step={part.step}")
        if not self.gradients.give(computing, part.samples):
            raise errors.InvalidError("no parameter has a gradient when optimizer.step() is "
                                      "called: call loss.backward() before it")
        if loss is None:
            raise errors.InvalidError("EDL has seen no loss of this part: call backward() on the "
                                      "loss, one number")
        measured.loss = loss * part.samples

    def batch_of(self, part: Any) -> Any:
        loaded = self._load(part.wanted)
        seed_all(part.random_seed)
        batch = self.data.batch(loaded)
        return batch if len(batch) > 1 else batch[0]

    def apply(self, step: _core.Step, applied: _core.Applied) -> None:
        super().apply(step, applied)
        self.applied_steps += 1

    def _update(self, step: _core.Step, factor: float) -> None:
        super()._update(step, factor)
        for average in self.averages:
            average.update_parameters(self.modules[0])
        for scheduler in self.groups.schedulers:
            if isinstance(scheduler, torch.optim.lr_scheduler.ReduceLROnPlateau):
                scheduler.step(step.loss)
            else:
                scheduler.step()

    def _tell_step(self, done: AppliedStep) -> None:
        for function in self.loop.on_step:
            function(done)

    def _tell_resize(self, before: int, now: int) -> None:
        for function in self.loop.on_resize:
            function(before, now)
