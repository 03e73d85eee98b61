"""One schedule of a storm: a real job with faults drawn from a seed, and what must hold after
it."""

import collections
import random
import signal
import time

from train_job import PHASES, Wrong, check_finished, send

# Phases that only happen when somebody joins or a view changes need a death before them.
OF_CHANGES = {"snapshot", "replay", "promise", "handover", "publish"}
SIGNALS = ("kill", "stop", "term", "scale", "leader", "store")
PLAN_MAX = 4  # things that are done from outside in one schedule
SECONDS_MAX = 150.0  # of one schedule, on a busy machine


class Schedule:
    """What is done to the job of one seed. The phases go round, so that each is hit as often."""

    def __init__(self, seed, number):
        draw = random.Random(f"{seed}/{number}")
        self.number = number
        self.name = f"s{number}"
        self.workers = draw.choice((2, 3, 3, 4, 5))
        self.steps = draw.randrange(300, 600)
        self.work = draw.choice((1, 2, 4))
        self.every = draw.choice((20, 30, 50))
        self.faults = []
        for phase in self._phases(draw):
            step = draw.randrange(10, self.steps // 2)
            if phase in OF_CHANGES:
                self.faults.append(("compute", step, "kill"))
            action = draw.choice(("kill", "kill", "kill", f"stop:{draw.randrange(1, 600)}"))
            self.faults.append((phase, step, action))
        self.plan = [(draw.choice(SIGNALS), draw.uniform(0.02, 0.3), draw.random())
                     for _ in range(draw.randrange(PLAN_MAX + 1))]

    def _phases(self, draw):
        first = PHASES[self.number % len(PHASES)]
        return [first, *draw.sample(PHASES, draw.randrange(3))]

    def __str__(self):
        plan = ", ".join(f"{what} after {pause:.2f} s" for what, pause, _ in self.plan)
        return (f"{self.workers} workers, {self.steps} steps, work {self.work}, "
                f"{self.options()[3:]}; {plan}")

    def options(self):
        return [f"--workers=1:{self.workers + 1}", f"--start={self.workers}",
                f"--steps={self.steps}", f"--checkpoint-every={self.every}steps",
                *(f"--fault={phase}@{step}={action}" for phase, step, action in self.faults)]


class Storm:
    """Runs schedules in a folder and counts what struck."""

    def __init__(self, place):
        self.place = place
        self.references = {}
        self.struck = collections.Counter()  # by phase
        self.done = collections.Counter()  # from outside
        self.causes = collections.Counter()  # of views
        self.lost = 0

    def reference(self, steps):
        if steps not in self.references:
            name = f"reference-{steps}"
            job = self.place.run(name, "--workers=1", f"--steps={steps}", "--checkpoint-every=off")
            if job.end() != 0:
                raise Wrong(f"the reference failed\n{job.account()}")
            self.references[steps] = self.place.model(name)
        return self.references[steps]

    def run(self, schedule):
        """Raises Wrong when something does not hold."""
        name = schedule.name
        job = self.place.run(name, *schedule.options(),
                             program=["builtin:mlp", f"--work={schedule.work}"])
        stopped = []
        job.wait_for(lambda e: e["event"] == "step", "a step")
        for what, pause, chance in schedule.plan:
            time.sleep(pause)
            if job.process.poll() is not None:
                break
            self.disturb(job, schedule, what, chance, stopped)
        for pid in stopped:
            send(pid, signal.SIGCONT)
        code = job.end(SECONDS_MAX)
        if code != 0:
            raise Wrong(f"it ended with {code}\n{job.account()}\n{self.place.logs(name)}")
        self.check(schedule)

    def disturb(self, job, schedule, what, chance, stopped):
        alive = sorted(job.members().items())
        if what == "scale":
            size = 1 + int(chance * (schedule.workers + 1))
            self.place.edl_may_fail("scale", schedule.name, f"--workers={size}")
        elif what == "store":
            pid = self.place.store_pid()
            if pid is None or not send(pid, signal.SIGKILL):
                return
        elif not alive:
            return
        else:
            leader = job.kind("view")[-1]["members"][0]["id"]
            pid = dict(alive).get(leader) if what == "leader" else None
            pid = pid or alive[int(chance * len(alive))][1]
            number = {"stop": signal.SIGSTOP, "term": signal.SIGTERM}.get(what, signal.SIGKILL)
            if not send(pid, number):
                return
            if what == "stop":
                stopped.append(pid)
        self.done[what] += 1

    def check(self, schedule):
        name = schedule.name
        events = check_finished(self.place, name, self.reference(schedule.steps), may_be_lost=True)
        self.place.wait_until_empty()
        for fault in self.place.fired(name):
            self.struck[fault.partition("@")[0]] += 1
        for event in events:
            if event["event"] == "view" and "pause_ms" not in event:
                self.causes[event["cause"]] += 1
            self.lost += event.get("steps_lost", 0)

    def table(self):
        lines = ["phase               struck"]
        lines += [f"{phase:<20}{self.struck[phase]:>6}" for phase in PHASES]
        lines.append("from outside: " + ", ".join(f"{w} {self.done[w]}" for w in SIGNALS))
        lines.append("views: " + ", ".join(f"{c} {n}" for c, n in sorted(self.causes.items())))
        lines.append(f"steps lost with all members: {self.lost}")
        return "\n".join(lines)
