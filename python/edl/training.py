"""`edl.train`: what a program trains, and how."""

from __future__ import annotations

import dataclasses
import itertools
import os
import signal
import subprocess
import sys
from pathlib import Path
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
    if not _core.is_worker():
        return _run_here(wanted)
    from edl._torch_trainee import TorchTrainee

    trainee = TorchTrainee(wanted)
    code = trainee.begin()
    sys.exit(trainee.run() if code < 0 else code)


def _run_here(wanted: Settings) -> dict[str, Any]:
    """`edl run` on this script, or on what is made of this notebook; the trained model."""
    from edl import _notebook
    from edl._files import edl_program
    from edl.checkpoints import load_trained

    if _notebook.is_in_no_file():
        stem, arguments = "notebook", []
    else:
        script = str(sys.modules["__main__"].__file__)
        letters = (c if c.isalnum() else "-" for c in Path(script).stem.lower())
        stem, arguments = "".join(letters).strip("-") or "job", [script, *sys.argv[1:]]
    name = next(name for name in (f"{stem}-{i}" for i in itertools.count(1))
                if not Path("edl-jobs", name).exists() and not Path("edl-programs", name).exists())
    if not arguments:
        given = {field.name: getattr(wanted, field.name) for field in dataclasses.fields(Settings)
                 if getattr(wanted, field.name) is not field.default}
        arguments = [str(_notebook.write_program(Path("edl-programs", name), given))]
    command = [edl_program(), "run", f"--name={name}", f"--checkpoint-every={wanted.checkpoint}"]
    if wanted.workers is not None:
        command.append(f"--workers={wanted.workers}")
    if _run([*command, *arguments], is_shown=stem == "notebook") != 0:
        raise errors.Error(f"job {name} did not finish; edl-jobs/{name} has its logs")
    made = wanted.model()
    load_trained(made, Path("edl-jobs", name))
    return made


def _run(command: list[str], is_shown: bool) -> int:
    """The exit code. `is_shown`: what it says goes through Python, which shows it in the cell."""
    sys.stdout.flush()
    with subprocess.Popen(command, env={**os.environ, "EDL_PYTHON": sys.executable},
                          stdout=subprocess.PIPE if is_shown else None,
                          stderr=subprocess.STDOUT if is_shown else None, text=True) as running:
        try:
            for line in running.stdout or ():
                print(line, end="", flush=True)
            return running.wait()
        except KeyboardInterrupt:
            running.send_signal(signal.SIGINT)  # it stops the job with a checkpoint
            running.wait()
            raise
