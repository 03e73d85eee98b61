#!/usr/bin/python3
"""Steps a second with real models: EDL with one and two workers, the plain loop of libtorch, and
PyTorch's DistributedDataParallel (gloo), all on one thread a process, interleaved, medians.

  torch_speed [--json=FILE] [--models=0.4M,11M,25M,resnet18] [--logical=2,8]
              [--rounds=3] [--seconds=8]

`ceiling` is two processes of the plain loop that do half of the parts each and know nothing of each
other. `share` is of the plain loop for one worker, in turns with it (`between`: half of all that
were seen), and of the ceiling for two.
"""

import statistics
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "engines"))
from torch_jobs import ENGINES, LIMIT, environment, free_port, main, steps_a_second  # noqa: E402
from turns import one_worker_and_plain_loop  # noqa: E402

BATCH = {"0.4M": 128, "11M": 128, "25M": 128, "resnet18": 16}


def answers(commands):
    """What processes that run at the same time print last, as numbers; None of those that print
    nothing."""
    running = [subprocess.Popen(c, stdout=subprocess.PIPE, text=True, env=environment())
               for c in commands]
    outputs = [process.communicate(timeout=LIMIT)[0] for process in running]
    if any(process.returncode != 0 for process in running):
        raise RuntimeError(f"{commands[0]} failed")
    return [float(output.split()[-1]) if output.split() else None for output in outputs]


def ceiling(model, logical, seconds):
    command = [ENGINES / "torch_plain", model, str(BATCH[model]), str(logical), str(seconds),
               str(logical // 2)]
    return min(answers([command] * 2))


def ddp(model, logical, seconds):
    port = str(free_port())
    return answers([["/usr/bin/python3", ENGINES / "ddp.py", model, str(BATCH[model]),
                     str(logical), str(seconds), str(rank), "2", port] for rank in range(2)])[0]


def edl(model, logical, seconds, workers):
    return steps_a_second(model, BATCH[model], logical, seconds, workers)


def measure(model, options):
    for logical in options.logical.split(","):
        yield from compare(model, int(logical), options)


def compare(model, logical, options):
    seconds = options.seconds
    rows = one_worker_and_plain_loop(model, BATCH[model], logical, seconds * options.rounds,
                                     loop=[ENGINES / "torch_plain"])
    ways = {"ceiling": lambda: ceiling(model, logical, seconds),
            "edl-2": lambda: edl(model, logical, seconds, 2),
            "ddp-2": lambda: ddp(model, logical, seconds)}
    seen = {way: [] for way in ways}
    for _ in range(options.rounds):
        for way, run in ways.items():
            seen[way].append(run())
    for way, rates in seen.items():
        shares = [rate / other for rate, other in zip(rates, seen["ceiling"])]
        rows.append({"model": model, "logical": logical, "way": way,
                     "steps_per_second": round(statistics.median(rates), 3),
                     "share": round(statistics.median(shares), 4)})
    ahead = [one / other for one, other in zip(seen["edl-2"], seen["ddp-2"])]
    rows[-1]["edl_against_ddp"] = round(statistics.median(ahead), 4)
    return rows


def add_options(parser):
    parser.add_argument("--logical", default="2,8")
    parser.add_argument("--seconds", type=float, default=8)


if __name__ == "__main__":
    sys.exit(main("torch_speed", __doc__, "0.4M,11M,25M,resnet18", measure, add_options))
