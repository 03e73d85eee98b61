"""A PyTorch program as EDL's core sees it: tensors of a state, and functions on them."""

from __future__ import annotations

import ctypes
import hashlib
import json
import math
import os
import traceback
from typing import Any, Callable

import torch

from edl import _core, errors
from edl._compiled import compile_each_shape, plain_name
from edl._feed import Feed, feed_of, seed_all
from edl._optimizer_state import OptimizerState
from edl.training import AppliedStep, Progress, Settings

_PACKAGE = os.path.dirname(__file__)
_CLIP_BLOCK = 64 << 10  # numbers whose squares are summed at a time
_DTYPES = {torch.float32: (2, 32), torch.float64: (2, 64), torch.float16: (2, 16),
           torch.bfloat16: (4, 16), torch.int64: (0, 64), torch.int32: (0, 32),
           torch.int16: (0, 16), torch.int8: (0, 8), torch.uint8: (1, 8), torch.bool: (6, 8)}


def _at(address: int, count: int, dtype: torch.dtype) -> torch.Tensor:
    """Numbers in memory of the core, without a copy."""
    size = torch.empty((), dtype=dtype).element_size()
    memory = (ctypes.c_char * (count * size)).from_address(address)
    return torch.frombuffer(memory, dtype=dtype, count=count)


def _numbers(shape: tuple[int, ...]) -> torch.Tensor:
    """0, 1, ... folded into [-0.5, 0.5): by arithmetic that is exact in every library."""
    whole = torch.arange(math.prod(shape), dtype=torch.int64).mul(7919).remainder(4096)
    return whole.to(torch.float32).div(4096).sub(0.5).reshape(shape)


