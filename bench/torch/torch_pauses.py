#!/usr/bin/python3
"""How long a change keeps real torch workers from training: EDL, and torchrun's elastic restart,
one after the other in each round; medians.

  torch_pauses [--json=FILE] [--models=0.4M,11M,25M] [--rounds=3]

`add` is 2 workers and one more, `remove` takes it away, `kill` is kill -9 of a worker,
`kill_leader` of the one that leads (torchrun has none that could be killed alone). `pause_ms` is
the longest time between two completed steps around the change, less a median step; `told_ms` what
EDL says of itself; `redone` steps are those that were completed before and are computed again.
torchrun is tuned: it looks at its workers every 0.1 s, waits 1 s for more nodes, and saves every 10
steps.
"""

import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "engines"))
from torch_jobs import ENGINES, LIMIT, EdlJob, environment, free_port, main, until  # noqa: E402

BATCH = 96
STEPS_BETWEEN = 30
SECONDS_BETWEEN = 3  # at least, so that who notices a change late is seen to do so


def pause_of(steps, at):
    """Of steps (time, number, workers): the longest gap from `at` on, and steps computed again."""
    gaps = [(after[0] - before[0], before[0]) for before, after in zip(steps, steps[1:])]
    usual = statistics.median(gap for gap, begin in gaps if begin < at)
    longest = max(gap for gap, begin in gaps if begin > at - usual)
    done = max((number for when, number, _ in steps if when <= at), default=0)
    first = next(i for i, (gap, begin) in enumerate(gaps) if gap == longest and begin > at - usual)
    redone = max(0, max(done, steps[first][1]) + 1 - steps[first + 1][1])
    return 1000 * (longest - usual), redone


class Job:
    """What both have in common: steps as they are completed, and waiting for them."""

    def settle(self, workers, since=0.0):
        """Until so many have trained together for a while."""
        def together():
            last = [step for step in self.steps() if step[0] > since][-STEPS_BETWEEN:]
            return (len(last) == STEPS_BETWEEN and last[-1][0] > since + SECONDS_BETWEEN
                    and all(step[2] == workers for step in last))
        until(together, f"{workers} workers")

    def change(self, act, workers):
        at = time.time()
        act()
        self.settle(workers, at)
        return pause_of(self.steps(), at)


class Edl(Job):
    def __init__(self, model):
        self.job = EdlJob(model, BATCH, 6, "--workers=1:3", "--start=2")
        self.settle(2)

    def steps(self):
        return [(e["time"], e["step"], e["workers"]) for e in self.job.events("step")]

    def told(self):
        return [e for e in self.job.events("view") if "pause_ms" in e][-1]["pause_ms"]

    def scale(self, workers):
        self.job.ask("scale", f"--workers={workers}")

    def pids(self):
        workers = self.job.members()
        return ([w["pid"] for w in workers if not w["leader"]],
                [w["pid"] for w in workers if w["leader"]])

    def changes(self):
        yield "add", lambda: self.scale(3), 3
        yield "remove", lambda: self.scale(2), 2
        follower = self.pids()[0][0]
        yield "kill", lambda: os.kill(follower, signal.SIGKILL), 2
        leader = self.pids()[1][0]
        yield "kill_leader", lambda: os.kill(leader, signal.SIGKILL), 2

    def end(self):
        self.job.end()


class Torchrun(Job):
    def __init__(self, model):
        self.folder = Path(tempfile.mkdtemp(prefix="torchrun-pauses-"))
        self.port = free_port()
        self.model, self.agents = model, []
        for _ in range(2):
            self.add()
        self.settle(2)

    def add(self):
        self.agents.append(subprocess.Popen(
            ["/usr/bin/python3", "-m", "torch.distributed.run", "-r", "1", "-t", "1",
             "--nnodes=1:3", "--nproc_per_node=1", "--max_restarts=100", "--monitor_interval=0.1",
             "--rdzv_backend=c10d", f"--rdzv_endpoint=127.0.0.1:{self.port}", "--rdzv_id=pauses",
             "--rdzv_conf=join_timeout=60,last_call_timeout=1", ENGINES / "ddp_elastic.py",
             self.model, str(BATCH), str(self.folder), "10"],
            cwd=self.folder, env=environment(), stdout=subprocess.DEVNULL,
            stderr=open(self.folder / f"agent-{len(self.agents)}", "w"), start_new_session=True))

    def steps(self):
        try:
            lines = (self.folder / "steps").read_text().splitlines()
        except OSError:
            return []
        rows = [line.split() for line in lines]
        return [(float(row[0]), int(row[1]), int(row[2])) for row in rows if len(row) == 3]

    def worker_of(self, agent):
        listing = subprocess.run(["ps", "--ppid", str(agent.pid), "-o", "pid=,args="], text=True,
                                 stdout=subprocess.PIPE, check=True).stdout
        return next(int(line.split()[0]) for line in listing.splitlines()
                    if "ddp_elastic.py" in line)

    def remove(self):
        agent = self.agents.pop()
        agent.terminate()

    def changes(self):
        yield "add", self.add, 3
        yield "remove", self.remove, 2
        worker = self.worker_of(self.agents[-1])
        yield "kill", lambda: os.kill(worker, signal.SIGKILL), 2

    def end(self):
        for agent in self.agents:
            os.killpg(agent.pid, signal.SIGKILL)
            agent.wait(LIMIT)
        shutil.rmtree(self.folder, ignore_errors=True)


def measure(model, options):
    seen = {}
    for _ in range(options.rounds):
        for kind in (Edl, Torchrun):
            job = kind(model)
            try:
                for name, act, workers in job.changes():
                    pause, redone = job.change(act, workers)
                    told = job.told() if kind is Edl else None
                    seen.setdefault((kind.__name__.lower(), name), []).append((pause, told, redone))
            finally:
                job.end()
    for (way, change), costs in seen.items():
        row = {"model": model, "way": way, "change": change,
               "pause_ms": round(statistics.median(cost[0] for cost in costs), 1),
               "redone": max(cost[2] for cost in costs)}
        if way == "edl":
            row["told_ms"] = round(statistics.median(cost[1] for cost in costs), 1)
        yield row


if __name__ == "__main__":
    sys.exit(main("torch_pauses", __doc__, "0.4M,11M,25M", measure))
