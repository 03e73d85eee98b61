"""A PyTorch program as EDL's core sees it: tensors of a state, and functions on them."""

from __future__ import annotations

import ctypes
import json
import math
import os
from typing import Any, Sequence

import torch

from edl import _core, errors, facts
from edl._compiled import compile_each_shape
from edl._feed import Feed, feed_of, seed_all
from edl._fingerprint import fingerprint, loaded_blas
from edl._gradients import Gradients
from edl._groups import Groups
from edl._guard import guarded
from edl._loaders import Loaders, Wanted
from edl._optimizer_state import OptimizerState
from edl._schedule_state import schedulers_in
from edl._tensors import (UnsavedBuffers, described, is_state, modules_of, named_tensors,
                          tensor_at)
from edl.checkpoints import wishes
from edl.training import AppliedStep, Progress, Settings

_CLIP_BLOCK = 64 << 10  # numbers whose squares are summed at a time
_SUMMED = (torch.float32, torch.float64, torch.int64)  # other buffers, masks, do not change


class TorchTrainee:
    """Made once, where the program is loaded; workers are forked from there."""

    def __init__(self, settings: Settings):
        torch.set_num_threads(1)
        self.settings = settings
        self.data = feed_of(settings.data)
        self.test: Feed | None = None if settings.evaluate is None else feed_of(settings.evaluate)
        self.metrics = list(settings.metrics or ())
        self.params = self._made()
        self.optimizer: torch.optim.Optimizer = self.params["optimizer"]
        self._lay_out()
        self._reduced: dict[int, torch.Tensor] = {}
        self._flat: dict[int, torch.Tensor] = {}
        self._index: dict[int, torch.Tensor] = {}  # of samples, by how many
        self._has_begun = False  # to compute, in this worker
        self._loaders: Loaders | None = None
        self._members = 1  # who is alone sends nothing, and need not hurry

    # The model.

    def _made(self) -> dict[str, Any]:
        made = self.settings.model()
        if not isinstance(made, dict) or not isinstance(made.get("optimizer"),
                                                        torch.optim.Optimizer):
            raise errors.InvalidError('model() must return a dict with the network and its '
                                      '"optimizer", one of torch.optim')
        if not modules_of(made):
            raise errors.InvalidError("model() returns no network: no torch.nn.Module is in the "
                                      "dict")
        return made

    def _lay_out(self) -> None:
        self.modules = list(modules_of(self.params).values())
        self._all_modules = [module for net in self.modules for module in net.modules()]
        self.parameters: list[tuple[str, torch.Tensor]] = []
        self.tied: list[tuple[str, torch.Tensor]] = []
        known: set[int] = set()
        for name, parameter in named_tensors(self.params, "_parameters"):
            if id(parameter) in known:
                self.tied.append((name, parameter))
                continue
            known.add(id(parameter))
            parameter.data = parameter.data.contiguous()
            self.parameters.append((name, parameter))
        if not self.parameters:
            raise errors.InvalidError("the network has no parameters to train")
        self.buffers = []
        for name, buffer in named_tensors(self.params, "_buffers"):
            if id(buffer) not in known:
                known.add(id(buffer))
                self.buffers.append((name, buffer))
        self.unsaved = UnsavedBuffers(self.params)
        for _, buffer in (*self.buffers, *self.unsaved.tensors()):
            buffer.data = buffer.data.contiguous()
        self.user = {name: self._kept(value) for name, value in self.params.items()
                     if is_state(value)}
        self.params.update(self.user)
        self.optimizer_state = OptimizerState(self.optimizer, self.parameters)
        self.gradients = Gradients(self.parameters)
        has_hooks = bool(self.settings.on_step or self.settings.on_resize)
        self.groups = Groups(self.optimizer, self._schedulers(),
                             has_hooks or self.optimizer_state.changes_groups)

    def _schedulers(self) -> list[Any]:
        return schedulers_in(self.params)

    def _kept(self, value: torch.Tensor) -> torch.Tensor:
        """Where registered state lies from now on: not where something else is state already."""
        return value.detach().contiguous().clone()

    def describe(self) -> dict[str, Any]:
        settings = self.settings
        blas = loaded_blas()
        told: dict[str, Any] = {
            "samples": len(self.data), "batch": settings.batch, "epochs": settings.epochs,
            "seed": settings.seed, "batch_policy": settings.policy,
            "lr_rule": settings.lr_rule or "none", "warmup_samples": settings.warmup_samples,
            "metrics": self.metrics, "fingerprint": fingerprint(blas),
            "takes_one_sample": not any(
                isinstance(module, torch.nn.modules.batchnorm._BatchNorm)
                for net in self.modules for module in net.modules())}
        for name in ("logical_workers", "batch_max", "micro_batch"):
            value = getattr(settings, name)
            if value is not None:
                told[name] = value
        if settings.workers is not None:
            told["workers"] = str(settings.workers)
        if settings.checkpoint != "auto":
            told["checkpoint"] = settings.checkpoint
        if blas.warning():
            told["warnings"] = [blas.warning()]
        if self.test is not None:
            told.update(evaluation=["test_loss", *self.metrics], held_out=len(self.test))
        return told

    # The core's calls.

    def initialise(self, seed: int) -> None:
        seed_all(seed)
        fresh = self._made()
        values = dict(named_tensors(fresh, "_parameters"))
        values.update(named_tensors(fresh, "_buffers"))
        values.update(UnsavedBuffers(fresh).tensors())
        with torch.no_grad():
            for name, tensor in (*self.parameters, *self.buffers, *self.unsaved.tensors()):
                value = values.get(name)
                if value is None or value.shape != tensor.shape:
                    raise errors.InvalidError(f"the model is made with another {name} each time; "
                                              "it must have the same shape always")
                tensor.copy_(value)
            for name, tensor in self.user.items():
                if not is_state(fresh.get(name)) or fresh[name].shape != tensor.shape:
                    raise errors.InvalidError(
                        f"the model is made with another {name} each time; it must have the same "
                        "shape always")
                tensor.copy_(fresh[name])
        self.optimizer_state.begin_as(OptimizerState(
            fresh["optimizer"], [(name, values[name]) for name, _ in self.parameters]))
        self.groups.begin()
        self.unsaved.see()

    def loaded(self) -> None:
        self.optimizer_state.loaded()
        self.groups.loaded()
        self.unsaved.see()

    def _forward(self, batch: tuple[Any, ...]) -> tuple[torch.Tensor, list[float]]:
        compile_each_shape()
        answer = self.settings.forward(*batch, self.params)
        loss, measured = answer if isinstance(answer, tuple) else (answer, {})
        if not isinstance(loss, torch.Tensor) or loss.numel() != 1:
            raise errors.InvalidError("forward must return the mean loss: one number, as a tensor")
        if not self.metrics:
            return loss, []
        missing = [name for name in self.metrics if name not in measured]
        if missing:
            raise errors.InvalidError(f"forward did not measure {missing[0]}, which is among the "
                                      "metrics: return (loss, {name: number})")
        return loss, [float(measured[name]) for name in self.metrics]

    def _begin(self) -> None:
        """Before the first part that this process computes."""
        self._has_begun = True
        # Else Python would make what it keeps for this thread anew with each call of the core.
        ctypes.pythonapi.PyGILState_Ensure()
        now = _core.facts()
        if now.rank >= 0:
            facts.set_hints(now)

    def _train_all(self) -> None:
        for net in self.modules:
            net.train()

    def _load(self, wanted: Wanted) -> Sequence[Any]:
        if self._loaders is not None:
            return self._loaders.take(wanted)
        return self.data.load(wanted.samples, wanted.seed, wanted.epoch)

    def _loaded(self, part: _core.Part, samples: int) -> Any:
        if not self.data.takes_index or samples == 0:
            return self._load(wanted_by(part))
        index = self._index.get(samples)
        if index is None:
            index = self._index[samples] = torch.empty(samples, dtype=torch.int64)
        ctypes.memmove(index.data_ptr(), part.indices, samples * 8)
        return index

    def upcoming(self, part: _core.Part) -> None:
        if self._loaders is not None:
            self._loaders.expect(wanted_by(part))

    def _compute(self, computing: int, part: _core.Part, measured: _core.Measured) -> None:
        if not self._has_begun:
            self._begin()
        self.compute(computing, part, measured)

    def compute(self, computing: int, part: _core.Part, measured: _core.Measured) -> None:
        for module in self._all_modules:
            if not module.training:
                self._train_all()
                break
        samples, micro_batch = part.samples, part.micro_batch
        loaded = self._loaded(part, samples)
        is_whole = samples <= micro_batch
        seed_all(part.random_seed)
        sums = [0.0] * len(self.metrics)
        total = 0.0
        for begin in range(0, samples, micro_batch):
            size = min(micro_batch, samples - begin)
            batch = self.data.batch(loaded if is_whole else loaded[begin:begin + size])
            loss, metrics = self._forward(batch)
            if not loss.requires_grad:
                raise errors.InvalidError("the loss that forward returns depends on no parameter")
            value = loss.item()
            if not math.isfinite(value):
                raise errors.InvalidError(
                    f"the loss is {value}: lower the learning rate, set clip_norm, or look at the "
                    f"samples with edl data step --step={part.step}")
            self.gradients.backward(loss, computing, size, streams=is_whole and self._members > 1)
            total += value * size
            if metrics:
                sums = [before + metric * size for before, metric in zip(sums, metrics)]
        self.groups.check()
        self.unsaved.check()
        measured.loss = total
        for i, number in enumerate(sums):
            measured.metrics[i] = number

    def _gradient_factor(self, step: _core.Step) -> float:
        if self.settings.clip_norm is None:
            return 1.0
        squares = 0.0
        for segment in range(step.segments):
            flat = step.flat[segment]
            if flat.data not in self._flat:
                dtype = torch.float64 if flat.dtype.bits == 64 else torch.float32
                self._flat[flat.data] = tensor_at(flat.data, flat.shape[0], dtype)
            for block in self._flat[flat.data].split(_CLIP_BLOCK):
                squares += block.to(torch.float64).square().sum().item()
        norm = math.sqrt(squares)
        return self.settings.clip_norm / norm if norm > self.settings.clip_norm else 1.0

    def apply(self, step: _core.Step, applied: _core.Applied) -> None:
        wishes.begin_apply(step.step)
        self._members = step.members
        self.groups.check()
        settings = self.settings
        progress = Progress(step.step, step.epoch, step.seen, step.members)
        if step.members_before and settings.on_resize is not None:
            settings.on_resize(self.params, step.members_before, step.members)
            self.groups.keep()
        factor = step.lr_factor
        if settings.schedule is not None:
            factor *= settings.schedule(progress)
        applied.applied = 0 if step.found_inf else 1
        applied.lr = self.groups.rates[0] * factor
        with torch.no_grad():
            if applied.applied:
                self._update(step, factor)
            if settings.on_step is not None:
                evaluated = {} if not step.evaluation else dict(
                    zip(["test_loss", *self.metrics], step.evaluation))
                done = AppliedStep(progress, bool(applied.applied), step.loss, applied.lr,
                                   evaluated)
                settings.on_step(self.params, done)
                applied.saves = int(done.saves)
            self.groups.keep()
            self._keep_user_state()
        self.unsaved.see()
        wishes.end_apply()

    def _update(self, step: _core.Step, factor: float) -> None:
        scale = self._gradient_factor(step)
        for i, (_, parameter) in enumerate(self.parameters):
            address = step.gradients[i]
            if not address:
                parameter.grad = None
                continue
            gradient = self._reduced.get(address)
            if gradient is None:
                gradient = tensor_at(address, parameter.numel(), parameter.dtype)
                gradient = gradient.view(parameter.shape)
                self._reduced[address] = gradient
            parameter.grad = gradient if scale == 1 else gradient * scale
        if factor != 1:
            self.groups.multiply(factor)
        self.optimizer.step()
        if factor != 1:
            self.groups.multiply(1)
        for _, parameter in self.parameters:
            parameter.grad = None
        self.optimizer_state.take()

    def _keep_user_state(self) -> None:
        for name, kept in self.user.items():
            now = self.params.get(name)
            if now is kept:
                continue
            if not is_state(now) or now.shape != kept.shape:
                raise errors.InvalidError(f"a hook gave the registered state {name} another shape; "
                                          "it must keep the one that it began with")
            kept.copy_(now)
            self.params[name] = kept

    def evaluate(self, begin: int, end: int, sums: Any) -> None:
        assert self.test is not None
        for net in self.modules:
            net.eval()
        with torch.no_grad():
            while begin < end:
                samples = range(begin, min(end, begin + self.settings.test_batch))
                begin = samples.stop
                loss, metrics = self._forward(self.test.batch(self.test.load(samples, 0, 0)))
                for i, number in enumerate([loss.item(), *metrics]):
                    sums[i] += number * len(samples)

    # The worker.

    def _register(self) -> None:
        library = _core.library()
        calls = _core.Calls(
            bytes=ctypes.sizeof(_core.Calls),
            initialise=_core.INITIALISE(guarded(lambda _, seed: self.initialise(seed))),
            loaded=_core.LOADED(guarded(lambda _: self.loaded())),
            compute=_core.COMPUTE(guarded(
                lambda _, computing, part, measured: self._compute(computing, part[0],
                                                                   measured[0]))),
            apply=_core.APPLY(guarded(
                lambda _, step, applied: self.apply(step[0], applied[0]))),
            evaluate=_core.EVALUATE(guarded(
                lambda _, begin, end, sums: self.evaluate(begin, end, sums))),
            fork=_core.FORK(lambda _: os.fork()))
        if self.data.loaders > 0:
            calls.upcoming = _core.UPCOMING(guarded(lambda _, part: self.upcoming(part[0])))
        trainee = library.edl_trainee_new(calls, None, json.dumps(self.describe()).encode())
        if not trainee:
            raise errors.InvalidError(library.edl_last_message().decode())
        summed = [(name, buffer) for name, buffer in self.buffers if buffer.dtype in _SUMMED]
        for kind, all_of_kind in ((_core.PARAMETER, self.parameters), (_core.BUFFER, summed),
                                  (_core.STATE, self._others())):
            for name, tensor in all_of_kind:
                _core.check(library.edl_trainee_add(trainee, kind, name.encode(),
                                                    described(name, tensor)))
        self._handle = trainee
        self._calls = calls  # as long as the core may call them

    def begin(self) -> int:
        """Before this process has threads. -1: it is to run; else its exit code."""
        self._register()
        code = int(_core.library().edl_begin(self._handle))
        if code < 0:
            _core.set_trainee(self._handle)
            if self.data.loaders > 0:
                self._loaders = Loaders(self.data)
        return code

    def run(self) -> int:
        """Trains as the agent wants it; answers the exit code of the process."""
        code = int(_core.library().edl_work(self._handle))
        wishes.end()
        return code

    def _others(self) -> list[tuple[str, torch.Tensor]]:
        fixed = [(name, buffer) for name, buffer in self.buffers if buffer.dtype not in _SUMMED]
        return [*((f"model/{name}", tensor) for name, tensor in (*self.tied, *fixed)),
                *self.optimizer_state.tensors(), *self.groups.tensors(),
                *self.unsaved.tensors(),
                *((f"user/{name}", tensor) for name, tensor in self.user.items())]


def wanted_by(part: _core.Part) -> Wanted:
    return Wanted(tuple(part.indices[:part.samples]), part.seed, part.epoch)
