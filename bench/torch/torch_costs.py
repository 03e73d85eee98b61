#!/usr/bin/python3
"""What EDL costs beside training, with real models and one worker; medians.

  torch_costs [--json=FILE] [--models=0.4M,11M,25M,resnet18] [--rounds=3] [--seconds=40]

`stall_percent` is how much longer steps take while checkpoints are written at the default setting:
the time of all steps against as many median steps of the same job without checkpoints, one beside
the other in each round. `told_percent` is what the job says itself (stall_ms). `start_ms` is from a
worker's start to the first step that it trains; `memory_mib` what a worker of two holds
for itself,
`bill_mib` what the job said it would take.
"""

import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "engines"))
from torch_jobs import EdlJob, main, until  # noqa: E402

BATCH = {"0.4M": 128, "11M": 128, "25M": 128, "resnet18": 16}
LOGICAL = 4


def trained(model, seconds, checkpoints):
    """Seconds a step after the first fifth; the share of checkpoints in it, and their number."""
    job = EdlJob(model, BATCH[model], LOGICAL, "--workers=1", f"--checkpoint-every={checkpoints}")
    try:
        until(lambda: len(job.events("step")) > 2, "steps")
        begin = job.events("step")[0]["time"]
        until(lambda: job.events("step")[-1]["time"] - begin > seconds, "more steps", seconds + 60)
        times = [event["time"] for event in job.events("step")]
        times = times[len(times) // 5:]
        written = [e for e in job.events("checkpoint") if e["time"] > times[0]]
        stalled = sum(e["stall_ms"] for e in written) / 1000 / (times[-1] - times[0])
        return (times[-1] - times[0]) / (len(times) - 1), stalled, len(written)
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
    with_them, without, told, written, starts, memory = [], [], [], 0, [], []
    for _ in range(options.rounds):
        without.append(trained(model, options.seconds, "off")[0])
        took, stalled, count = trained(model, options.seconds, "auto")
        with_them.append(took)
        told.append(stalled)
        written += count
        start, bytes_ = of_a_worker(model)
        starts.append(start)
        memory.append(bytes_)
    ratio = statistics.median(a / b for a, b in zip(with_them, without))
    yield {"model": model, "stall_percent": round(100 * (ratio - 1), 2),
           "told_percent": round(100 * statistics.median(told), 2), "checkpoints": written,
           "start_ms": round(statistics.median(starts), 1),
           "memory_mib": round(statistics.median(memory) / (1 << 20), 1)}


if __name__ == "__main__":
    sys.exit(main("torch_costs", __doc__, "0.4M,11M,25M,resnet18", measure,
                  lambda parser: parser.add_argument("--seconds", type=float, default=40)))
