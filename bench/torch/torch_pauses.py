#!/usr/bin/python3
"""How long a change keeps real torch workers from training: EDL, and torchrun's elastic restart,
one after the other in each round; medians.

  torch_pauses [--json=FILE] [--models=0.4M,11M,25M] [--rounds=3] [--batch=32] [--logical=2]

`add` is a worker and one more, `kill` is kill -9 of one of two, `kill_leader` of the one that leads
(torchrun has none that could be killed alone), `remove` takes one of two away. `pause_ms` is the
longest time between two completed steps around the change, less a median step; `told_ms` what EDL
says of the change itself, `rejoin_ms` of the one in which a successor joins; `redone` steps are
those that were completed before and are computed again. When one of two dies the other computes
its parts too, so no pause is shorter than these take: V / 2 parts. torchrun is tuned: it looks at
its workers every 0.1 s, waits 1 s for more nodes, and saves every 10 steps.
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

STEPS_BETWEEN = 30
SECONDS_BETWEEN = 3  # at least, so that who notices a change late is seen to do so


def pause_of(steps, at):
    """Of steps (time, number, workers): the longest gap that ends after `at`, less a usual one, and
    steps that were computed again."""
    gaps = [(after[0] - before[0], i) for i, (before, after) in enumerate(zip(steps, steps[1:]))]
    usual = statistics.median(gap for gap, i in gaps if steps[i + 1][0] < at)
    longest, first = max((gap, i) for gap, i in gaps if steps[i + 1][0] >= at)
    done = max((number for when, number, _ in steps if when <= at), default=0)
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
    def __init__(self, model, options):
        self.job = EdlJob(model, options.batch, options.logical, "--workers=1:2", "--start=1")
        self.settle(1)

    def steps(self):
        return [(e["time"], e["step"], e["workers"]) for e in self.job.events("step")]

    def told(self, change):
        """Of the last change of this kind, and of the joins behind it."""
        views = [e for e in self.job.events("view") if "pause_ms" in e]
        of = {"add": ("join", "scale"), "remove": ("scale", "leave"),
              "kill": ("death",), "kill_leader": ("death",)}[change]
        last = max(i for i, view in enumerate(views) if view["cause"] in of)
        rejoined = [view["pause_ms"] for view in views[last + 1:]]
        return views[last]["pause_ms"], max(rejoined, default=None)

    def scale(self, workers):
        self.job.ask("scale", f"--workers={workers}")

    def pids(self):
        workers = self.job.members()
        return ([w["pid"] for w in workers if not w["leader"]],
                [w["pid"] for w in workers if w["leader"]])

    def changes(self):
        yield "add", lambda: self.scale(2), 2
        follower = self.pids()[0][0]
        yield "kill", lambda: os.kill(follower, signal.SIGKILL), 2
        leader = self.pids()[1][0]
        yield "kill_leader", lambda: os.kill(leader, signal.SIGKILL), 2
        yield "remove", lambda: self.scale(1), 1

    def end(self):
        self.job.end()


class Torchrun(Job):
    def __init__(self, model, options):
        self.folder = Path(tempfile.mkdtemp(prefix="torchrun-pauses-"))
        self.port = free_port()
        self.model, self.batch, self.agents = model, options.batch, []
        self.add()
        self.settle(1)

    def add(self):
        self.agents.append(subprocess.Popen(
            ["/usr/bin/python3", "-m", "torch.distributed.run", "-r", "1", "-t", "1",
             "--nnodes=1:2", "--nproc_per_node=1", "--max_restarts=100", "--monitor_interval=0.1",
             "--rdzv_backend=c10d", f"--rdzv_endpoint=127.0.0.1:{self.port}", "--rdzv_id=pauses",
             "--rdzv_conf=join_timeout=60,last_call_timeout=1", ENGINES / "ddp_elastic.py",
             self.model, str(self.batch), str(self.folder), "10"],
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
        yield "add", self.add, 2
        worker = self.worker_of(self.agents[-1])
        yield "kill", lambda: os.kill(worker, signal.SIGKILL), 2
        yield "remove", self.remove, 1

    def end(self):
        for agent in self.agents:
            os.killpg(agent.pid, signal.SIGKILL)
            agent.wait(LIMIT)
        shutil.rmtree(self.folder, ignore_errors=True)


def measure(model, options):
    seen = {}
    for _ in range(options.rounds):
        for kind in (Edl, Torchrun):
            job = kind(model, options)
            try:
                for name, act, workers in job.changes():
                    pause, redone = job.change(act, workers)
                    told = job.told(name) if kind is Edl else (None, None)
                    seen.setdefault((kind.__name__.lower(), name), []).append(
                        (pause, redone, *told))
            finally:
                job.end()
    for (way, change), costs in seen.items():
        row = {"model": model, "way": way, "change": change,
               "pause_ms": round(statistics.median(cost[0] for cost in costs), 1),
               "redone": max(cost[1] for cost in costs)}
        for field, name in ((2, "told_ms"), (3, "rejoin_ms")):
            told = [cost[field] for cost in costs if cost[field] is not None]
            if told:
                row[name] = round(statistics.median(told), 1)
        yield row


def add_options(parser):
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--logical", type=int, default=2)


if __name__ == "__main__":
    sys.exit(main("torch_pauses", __doc__, "0.4M,11M,25M", measure, add_options))
