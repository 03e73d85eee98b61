#!/usr/bin/python3
"""What EDL costs beside training, with real models and one worker; medians.

  torch_costs [--json=FILE] [--models=0.4M,11M,25M,resnet18] [--rounds=3] [--seconds=20]
              [--every=5s]

`stall_ms` is how long a checkpoint keeps training waiting, `write_ms` how long it is written beside
that; `stall_percent` the share of stalls in the time, with one every 5 s, or as EDL chooses
(`--every=auto`, the first one after about half a minute: give it some minutes).
`start_ms` is from a worker's start to the first step that it trains; `memory_mib` what a worker of
two holds for itself.
"""

import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "engines"))
from torch_jobs import EdlJob, main, until  # noqa: E402

BATCH = {"0.4M": 128, "11M": 128, "25M": 128, "resnet18": 16}
LOGICAL = 4


def checkpoints(model, seconds, every):
    """Those that a job has written, and their share of the time."""
    job = EdlJob(model, BATCH[model], LOGICAL, "--workers=1", f"--checkpoint-every={every}")
    try:
        until(lambda: job.events("step"), "a step")
        begin = job.events("step")[0]["time"]
        until(lambda: job.events("step")[-1]["time"] - begin > seconds, "more steps", seconds + 60)
        written = job.events("checkpoint")
        took = job.events("step")[-1]["time"] - begin
        return written, sum(event["stall_ms"] for event in written) / 10 / took
    finally:
        job.end()


def private_bytes(pid):
    fields = dict(line.split(":") for line in Path(f"/proc/{pid}/status").read_text().splitlines()
                  if ":" in line)
    return sum(int(fields[name].split()[0]) for name in ("RssAnon", "RssShmem")) << 10


def of_a_worker(model):
    """Milliseconds from a worker's start to its first step, and its memory beside another."""
    job = EdlJob(model, BATCH[model], LOGICAL, "--workers=1:2", "--start=1",
                 "--checkpoint-every=off")
    try:
        until(lambda: len(job.events("step")) > 20, "steps")
        known = {event["id"] for event in job.events("worker")}
        job.ask("scale", "--workers=2")
        until(lambda: sum(e["workers"] == 2 for e in job.events("step")) > 20, "two workers")
        started = next(e["time"] for e in job.events("worker")
                       if e["id"] not in known and e["state"] == "starting")
        first = next(e["time"] for e in job.events("step") if e["workers"] == 2)
        memory = [private_bytes(member["pid"]) for member in job.members()]
        return 1000 * (first - started), max(memory)
    finally:
        job.end()


def measure(model, options):
    written, shares, starts, memory = [], [], [], []
    for _ in range(options.rounds):
        events, share = checkpoints(model, options.seconds, options.every)
        written += events
        shares.append(share)
        start, held = of_a_worker(model)
        starts.append(start)
        memory.append(held)
    yield {"model": model, "checkpoints": len(written),
           "stall_ms": round(statistics.median(e["stall_ms"] for e in written), 2),
           "write_ms": round(statistics.median(e["write_ms"] for e in written), 1),
           "stall_percent": round(statistics.median(shares), 3),
           "start_ms": round(statistics.median(starts), 1),
           "memory_mib": round(statistics.median(memory) / (1 << 20), 1)}


def add_options(parser):
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--every", metavar="WHEN", default="5s")


if __name__ == "__main__":
    sys.exit(main("torch_costs", __doc__, "0.4M,11M,25M,resnet18", measure, add_options))
