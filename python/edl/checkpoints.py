"""Checkpoints at a path of the program's own, beside those that the job writes by itself.

For example, to begin with what was saved before, and to save after each epoch::

    import os
    import edl, torch

    edl.init()
    net = torch.nn.Linear(64, 10)
    optimizer = edl.Optimizer(torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9))
    if os.path.isdir("saved"):
        print("trained before:", edl.load_checkpoint("saved")["step"], "steps")
    for epoch in edl.epochs(1):
        for x, y in edl.elastic_shard_generator(edl.datasets.digits(), batch=64):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(net(x), y).backward()
            optimizer.step()
        edl.save_checkpoint("saved")

What is saved is the state after the last step, which all workers share. It is written when that
step is stable: no worker's death can make it undone any more.
"""

from __future__ import annotations

import ctypes
import dataclasses
import errno
import hashlib
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

from edl import _core, errors, loop
from edl._files import read_tensors

_MANIFEST = "MANIFEST.json"
_STATE = "state.json"
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2


@dataclasses.dataclass
class _Wish:
    """A checkpoint that was asked for, and is not written yet."""
    folder: Path
    state: _core.StateCopy
    step: int

    def is_there(self) -> bool:
        """Whether this worker or another one has written it."""
        try:
            kept = json.loads((self.folder / _STATE).read_text())
            return (self.folder / _MANIFEST).exists() and \
                kept["user"]["state_hash"] == self.state.hash()
        except (OSError, ValueError, KeyError, TypeError):
            return False

    def write(self) -> None:
        beside = self.folder.with_name(f".{self.folder.name}.{os.getpid()}")
        try:
            shutil.rmtree(beside, ignore_errors=True)
            self.state.write(str(beside))
            _put(beside / "checkpoints" / str(self.step), self.folder)
        except (OSError, errors.Error) as wrong:
            # As with the job's own checkpoints: a disk that is full is no reason not to train.
            print(f"edl: cannot save {self.folder}: {wrong}", file=sys.stderr, flush=True)
        finally:
            shutil.rmtree(beside, ignore_errors=True)


