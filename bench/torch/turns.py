"""One worker of EDL and the plain loop, in turns of less than a second or a few steps, each stopped
while the other runs: a machine that is shared changes its speed from one second to the next by more
than the difference between them."""

import math
import os
import signal
import statistics
import subprocess
import threading
import time

from torch_jobs import ENGINES, LIMIT, EdlJob, environment, until

TURN_S, TURN_STEPS = 0.7, 6  # at least
SETTLE_S = 0.1


class PlainLoop:
    """A program that tells when it has made which step, until it is killed."""

    def __init__(self, command):
        self._told = []
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True,
                                         env=environment())
        self.pid = self._process.pid
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self._process.stdout:
            at, step = line.split()
            self._told.append((float(at), int(step)))

    def steps(self):
        return list(self._told)

    def end(self):
        self._process.kill()
        self._process.wait(LIMIT)


class OneWorker:
    def __init__(self, model, batch, logical, program):
        self._job = EdlJob(model, batch, logical, "--workers=1:1", "--checkpoint-every=off",
                           program=program, events=None)
        until(self.steps, "a step")
        self.pid = self._job.members()[0]["pid"]

    def steps(self):
        return [(event["time"], event["step"]) for event in self._job.events("step")]

    def end(self):
        self._job.end()


def step_s(steps):
    return (steps[-1][0] - steps[0][0]) / (steps[-1][1] - steps[0][1])


def rate_between(steps, begin, end):
    inside = [step for step in steps if begin <= step[0] <= end]
    return 1 / step_s(inside) if len(inside) > 1 else None


def in_turns(loops, seconds):
    """Steps a second of both, turn by turn; each has so many seconds in all. They are ended."""
    turns = []
    try:
        for loop in loops:
            until(lambda loop=loop: len(loop.steps()) > 4, "some steps")
            os.kill(loop.pid, signal.SIGSTOP)
        step = max(step_s(loop.steps()[-4:]) for loop in loops)
        turn_s = max(TURN_S, TURN_STEPS * step)
        for turn in range(max(2, math.ceil(seconds / turn_s))):
            for loop in loops if turn % 2 else loops[::-1]:
                os.kill(loop.pid, signal.SIGCONT)
                time.sleep(SETTLE_S + step)  # the step that was interrupted does not count
                begin = time.time()
                time.sleep(turn_s)
                turns.append((loop, begin, time.time()))
                os.kill(loop.pid, signal.SIGSTOP)
        for loop in loops:
            os.kill(loop.pid, signal.SIGCONT)
        time.sleep(1)  # until all is told
        told = {loop: loop.steps() for loop in loops}
    finally:
        for loop in loops:
            os.kill(loop.pid, signal.SIGCONT)
            loop.end()
    rates = [[rate_between(told[loop], begin, end) for who, begin, end in turns if who is loop]
             for loop in loops]
    return [pair for pair in zip(*rates) if None not in pair]


def one_worker_and_plain_loop(model, batch, logical, seconds, loop,
                              program=ENGINES / "torch_program"):
    """Two rows of a benchmark; `share` is of the plain loop, `between` half of all that were
    seen."""
    words = [model, batch, logical, 1_000_000, logical, "tell"]
    loops = [PlainLoop([*map(str, loop), *map(str, words)]),
             OneWorker(model, batch, logical, program)]
    pairs = in_turns(loops, seconds)
    shares = [one / plain for plain, one in pairs]
    rows = [{"model": model, "logical": logical, "way": way,
             "steps_per_second": round(statistics.median(rates), 3)}
            for way, rates in zip(("plain", "edl-1"), zip(*pairs))]
    rows[1]["share"] = round(statistics.median(shares), 4)
    rows[1]["between"] = [round(share, 3) for share in statistics.quantiles(shares)[::2]]
    return rows