def fingerprint() -> dict[str, str]:
    """What the bits of a program's numbers depend on beside the job."""
    seen = hashlib.sha256()
    with torch.no_grad():
        a, b = _numbers((67, 131)), _numbers((131, 93))
        product = a @ b
        for result in (product, a.t() @ product, a.mv(b[:, 0].contiguous()),
                       torch.conv2d(_numbers((2, 3, 13, 13)), _numbers((8, 3, 3, 3)),
                                    _numbers((8,)), padding=1),
                       product.exp(), product.tanh(), product.log_softmax(1), product.sum(0),
                       torch.layer_norm(product, (93,))):
            dense = result.contiguous()
            seen.update(bytes((ctypes.c_char * (dense.numel() * 4)).from_address(dense.data_ptr())))
    shown = torch.__config__.show()
    isa = next((line.split(":")[1].strip() for line in shown.splitlines()
                if "CPU capability usage:" in line), "")
    return {"torch": torch.__version__, "isa": isa, "threads": str(torch.get_num_threads()),
            "known": seen.hexdigest()[:16]}


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

    # The model.

    def _made(self) -> dict[str, Any]:
        made = self.settings.model()
        if not isinstance(made, dict) or not isinstance(made.get("optimizer"),
                                                        torch.optim.Optimizer):
            raise errors.InvalidError('model() must return a dict with the network and its '
                                      '"optimizer", one of torch.optim')
        if not _modules(made):
            raise errors.InvalidError("model() returns no network: no torch.nn.Module is in the "
                                      "dict")
        return made

    def _lay_out(self) -> None:
        self.modules = list(_modules(self.params).values())
        self.parameters: list[tuple[str, torch.Tensor]] = []
        self.tied: list[tuple[str, torch.Tensor]] = []
        known: set[int] = set()
        for name, parameter in _named(self.params, "_parameters"):
            if id(parameter) in known:
                self.tied.append((name, parameter))
                continue
            known.add(id(parameter))
            parameter.data = parameter.data.contiguous()
            self.parameters.append((name, parameter))
        if not self.parameters:
            raise errors.InvalidError("the network has no parameters to train")
        self.buffers = []
        for name, buffer in _named(self.params, "_buffers"):
            if id(buffer) not in known:
                known.add(id(buffer))
                self.buffers.append((name, buffer))
        self.user = {name: self._kept(value) for name, value in self.params.items()
                     if _is_state(value)}
        self.params.update(self.user)
        self.base_rates = [group["lr"] for group in self.optimizer.param_groups]
        self.optimizer_state = OptimizerState(self.optimizer, self.parameters)

    def _kept(self, value: torch.Tensor) -> torch.Tensor:
        """Where registered state lies from now on: not where something else is state already."""
        return value.detach().contiguous().clone()

    def describe(self) -> dict[str, Any]:
        settings = self.settings
        told: dict[str, Any] = {
            "samples": len(self.data), "batch": settings.batch, "epochs": settings.epochs,
            "seed": settings.seed, "batch_policy": settings.policy,
            "lr_rule": settings.lr_rule or "none", "warmup_samples": settings.warmup_samples,
            "metrics": self.metrics, "fingerprint": fingerprint(),
            "takes_one_sample": not any(
                isinstance(module, torch.nn.modules.batchnorm._BatchNorm)
                for net in self.modules for module in net.modules())}
        for name in ("logical_workers", "batch_max", "micro_batch"):
            value = getattr(settings, name)
            if value is not None:
                told[name] = value
        if self.test is not None:
            told.update(evaluation=["test_loss", *self.metrics], held_out=len(self.test))
        return told

    # The core's calls.

    def initialise(self, seed: int) -> None:
        torch.default_generator.manual_seed(seed)
        fresh = self._made()
        values = dict(_named(fresh, "_parameters"))
        values.update(_named(fresh, "_buffers"))
        with torch.no_grad():
            for name, tensor in (*self.parameters, *self.buffers):
                value = values.get(name)
                if value is None or value.shape != tensor.shape:
                    raise errors.InvalidError(f"the model is made with another {name} each time; "
                                              "it must have the same shape always")
                tensor.copy_(value)
            for name, tensor in self.user.items():
                if not _is_state(fresh.get(name)) or fresh[name].shape != tensor.shape:
                    raise errors.InvalidError(
                        f"the model is made with another {name} each time; it must have the same "
                        "shape always")
                tensor.copy_(fresh[name])
        self.optimizer_state.clear()

    def loaded(self) -> None:
        self.optimizer_state.loaded()

    def _forward(self, batch: tuple[Any, ...]) -> tuple[torch.Tensor, list[float]]:
        compile_each_shape()
        answer = self.settings.forward(*batch, self.params)
        loss, measured = answer if isinstance(answer, tuple) else (answer, {})
        if not isinstance(loss, torch.Tensor) or loss.numel() != 1:
            raise errors.InvalidError("forward must return the mean loss: one number, as a tensor")
        missing = [name for name in self.metrics if name not in measured]
        if missing:
            raise errors.InvalidError(f"forward did not measure {missing[0]}, which is among the "
                                      "metrics: return (loss, {name: number})")
        return loss, [float(measured[name]) for name in self.metrics]

    def compute(self, computing: int, part: _core.Part, measured: _core.Measured) -> None:
        give = _core.library().edl_gradient
        for net in self.modules:
            net.train()
        indices = part.indices[:part.samples]
        sums = [0.0] * len(self.metrics)
        total = 0.0
        for begin in range(0, len(indices), part.micro_batch):
            micro = indices[begin:begin + part.micro_batch]
            batch = self.data.batch(micro, part.seed, part.epoch)
            if begin == 0:
                seed_all(part.random_seed)
            for _, parameter in self.parameters:
                parameter.grad = None
            loss, metrics = self._forward(batch)
            if not loss.requires_grad:
                raise errors.InvalidError("the loss that forward returns depends on no parameter")
            value = loss.item()
            if not math.isfinite(value):
                raise errors.InvalidError(
                    f"the loss is {value}: lower the learning rate, set clip_norm, or look at the "
                    f"samples with edl data step --step={part.step}")
            loss.backward()
            for i, (name, parameter) in enumerate(self.parameters):
                gradient = parameter.grad
                if gradient is None:
                    continue
                if gradient.is_sparse:
                    raise errors.InvalidError(f"the gradient of {name} is sparse, which cannot be "
                                              "summed; use a dense one (sparse=False)")
                dense = gradient.contiguous()
                _core.check(give(computing, i, dense.data_ptr(), len(micro)))
                parameter.grad = None
            total += value * len(micro)
            sums = [before + metric * len(micro) for before, metric in zip(sums, metrics)]
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
                self._flat[flat.data] = _at(flat.data, flat.shape[0], dtype)
            for block in self._flat[flat.data].split(_CLIP_BLOCK):
                squares += block.to(torch.float64).square().sum().item()
        norm = math.sqrt(squares)
        return self.settings.clip_norm / norm if norm > self.settings.clip_norm else 1.0

    def apply(self, step: _core.Step, applied: _core.Applied) -> None:
        settings = self.settings
        progress = Progress(step.step, step.epoch, step.seen, step.members)
        if step.members_before and settings.on_resize is not None:
            settings.on_resize(self.params, step.members_before, step.members)
        factor = step.lr_factor
        if settings.schedule is not None:
            factor *= settings.schedule(progress)
        applied.applied = 0 if step.found_inf else 1
        applied.lr = self.base_rates[0] * factor
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
            self._keep_user_state()

    def _update(self, step: _core.Step, factor: float) -> None:
        scale = self._gradient_factor(step)
        for i, (_, parameter) in enumerate(self.parameters):
            address = step.gradients[i]
            if not address:
                parameter.grad = None
                continue
            gradient = self._reduced.get(address)
            if gradient is None:
                gradient = _at(address, parameter.numel(), parameter.dtype).view(parameter.shape)
                self._reduced[address] = gradient
            parameter.grad = gradient if scale == 1 else gradient * scale
        for group, base in zip(self.optimizer.param_groups, self.base_rates):
            group["lr"] = base * factor
        self.optimizer.step()
        for _, parameter in self.parameters:
            parameter.grad = None
        self.optimizer_state.take()

    def _keep_user_state(self) -> None:
        for name, kept in self.user.items():
            now = self.params.get(name)
            if now is kept:
                continue
            if not _is_state(now) or now.shape != kept.shape:
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
                loss, metrics = self._forward(self.test.batch(samples, 0, 0))
                for i, number in enumerate([loss.item(), *metrics]):
                    sums[i] += number * len(samples)

    # The worker.

    def _register(self) -> None:
        library = _core.library()
        calls = _core.Calls(
            bytes=ctypes.sizeof(_core.Calls),
            initialise=_core.INITIALISE(_guarded(lambda _, seed: self.initialise(seed))),
            loaded=_core.LOADED(_guarded(lambda _: self.loaded())),
            compute=_core.COMPUTE(_guarded(
                lambda _, computing, part, measured: self.compute(computing, part[0],
                                                                  measured[0]))),
            apply=_core.APPLY(_guarded(
                lambda _, step, applied: self.apply(step[0], applied[0]))),
            evaluate=_core.EVALUATE(_guarded(
                lambda _, begin, end, sums: self.evaluate(begin, end, sums))),
            fork=_core.FORK(lambda _: os.fork()))
        trainee = library.edl_trainee_new(calls, None, json.dumps(self.describe()).encode())
        if not trainee:
            raise errors.InvalidError(library.edl_last_message().decode())
        for kind, all_of_kind in ((_core.PARAMETER, self.parameters), (_core.BUFFER, self.buffers),
                                  (_core.STATE, self._others())):
            for name, tensor in all_of_kind:
                _core.check(library.edl_trainee_add(trainee, kind, name.encode(),
                                                    _described(name, tensor)))
        self._handle = trainee
        self._calls = calls  # as long as the core may call them

    def begin(self) -> int:
        """Before this process has threads. -1: it is to run; else its exit code."""
        self._register()
        return _core.library().edl_begin(self._handle)

    def run(self) -> int:
        """Trains as the agent wants it; answers the exit code of the process."""
        return _core.library().edl_work(self._handle)

    def _others(self) -> list[tuple[str, torch.Tensor]]:
        return [*((f"model/{name}", tensor) for name, tensor in self.tied),
                *self.optimizer_state.tensors(),
                *((f"user/{name}", tensor) for name, tensor in self.user.items())]


