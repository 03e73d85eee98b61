"""For those who keep their training loop: the body runs once for each part that this worker
computes, and EDL does between the parts what makes it elastic::

    import edl, torch

    edl.init()
    net = torch.nn.Linear(64, 10)
    average = net.weight.detach().clone()
    edl.register("average", average)
    optimizer = edl.Optimizer(torch.optim.SGD(net.parameters(), lr=0.1), clip_norm=1.0)

    @edl.on_step
    def follow(done):
        average.lerp_(net.weight.detach(), 0.1)

    @edl.on_resize
    def told(before, now):
        print(before, "workers before,", now, "now")

    for epoch in edl.epochs(2):
        for x, y in edl.elastic_shard_generator(edl.datasets.digits(), batch=64):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(net(x), y)
            loss.backward()
            if optimizer.step() and edl.rank() == 0:
                print("a step was applied", loss.item())
            edl.notify_batch_end()

The loop runs in its own thread, the core beside it; at any moment one of them waits for the other.
"""

from __future__ import annotations

import gc
import os
import queue
import sys
import threading
from typing import Any, Callable, Iterator, NoReturn, Sequence

from edl import _core, errors
from edl.training import AppliedStep, Settings

_DONE = object()


class Loop:
    """The one loop of this process."""

    def __init__(self, seed: int):
        self.seed = seed
        self.optimizer: Optimizer | None = None
        self.epochs = 1
        self.registered: dict[str, Any] = {}
        self.on_step: list[Callable[[AppliedStep], None]] = []
        self.on_resize: list[Callable[[int, int], None]] = []
        self.trainee: Any = None
        self.loads: tuple[Any, dict[str, Any]] | None = None  # a path, and the tensors there
        self._parts: queue.Queue[Any] = queue.Queue()  # for the loop: a part, _DONE, an exit code
        self._answers: queue.Queue[Any] = queue.Queue()  # for the core: a part is computed
        self._next: Any = None
        self.is_over = False
        self.epoch: int | None = None  # that edl.epochs is in
        self.shared_out: int | None = None  # the epoch whose parts the body was given
        self.step = 0  # of the part that the body was given last
        self.is_left = False  # the loops are behind us

    # The loop's side.

    def begin(self, dataset: Any, batch: int, logical_workers: int | None) -> None:
        """Once, when data, network and optimizer are known. The core runs beside the loop then."""
        if self.trainee is not None:
            return
        if self.optimizer is None:
            raise errors.InvalidError("give the optimizer to EDL before the loop: "
                                      "optimizer = edl.Optimizer(optimizer)")
        from edl._loop_trainee import LoopTrainee

        trainee = LoopTrainee(self, Settings(
            model=dict, forward=None, data=dataset, batch=batch, epochs=self.epochs,
            logical_workers=logical_workers, seed=self.seed,
            clip_norm=self.optimizer.clip_norm))
        code = trainee.begin()
        if code >= 0:
            sys.stdout.flush()
            os._exit(code)  # it has told about the program, or forked others
        self.trainee = trainee  # from here on what the loop raises ends a worker
        threading.Thread(target=self._work, name="edl-core", daemon=True).start()

    def _work(self) -> None:
        self._parts.put(int(self.trainee.run()))

    def next_part(self) -> Any:
        """The part that the loop is to compute next; None when the job is over."""
        if self._next is None and not self.is_over:
            self._next = self._take()
        return self._next

    def _take(self) -> Any:
        given = self._parts.get()
        if isinstance(given, int):
            self.is_over = True
            if _core.facts().end != _core.FINISHED:  # it was sent away, or the job stopped
                sys.stdout.flush()
                os._exit(given)
            return None
        return given

    def computed(self, loss: float) -> bool:
        """The loop has computed its part. Whether a step was applied before the next one."""
        self._next = None
        applied = self.trainee.applied_steps
        self._answers.put(loss)
        self._next = self._take()
        return self.trainee.applied_steps > applied

    # The core's side.

    def compute(self, part: Any) -> float:
        self._parts.put(part)
        answer = self._answers.get()
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def fail(self, wrong: BaseException) -> int:
        """The loop ended with an exception: the part that it was computing fails, and with it this
        worker. Answers the exit code."""
        self._answers.put(wrong)
        return int(self._parts.get())


