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


NAMES = [field.name for field in dataclasses.fields(Settings)]


def train(model: Callable[[], dict[str, Any]], forward: Callable[..., Any], data: Any,
          **settings: Any) -> None:
    """Trains `model` on `data` with as many workers as there are at the moment.

    `model()` returns a dict with the network and its ``"optimizer"``; ``forward(x, y, params)``
    returns the mean loss of a batch, or ``(loss, {name: number})`` with the `metrics` that are
    promised; `data` is ``(x, y)`` arrays, a ``torch.utils.data.Dataset``, or a function that
    returns one of them. The result is the same, bit for bit, whatever happens to workers.
    """
    unknown = [name for name in settings if name not in NAMES]
    if unknown:
        raise errors.InvalidError(f"edl.train knows no {unknown[0]}; it knows {', '.join(NAMES)}")
    wanted = Settings(model, forward, data, **settings)
    if not _core.is_worker():
        raise errors.InvalidError("start this program with edl run")
    from edl._torch_trainee import TorchTrainee

    trainee = TorchTrainee(wanted)
    code = trainee.begin()
    sys.exit(trainee.run() if code < 0 else code)
