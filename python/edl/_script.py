"""A script or a notebook that calls `edl.train` by itself: it runs `edl run` on its own program and
waits for the model."""

from __future__ import annotations

import ctypes
import dataclasses
import itertools
import json
import os
import runpy
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from edl import errors
from edl.training import Settings

_PR_SET_PDEATHSIG = 1

# The jobs of this script's calls of edl.train, in their order: where each is, or what was
# raised. A worker of a later call is told those of the calls before it.
_calls: list[dict[str, str]] = []
_passed = 0  # calls in this process


def earlier_model(wanted: Settings) -> dict[str, Any] | None:
    """In a worker: what this call of edl.train has answered already, in the script that made the
    job. None when this is the call that the worker is for."""
    global _passed
    if _passed == len(_calls):
        return None
    _passed += 1
    return _answer(_calls[_passed - 1], wanted)


def run_here(wanted: Settings) -> dict[str, Any]:
    """`edl run` on this script, or on what is made of this notebook; the trained model."""
    from edl import _notebook
    from edl._files import edl_program

    is_notebook = _notebook.is_in_no_file()
    stem = "notebook" if is_notebook else _stem()
    name = next(name for name in (f"{stem}-{i}" for i in itertools.count(1))
                if not Path("edl-jobs", name).exists() and not Path("edl-programs", name).exists())
    folder = Path("edl-programs", name)
    if is_notebook:
        given = {field.name: getattr(wanted, field.name) for field in dataclasses.fields(Settings)
                 if getattr(wanted, field.name) is not field.default}
        program = [str(_notebook.write_program(folder, given))]
    else:
        program = [_own_program(folder), *sys.argv[1:]]
    command = [edl_program(), "run", f"--name={name}", f"--checkpoint-every={wanted.checkpoint}"]
    if wanted.workers is not None:
        command.append(f"--workers={wanted.workers}")
    code = _run([*command, *program], is_shown=is_notebook)
    _calls.append(_told(Path("edl-jobs", name).absolute(), code))
    return _answer(_calls[-1], wanted)


def _answer(call: dict[str, str], wanted: Settings) -> dict[str, Any]:
    from edl.checkpoints import load_trained

    if "failed" in call:
        raise errors.Error(call["failed"])
    made = wanted.model()
    load_trained(made, Path(call["job"]))
    return made


def _told(job: Path, code: int) -> dict[str, str]:
    """How a call ended: its job, or why it has no model."""
    try:
        with open(job / "events.jsonl", encoding="utf-8") as events:
            last = json.loads(list(events)[-1])
    except (OSError, ValueError, IndexError):
        last = {}
    if last.get("state") == "stopped":
        return {"failed": f"job {job.name} was stopped: edl resume {job.name} goes on with it"}
    if code == 0:
        return {"job": str(job)}
    why = f": {last['reason']}".rstrip(".") if last.get("event") == "failed" else ""
    logs = f"; edl-jobs/{job.name} has its logs" if job.exists() else ""
    return {"failed": f"job {job.name} did not finish{why}{logs}"}


# What workers run.


def _module() -> str:
    """How `python3 -m` was told this program; empty when it is a file."""
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    return "" if spec is None else str(spec.name)


def _file() -> str:
    return os.path.abspath(str(sys.modules["__main__"].__file__))


def _stem() -> str:
    letters = (c if c.isalnum() else "-" for c in
               (_module().removesuffix(".__main__") or Path(_file()).stem).lower())
    return "".join(letters).strip("-") or "job"


def _own_program(folder: Path) -> str:
    """This script; what runs it in a worker, where its path alone would not do."""
    if not _module() and not _calls and _file().endswith(".py"):
        return str(sys.modules["__main__"].__file__)
    arguments = {"file": _file(), "module": _module(), "calls": _calls,
                 "folder": os.getcwd() if _module() else os.path.dirname(_file())}
    folder.mkdir(parents=True)
    path = folder / "program.py"
    path.write_text("\n".join(["# Written by edl.train; edl resume loads it again.",
                               "from edl import _script", "",
                               f"_script.run_program(**{arguments!r})", ""]), encoding="utf-8")
    return str(path)


def run_program(file: str, module: str, folder: str, calls: list[dict[str, str]]) -> None:
    """In a worker: the script, as Python has started it, up to the call after these."""
    _calls.extend(calls)
    sys.path[0] = folder
    sys.argv[0] = file
    if module:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(file, run_name="__main__")


def refuse_tests() -> None:
    """A runner of tests would run all of them again in each worker, and go on behind the call."""
    frame = sys._getframe()
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if module == "unittest.case" or module.startswith("_pytest."):
            raise errors.InvalidError(
                "edl.train runs its program once more in each worker, and here that would be all "
                "tests: let the test start a script of its own, with python3 or edl run")
        frame = frame.f_back  # type: ignore[assignment]


def _run(command: list[str], is_shown: bool) -> int:
    """The exit code. `is_shown`: what it says goes through Python, which shows it in the cell."""
    sys.stdout.flush()
    prctl = ctypes.CDLL(None).prctl
    # In a session of its own, so that a terminal's Ctrl-C comes to it once, through us: a second
    # one kills its workers. When we die, it stops as if asked to.
    with subprocess.Popen(command, env={**os.environ, "EDL_PYTHON": sys.executable},
                          stdout=subprocess.PIPE if is_shown else None,
                          stderr=subprocess.STDOUT if is_shown else None, text=True,
                          start_new_session=True, preexec_fn=lambda: prctl(
                              _PR_SET_PDEATHSIG, signal.SIGTERM)) as running:
        is_interrupted = False
        while True:
            try:
                for line in running.stdout or ():
                    print(line, end="", flush=True)
                code = running.wait()
                break
            except KeyboardInterrupt:
                running.send_signal(signal.SIGINT)  # it stops the job with a checkpoint
                is_interrupted = True
    if is_interrupted:
        raise KeyboardInterrupt
    return code