_loop: Loop | None = None


def was_begun() -> bool:
    """Whether this program keeps its loop."""
    return _loop is not None


def is_training() -> bool:
    return _loop is not None and _loop.trainee is not None and not _loop.is_over


def is_late(step: int) -> bool:
    """Whether steps up to this one were applied which the loop knows nothing of: a worker without
    parts sleeps through them, and what its program then does, others have done in time."""
    return _loop is not None and _loop.step < step and not _loop.is_left


def end(wrong: BaseException | None) -> NoReturn:
    """The program has left its loop before the job was at its end: this worker fails."""
    if wrong is None or isinstance(wrong, (SystemExit, GeneratorExit)):
        how = f"by {type(wrong).__name__}: {wrong}" if wrong is not None else "by break or return"
        wrong = errors.InvalidError(
            f"the program left its loop ({how}) while the job trains: how long it trains is said "
            "by edl.epochs(n), --epochs and --steps; edl stop ends it sooner")
    code = _running().fail(wrong)
    sys.stdout.flush()
    os._exit(code)


def _running() -> Loop:
    if _loop is None:
        raise errors.InvalidError("call edl.init() first")
    return _loop


def init(seed: int = 0) -> None:
    """Before the network is made: seeds every generator, so that all workers begin alike. The job's
    seed goes before the program's: what `edl run --seed` says, or what the job began with."""
    global _loop
    if not _core.is_worker():
        raise errors.InvalidError("start this program with edl run")
    if _loop is not None:
        raise errors.InvalidError("edl.init() was called before")
    from edl._feed import seed_all

    seed = int(os.environ.get("EDL_JOB_SEED") or seed)
    seed_all(seed)
    _loop = Loop(seed)


def epochs(count: int) -> Iterator[int]:
    """Replaces range(count): a worker that joins later begins in the epoch of the others."""
    loop = _running()
    loop.epochs = count
    epoch = 0
    while epoch < count or loop.trainee is not None:  # the job may have another number of epochs
        loop.epoch = epoch
        yield epoch
        epoch += 1
        if loop.trainee is not None:
            part = loop.next_part()
            if part is None:
                loop.is_left = True
                return
            epoch = max(epoch, part.epoch)


def elastic_shard_generator(dataset: Any, batch: int = 64,
                            logical_workers: int | None = None) -> Iterator[Any]:
    """The parts of one epoch that this worker computes, as batches."""
    loop = _running()
    if loop.epoch is not None and loop.epoch == loop.shared_out:
        raise errors.InvalidError(
            "edl.elastic_shard_generator gives the data to train with, once in an epoch: to "
            "evaluate, take the batches of a plain torch.utils.data.DataLoader")
    loop.shared_out = loop.epoch
    loop.begin(dataset, batch, logical_workers)
    part = loop.next_part()
    epoch = part.epoch if part is not None else 0
    if loop.epoch is not None and epoch > loop.epoch:
        return  # others train this epoch, or have done so
    while part is not None and part.epoch == epoch:
        loop.step = part.step
        yield loop.trainee.batch_of(part)
        if loop.next_part() is part:
            raise errors.InvalidError("the loop's body did not call optimizer.step(): each batch "
                                      "that EDL gives needs one")
        part = loop.next_part()


class Optimizer:
    """An optimizer of torch whose step is EDL's: gradients of all parts of a step, summed and
    clipped to `clip_norm`, then one update on every worker. After it, each of the `schedulers`
    makes a step, and each of the `averages` (``torch.optim.swa_utils.AveragedModel``) takes the
    network's parameters in."""

    def __init__(self, optimizer: Any, clip_norm: float | None = None,
                 schedulers: Sequence[Any] = (), averages: Sequence[Any] = ()):
        self.inner = optimizer
        self.clip_norm = clip_norm
        self.schedulers = list(schedulers)
        self.averages = list(averages)
        loop = _before_the_loop("edl.Optimizer")
        if loop.optimizer is not None:
            raise errors.InvalidError("edl.Optimizer was made before, and a loop has one: give it "
                                      "the parameters of all networks, in several groups")
        loop.optimizer = self
        _refuse_clipping()

    def zero_grad(self, set_to_none: bool = True) -> None:
        self.inner.zero_grad(set_to_none=set_to_none)

    def step(self, closure: Any = None) -> bool:
        """Gives the part's gradients. True when a step was applied."""
        if closure is not None:
            raise errors.InvalidError("edl.Optimizer takes no closure")
        return _running().computed(0.0)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


