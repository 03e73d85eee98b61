"""Jobs of EDL with measured models, for the benchmarks beside this file."""

import argparse
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

BENCH = Path(__file__).resolve().parent.parent  # where it is copied to: bench/engines
EDL = BENCH.parent / "bin/edl"
ENGINES = BENCH / "engines"
LIMIT = 600


def blas_core():
    """The kernels that EDL asks of OpenBLAS here. Debian's does not know newer processors, and
    takes its slowest: nobody should win by that."""
    flags = Path("/proc/cpuinfo").read_text().split("flags", 1)[-1].split("\n", 1)[0].split()
    core = "SkylakeX" if "avx512f" in flags else "Haswell" if "avx2" in flags else None
    return {"OPENBLAS_CORETYPE": core} if core else {}


def environment(**more):
    """One thread a process and the same BLAS, for everybody who is compared."""
    return dict({**blas_core(), **os.environ}, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1",
                MKL_NUM_THREADS="1", TORCH_CPP_LOG_LEVEL="ERROR", PYTHONDONTWRITEBYTECODE="1",
                **more)


def free_port():
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        return door.getsockname()[1]


def until(seen, what, limit=LIMIT):
    end = time.monotonic() + limit
    while not (found := seen()):
        if time.monotonic() > end:
            raise RuntimeError(f"{what}: not within {limit} s")
        time.sleep(0.02)
    return found


class EdlJob:
    """A running job, and the events that it has told so far."""

    def __init__(self, model, batch, logical, *options, program=ENGINES / "torch_program",
                 events="all"):
        self.folder = Path(tempfile.mkdtemp(prefix="edl-bench-"))
        self.dir = self.folder / "job"
        self.told = []
        self.process = subprocess.Popen(
            [EDL, "run", *options, "--json", *([f"--events={events}"] if events else []),
             f"--dir={self.dir}", "--name=bench", program, model, str(batch), str(logical)],
            stdout=subprocess.PIPE, text=True, env=environment())
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.told.append(json.loads(line))

    def events(self, kind):
        for event in list(self.told):
            if event["event"] == "failed":
                raise RuntimeError(event["reason"])
        return [event for event in list(self.told) if event["event"] == kind]

    def ask(self, *command):
        answer = subprocess.run([EDL, *command[:1], self.dir, *command[1:], "--json"], check=True,
                                stdout=subprocess.PIPE)
        return json.loads(answer.stdout)

    def members(self):
        return [w for w in self.ask("status")["workers"] if w["state"] == "member"]

    def end(self):
        self.process.terminate()
        self.process.wait(LIMIT)
        self.reader.join(LIMIT)
        shutil.rmtree(self.folder, ignore_errors=True)


def steps_a_second(model, batch, logical, seconds, workers, program=ENGINES / "torch_program"):
    """From the times of the steps that a job tells, as many as it does by itself."""
    job = EdlJob(model, batch, logical, f"--workers={workers}:{workers}", "--checkpoint-every=off",
                 program=program, events=None)
    try:
        until(lambda: job.events("step"), "a step")
        first = job.events("step")[0]["time"]
        until(lambda: job.events("step")[-1]["time"] - first > seconds, "more steps", seconds + 60)
        told = [(event["time"], event["step"]) for event in job.events("step")]
        told = told[len(told) // 5:]  # the first steps find everything cold
        return statistics.median((after[1] - before[1]) / (after[0] - before[0])
                                 for before, after in zip(told, told[1:]))
    finally:
        job.end()


def main(name, described, models, measure, add_options=lambda parser: None):
    """A benchmark's main: `measure(model, options)` yields rows."""
    parser = argparse.ArgumentParser(prog=name, description=described,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--models", default=models)
    parser.add_argument("--rounds", type=int, default=3)
    add_options(parser)
    options = parser.parse_args(sys.argv[1:])
    rows = []
    for model in options.models.split(","):
        for row in measure(model, options):
            rows.append(row)
            print("  ".join(f"{key} {value}" for key, value in row.items()), flush=True)
    if options.json:
        Path(options.json).write_text(json.dumps(rows))
    return 0
