"""Looking at jobs and changing them, as the command `edl` does it.

A program that asks for four workers and waits for a job's end::

    import time
    import edl

    for job in [job["job"] for job in edl.jobs()]:
        if edl.status(job)["state"] == "running":
            print(edl.scale(job, 4, wait=True)["reason"])
        while edl.status(job)["state"] == "running":
            time.sleep(1)
        print(edl.verify(job)["verdict"], [view["cause"] for view in edl.explain(job)])
"""

from __future__ import annotations

import json
import subprocess
from typing import Any

from edl import errors
from edl._files import edl_program


def _ask(*words: str, may_say_no: bool = False) -> list[dict[str, Any]]:
    done = subprocess.run([edl_program(), *words, "--json"], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    answers = [json.loads(line) for line in done.stdout.splitlines() if line.strip()]
    if done.returncode != 0 and not (may_say_no and answers):
        said = done.stderr.strip().splitlines() or [f"edl {words[0]} ended with {done.returncode}"]
        kind = errors.NotFoundError if "there is no job" in said[-1] else errors.Error
        raise kind(said[-1].removeprefix("edl: "))
    return answers


def jobs() -> list[dict[str, Any]]:
    """The jobs of this folder, each as `status` tells it.

    >>> jobs()
    []
    """
    return _ask("status")


def status(job: str) -> dict[str, Any]:
    """Where a job is: its state, step, workers, and why."""
    return _ask("status", job)[0]


def scale(job: str, workers: int, wait: bool = False) -> dict[str, Any]:
    """Asks for so many workers; with `wait`, answers when they train."""
    return _ask("scale", job, f"--workers={workers}", *(["--wait"] if wait else []),
                may_say_no=True)[0]


def explain(job: str) -> list[dict[str, Any]]:
    """What each change of the workers cost, and why it was made."""
    return _ask("explain", job)


def verify(job: str) -> dict[str, Any]:
    """Whether every sample was trained on exactly once an epoch."""
    return _ask("verify", job, may_say_no=True)[0]


def stop(job: str) -> dict[str, Any]:
    """Stops a job with a checkpoint.

    >>> try:
    ...     stop("none")
    ... except errors.Error as wrong:
    ...     print("none" in str(wrong))
    True
    """
    return _ask("stop", job)[0]