def _refuse_clipping() -> None:
    """What clips in the loop's body would clip a part, and the result would depend on the parts."""
    import torch

    for name in ("clip_grad_norm_", "clip_grad_value_"):
        plain = getattr(torch.nn.utils, name)

        def refuse(*arguments: Any, plain: Any = plain, name: str = name, **named: Any) -> Any:
            if is_training():
                raise errors.InvalidError(f"{name} would clip one part of a step: give the norm to "
                                          "edl.Optimizer(optimizer, clip_norm=...), which clips "
                                          "the sum of all parts")
            return plain(*arguments, **named)

        setattr(torch.nn.utils, name, refuse)
        setattr(torch.nn.utils.clip_grad, name, refuse)


def notify_batch_end() -> None:
    """Marks the end of a batch; what it would do, `Optimizer.step` has done."""
    _running()


def _before_the_loop(what: str) -> Loop:
    """A worker that joins would not have what others were given while they trained."""
    loop = _running()
    if loop.trainee is not None:
        raise errors.InvalidError(f"{what} belongs before the loop: in it comes too late")
    return loop


def on_step(function: Callable[[AppliedStep], None]) -> None:
    """Called on every worker after each step that was applied."""
    _before_the_loop("edl.on_step").on_step.append(function)


def on_resize(function: Callable[[int, int], None]) -> None:
    """Called with the numbers of workers before and now, before a view's first step is applied."""
    _before_the_loop("edl.on_resize").on_resize.append(function)


def register(name: str, obj: Any) -> None:
    """Names state that travels with joins and checkpoints: a tensor, or a module."""
    _before_the_loop(f"edl.register({name!r}, ...)").registered[name] = obj


def load_checkpoint(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Goes on where a job was that has saved a folder by `save_checkpoint` or by itself, as
    ``edl run --from`` does; or begins with the weights of a safetensors file. Behind
    ``edl.Optimizer``, before the loop. Answers what `state.json` says.
    """
    loop = _running()
    if loop.trainee is not None:
        raise errors.InvalidError("edl.load_checkpoint belongs before the loop: a job that trains "
                                  "has its state already")
    if loop.optimizer is None:
        raise errors.InvalidError("give the optimizer to EDL before edl.load_checkpoint: "
                                  "optimizer = edl.Optimizer(optimizer)")
    from edl._tensors import load_model
    from edl.checkpoints import read_checkpoint

    state, tensors = read_checkpoint(path)
    loop.loads = (path, tensors)
    parameters = [p for group in loop.optimizer.inner.param_groups for p in group["params"]]
    load_model(networks_of(parameters), {name[len("model/"):]: tensor for name, tensor
                                         in tensors.items() if name.startswith("model/")})
    return state


def networks_of(parameters: list[Any]) -> dict[str, Any]:
    """The outermost modules that hold these parameters, in the order of these, which is the same in
    every process: by the names that the program's own variables give them, or by numbers."""
    import torch

    place = {id(parameter): i for i, parameter in reversed(list(enumerate(parameters)))}
    gc.collect()  # else one that is gone might still be found
    # By type: asking some objects for their class makes them warn.
    modules = [obj for obj in gc.get_objects() if issubclass(type(obj), torch.nn.Module)
               and any(id(parameter) in place for parameter in obj.parameters())]
    inner = {id(child) for module in modules for child in module.modules() if child is not module}
    outer = [module for module in modules if id(module) not in inner]
    if len(outer) == 1:
        return {"net": outer[0]}
    outer.sort(key=lambda net: min(place[id(parameter)] for parameter in net.parameters()
                                   if id(parameter) in place))
    variables = vars(sys.modules["__main__"]).items()
    names = [[name for name, value in variables if value is module] for module in outer]
    if all(len(of_one) == 1 and of_one != ["optimizer"] for of_one in names):
        return {of_one[0]: module for of_one, module in zip(names, outer)}
    return {f"net{i}": module for i, module in enumerate(outer)}