def _put(made: Path, folder: Path) -> None:
    """Where another one is, both change places in one step; then the old one goes."""
    try:
        made.rename(folder)
    except OSError as wrong:
        if wrong.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        libc = ctypes.CDLL(None)
        if libc.renameat2(_AT_FDCWD, os.fsencode(made), _AT_FDCWD, os.fsencode(folder),
                          _RENAME_EXCHANGE) != 0:
            folder.rename(made.with_name("old"))  # a file system that cannot: in two steps
            made.rename(folder)
    holder = os.open(folder.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(holder)
    finally:
        os.close(holder)


class Wishes:
    """Of this worker. The one of rank 0 writes; who does not find it a step later does, too."""

    def __init__(self) -> None:
        self._asked: list[Path] = []  # by a hook, of the step that is being applied
        self._waiting: list[_Wish] = []
        self._is_applying = False

    def ask(self, folder: Path) -> None:
        now = _core.facts()
        if now.rank < 0 or (not self._is_applying and loop.is_late(now.step)):
            return  # those who computed the step save it
        if self._is_applying:
            self._asked.append(folder)
        else:
            self._take(folder, now)

    def begin_apply(self, step: int) -> None:
        """Reduced numbers of this step are there: all have the one before, so it is stable."""
        self._is_applying = True
        if self._waiting:
            rank = _core.facts().rank
            for wish in [wish for wish in self._waiting if wish.step < step]:
                is_due = rank == 0 or wish.step + 1 < step
                if is_due:
                    self._fulfil(wish)

    def end_apply(self) -> None:
        self._is_applying = False
        asked, self._asked = self._asked, []
        for folder in asked:
            self._take(folder, _core.facts())

    def end(self) -> None:
        """The worker has ended. When the job has, too, its last step is stable."""
        if _core.facts().end != _core.TRAINS:
            for wish in list(self._waiting):
                self._fulfil(wish)

    def _take(self, folder: Path, now: _core.Facts) -> None:
        wish = _Wish(folder, _core.StateCopy(), now.step)
        self._waiting = [other for other in self._waiting if other.folder != folder]
        self._waiting.append(wish)
        if now.end != _core.TRAINS:
            self._fulfil(wish)

    def _fulfil(self, wish: _Wish) -> None:
        self._waiting.remove(wish)
        if not wish.is_there():
            wish.write()


wishes = Wishes()


def save_checkpoint(path: str | os.PathLike[str]) -> None:
    """Saves the state after the last step in a folder at `path`: in the loop, behind it, or in a
    hook.

    Every worker may call it; one of them writes. The folder has the files of a checkpoint
    (``model.safetensors``, ``optimizer.safetensors``, ...), the same bytes whoever trained, and is
    whole or not there at any moment. One that is there already is replaced. It is written when the
    step is stable, which is when the next one is computed, or the job ends.
    """
    folder = Path(path).absolute()
    if folder.exists() and not (folder / _MANIFEST).exists():
        raise errors.InvalidError(f"{path} is there and is no checkpoint: give another path")
    if not folder.parent.is_dir():
        raise errors.NotFoundError(f"there is no folder {folder.parent} to save a checkpoint in")
    wishes.ask(folder)


def read_checkpoint(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What `state.json` says, and the tensors by their names in the state, of a checkpoint or of a
    file of weights."""
    where = Path(path)
    if where.is_file():
        return {}, {f"model/{name}": tensor for name, tensor in read_tensors(where).items()}
    try:
        manifest = json.loads((where / _MANIFEST).read_text())
        for one in manifest["files"]:
            with open(where / one["name"], "rb") as file:
                if hashlib.sha256(file.read()).hexdigest() != one["sha256"]:
                    raise errors.CorruptError(f"{where / one['name']} is not as it was written: "
                                              "its SHA-256 is another one")
        state = json.loads((where / _STATE).read_text())
    except FileNotFoundError as wrong:
        raise errors.NotFoundError(f"{path} is neither a checkpoint nor a file of weights: "
                                   f"{wrong.filename} is not there") from wrong
    except (KeyError, TypeError, ValueError) as wrong:
        raise errors.CorruptError(f"{path} is no checkpoint: {wrong}") from wrong
    tensors = {}
    for kind in ("model", "optimizer", "user"):
        file_path = where / f"{kind}.safetensors"
        if file_path.exists():
            tensors.update({f"{kind}/{name}": tensor
                            for name, tensor in read_tensors(file_path).items()})
    return state, tensors


def load_trained(made: dict[str, Any], job: Path) -> None:
    """Into what `model()` has made: all that the job's last checkpoint has."""
    import torch

    from edl._groups import Groups
    from edl._optimizer_state import OptimizerState
    from edl._schedule_state import schedulers_in
    from edl._tensors import UnsavedBuffers, is_state, load_model, named_tensors

    last = max((job / "checkpoints").iterdir(), key=lambda path: int(path.name))
    tensors = read_checkpoint(last)[1]
    load_model(made, {name[len("model/"):]: tensor for name, tensor in tensors.items()
                      if name.startswith("model/")})
    once = {id(one): (name, one) for name, one in reversed(named_tensors(made, "_parameters"))}
    optimizer = OptimizerState(made["optimizer"], list(once.values()))
    groups = Groups(made["optimizer"], schedulers_in(made), "user/edl.schedule" in tensors)
    registered = [(f"user/{name}", value) for name, value in made.items() if is_state(value)]
    with torch.no_grad():
        for name, tensor in (*optimizer.tensors(), *groups.tensors(), *registered,
                             *UnsavedBuffers(made).tensors()):
            tensor.copy_(tensors[name])
    optimizer.loaded()
    groups.loaded()


def check_names(path: str | os.PathLike[str], given: dict[str, Any], own: dict[str, Any]) -> None:
    """The tensors of the file are those of the program, with its shapes."""
    for name in sorted(own.keys() | given.keys()):
        if name not in given:
            raise errors.InvalidError(f"{path} has no {name}, which the program has")
        if name not in own:
            raise errors.InvalidError(f"{path} has {name}, which the program has not")
        if given[name].shape != own[name].shape:
            raise errors.InvalidError(
                f"{path} has {name} of shape {tuple(given[name].shape)}, and the program one of "
                f"{tuple(own[name].shape)}")
