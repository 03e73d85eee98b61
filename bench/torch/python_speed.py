#!/usr/bin/python3
"""Steps a second in Python: EDL with one and two workers, the plain loop of PyTorch, and
DistributedDataParallel (gloo), all on one thread a process, interleaved, medians.

  python_speed [--json=FILE] [--models=0.4M,11M] [--logical=2,8] [--rounds=3] [--seconds=8]
               [--python=PATH]

`share` is of the plain loop, beside which one worker runs in turns; `edl_against_ddp` compares two
workers. PATH is the interpreter for everybody, with the torch that it has; Debian's when not given.
"""

import os
import statistics
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "engines"))
from torch_jobs import ENGINES, LIMIT, environment, free_port, main, steps_a_second  # noqa: E402
from turns import one_worker_and_plain_loop  # noqa: E402

BATCH = 128


def ddp(python, model, logical, seconds):
    port = free_port()
    words = [python, ENGINES / "ddp.py", model, BATCH, logical, seconds]
    other = subprocess.Popen([*map(str, [*words, 1, 2, port])], env=environment())
    try:
        done = subprocess.run([*map(str, [*words, 0, 2, port])], stdout=subprocess.PIPE, text=True,
                              env=environment(), timeout=LIMIT, check=True)
        return float(done.stdout.split()[-1])
    finally:
        other.wait(LIMIT)


def measure(model, options):
    os.environ["EDL_PYTHON"] = options.python
    for logical in map(int, options.logical.split(",")):
        yield from one_worker_and_plain_loop(
            model, BATCH, logical, options.seconds * options.rounds,
            [options.python, ENGINES / "plain.py"], ENGINES / "torch_program.py")
        ways = {"edl-2": lambda: steps_a_second(model, BATCH, logical, options.seconds, 2,
                                                ENGINES / "torch_program.py"),
                "ddp-2": lambda: ddp(options.python, model, logical, options.seconds)}
        seen = {way: [] for way in ways}
        for _ in range(options.rounds):
            for way, run in ways.items():
                seen[way].append(run())
        for way, rates in seen.items():
            row = {"model": model, "logical": logical, "way": way,
                   "steps_per_second": round(statistics.median(rates), 3)}
            if way == "edl-2":
                row["edl_against_ddp"] = round(statistics.median(
                    a / b for a, b in zip(rates, seen["ddp-2"])), 4)
            yield row


def add_options(parser):
    parser.add_argument("--logical", default="2,8")
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--python", metavar="PATH", default="/usr/bin/python3")


if __name__ == "__main__":
    sys.exit(main("python_speed", __doc__, "0.4M,11M", measure, add_options))
