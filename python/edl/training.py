"""`edl.train`: what a program trains, and how."""

from __future__ import annotations

import dataclasses
import sys
from typing import Any, Callable, Sequence

from edl import _core, errors


@dataclasses.dataclass(frozen=True)
class Progress:
    """Where training is when a step is applied."""
    step: int  # from 1
    epoch: int  # from 0
    samples: int  # that were trained on, with those of this step
    members: int  # that computed it


@dataclasses.dataclass
class AppliedStep:
    """A step that was applied, as `on_step` sees it."""
    progress: Progress
    applied: bool  # False: it was skipped, because a gradient was infinite
    loss: float  # the mean over its samples
    lr: float  # of the first group
    evaluation: dict[str, float]  # of the state before it, where that was due
    saves: bool = False

    def save_checkpoint(self) -> None:
        """Asks for a checkpoint of the state after this step."""
        self.saves = True


@dataclasses.dataclass
class Settings:
    """What `edl.train` was given."""
    model: Callable[[], dict[str, Any]]
    forward: Callable[..., Any]
    data: Any
    epochs: int = 1
    batch: int = 64
    micro_batch: int | None = None
    logical_workers: int | None = None
    policy: str = "fixed"
    batch_max: int | None = None
    lr_rule: str | None = None
    warmup_samples: int = 0
    evaluate: Any = None
    test_batch: int = 256
    metrics: Sequence[str] | None = None
    schedule: Callable[[Progress], float] | None = None
    clip_norm: float | None = None
    checkpoint: str = "auto"
    seed: int = 0
    workers: str | int | None = None
    on_step: Callable[[dict[str, Any], AppliedStep], None] | None = None
    on_resize: Callable[[dict[str, Any], int, int], None] | None = None

    def __post_init__(self) -> None:
        for name in ("model", "forward", "schedule", "on_step", "on_resize"):
            value = getattr(self, name)
            if value is not None and not callable(value):
                raise errors.InvalidError(f"{name} is {value!r}: give a function")
        if self.clip_norm is not None and not self.clip_norm > 0:
            raise errors.InvalidError(f"clip_norm is {self.clip_norm}: give the largest norm that "
                                      "the gradients of a step may have, above 0")


NAMES = [field.name for field in dataclasses.fields(Settings)]


def train(model: Callable[[], dict[str, Any]], forward: Callable[..., Any], data: Any, *,
          epochs: int = 1, batch: int = 64, logical_workers: int | None = None,
          policy: str = "fixed", lr_rule: str | None = None, evaluate: Any = None,
          metrics: Sequence[str] | None = None,
          schedule: Callable[[Progress], float] | None = None, clip_norm: float | None = None,
          checkpoint: str = "auto", seed: int = 0, workers: str | int | None = None,
          micro_batch: int | None = None, batch_max: int | None = None, warmup_samples: int = 0,
          test_batch: int = 256,
          on_step: Callable[[dict[str, Any], AppliedStep], None] | None = None,
          on_resize: Callable[[dict[str, Any], int, int], None] | None = None) -> dict[str, Any]:
    """Trains `model` on `data` with as many workers as there are at the moment.

    `model()` returns a dict with the network and its ``"optimizer"``; ``forward(x, y, params)``
    returns the mean loss of a batch, or ``(loss, {name: number})`` with the `metrics` that are
    promised; `data` is ``(x, y)`` arrays, a ``torch.utils.data.Dataset``, or a function that
    returns one of them. The result is the same, bit for bit, whatever happens to workers.

    Where no agent has started this process, it runs ``edl run`` on its own script, or on a file
    that it makes of a notebook's cells, waits for its end and returns what `model()` makes, with
    the weights that were trained::

        import edl, torch

        def model():
            net = torch.nn.Linear(64, 10)
            return {"net": net, "optimizer": torch.optim.Adam(net.parameters(), lr=0.01)}

        def forward(x, y, params):
            return torch.nn.functional.cross_entropy(params["net"](x), y)

        params = edl.train(model, forward, edl.datasets.digits, epochs=2, workers=2)
        print(params["net"].weight.shape)
    """
    given = locals()
    wanted = Settings(**{name: given[name] for name in NAMES})
    from edl import _script

    _script.refuse_tests()
    if not _core.is_worker():
        return _script.run_here(wanted)
    known = _script.earlier_model(wanted)
    if known is not None:
        return known
    from edl._torch_trainee import TorchTrainee

    trainee = TorchTrainee(wanted)
    code = trainee.begin()
    sys.exit(trainee.run() if code < 0 else code)