def _is_state(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and not isinstance(value, torch.nn.Parameter)


def _modules(params: dict[str, Any]) -> dict[str, torch.nn.Module]:
    return {name: value for name, value in params.items() if isinstance(value, torch.nn.Module)}


def _named(params: dict[str, Any], what: str) -> list[tuple[str, torch.Tensor]]:
    """`_parameters` or `_buffers` by their names within the network; with its own before them when
    there are several. What is shared comes under each of its names."""
    nets = _modules(params)
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
        for name, tensor in (*_named(params, "_parameters"), *_named(params, "_buffers")):
            if name not in tensors or tensors[name].shape != tensor.shape:
                raise errors.InvalidError(f"the file has no {name} of shape {tuple(tensor.shape)}")
            tensor.copy_(tensors[name])


def _described(name: str, tensor: torch.Tensor) -> _core.Tensor:
    if tensor.dtype not in _DTYPES:
        raise errors.InvalidError(f"{name}: a tensor of {tensor.dtype} cannot be part of the state")
    code, bits = _DTYPES[tensor.dtype]
    shape = (ctypes.c_int64 * max(1, tensor.dim()))(*tensor.shape)
    return _core.Tensor(data=tensor.data_ptr(), device=_core.Device(_core.CPU, 0),
                        ndim=tensor.dim(), dtype=_core.DataType(code, bits, 1), shape=shape)


def _own_frames(trace: Any) -> Any:
    """The program's part of a traceback: what is below EDL's own calls."""
    inner = trace
    while inner is not None and os.path.dirname(inner.tb_frame.f_code.co_filename) == _PACKAGE:
        inner = inner.tb_next
    return trace if inner is None else inner


def _guarded(function: Callable[..., None]) -> Callable[..., int]:
    """A call of the core: what the program raises is shown in its own words, then told as one
    sentence."""
    def call(*arguments: Any) -> int:
        try:
            function(*arguments)
            return 0
        except BaseException as wrong:  # noqa: BLE001 - nothing may pass through the core
            sentence = str(wrong)
            if not isinstance(wrong, errors.Error):
                trace = _own_frames(wrong.__traceback__)
                traceback.print_exception(type(wrong), wrong, trace)
                place = traceback.extract_tb(trace)[-1]
                sentence = (f"{type(wrong).__name__}: {wrong} "
                            f"({os.path.basename(place.filename)}:{place.lineno})")
            _core.library().edl_fail(sentence.replace("\n", " ").encode(errors="replace"))
            return 1
    return call
