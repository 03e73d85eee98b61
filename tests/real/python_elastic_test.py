#!/usr/bin/python3
"""Workers in Python under everything that may happen to workers: killed in phases that chance
chooses, the leader among them, stopped and continued, more and fewer, all at once; and to what
they need: the process that they are forked from, the store, an agent. With a program of nothing but
forward and with one that keeps its loop. The model has the bits of one worker.
EDL_SEED names the seed; it is printed. EDL_RUNS=20: so many jobs for what workers need.
Run as: python_elastic_test.py PATH_OF_EDL [unittest options]"""

import collections
import os
import random
import signal
import sys
import time
import unittest
from pathlib import Path

from train_job import PHASES, Place, check_told, send

EDL = "edl"  # argv[1]
HERE = Path(__file__).resolve().parent
SEED = int(os.environ.get("EDL_SEED", "1"))
PROGRAMS = {"forward": (str(HERE / "bits_program.py"), "sgd"),
            "loop": (str(HERE / "loop_program.py"),)}
EPOCHS = 10
VICTIMS = ("parent", "store", "agent", "leader", "worker")
ENDLESS = 10000  # epochs: of a job that is stopped when all has happened to it
HOOK = """import edl, torch
def data(): return edl.datasets.digits()
def model():
    net = torch.nn.Linear(64, 10)
    return {"net": net, "optimizer": torch.optim.SGD(net.parameters(), lr=0.1),
            "count": torch.zeros(1)}
def forward(x, y, params):
    return torch.nn.functional.cross_entropy(params["net"](x), y)
def on_step(params, step):
    params["count"] += WHAT
"""
RUNS = int(os.environ.get("EDL_RUNS", "3"))


def parent_of(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[1])


class Elastic(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = Place(EDL)
        cls.hashes = {}

    @classmethod
    def tearDownClass(cls):
        cls.place.close()

    def run_job(self, kind, name, *options, epochs=EPOCHS):
        return self.place.run(name, "--checkpoint-every=25steps", f"--epochs={epochs}", *options,
                              program=PROGRAMS[kind])

    def hash_alone(self, kind, epochs):
        """What one worker ends with."""
        if (kind, epochs) not in self.hashes:
            job = self.run_job(kind, f"{kind}-alone-{epochs}", "--workers=1", epochs=epochs)
            self.assertEqual(job.end(), 0, job.account())
            self.hashes[kind, epochs] = job.events[-1]["state_hash"]
        return self.hashes[kind, epochs]

    def ends_alike(self, kind, job, epochs=EPOCHS):
        self.assertEqual(job.end(), 0, f"seed {SEED}: {job.account()}")
        self.assertEqual(job.events[-1]["state_hash"], self.hash_alone(kind, epochs),
                         f"seed {SEED}")

    def stops_alike(self, kind, name, job):
        """With the bits of one worker after as many steps."""
        self.place.answer("stop", name)
        self.assertEqual(job.end(), 0, f"seed {SEED}: {job.account()}")
        alone = self.run_job(kind, f"{name}-alone", "--workers=1",
                             f"--steps={job.events[-1]['steps']}", epochs=ENDLESS)
        self.assertEqual(alone.end(), 0, alone.account())
        mine, its = (self.place.answer("hash", job)["state_hash"]
                     for job in (name, f"{name}-alone"))
        self.assertEqual(mine, its, f"seed {SEED}")

    def finishes(self, kind, name, job, may_be_lost=False):
        self.ends_alike(kind, job)
        check_told(self.place, name, may_be_lost)

    def test_kills_in_any_phase(self):
        chance = random.Random(SEED)
        for kind in PROGRAMS:
            with self.subTest(kind=kind):
                name = f"{kind}-phases"
                faults = [f"--fault={phase}@{chance.randint(10, 110)}=kill"
                          for phase in chance.sample(PHASES, 6)]
                job = self.run_job(kind, name, "--workers=2:4", "--start=3", *faults)
                job.wait_step(30)
                self.place.edl_may_fail("scale", name, "--workers=4", "--wait")
                self.place.edl_may_fail("scale", name, "--workers=2", "--wait")
                self.finishes(kind, name, job, may_be_lost=True)
                causes = [event["cause"] for event in job.kind("view")]
                print(f"seed {SEED}, {kind}: {faults} struck {sorted(self.place.fired(name))}, "
                      f"{causes}", flush=True)
                self.assertIn("death", causes)

    def test_the_leader_is_killed_and_others_are_stopped(self):
        for kind in PROGRAMS:
            with self.subTest(kind=kind):
                name = f"{kind}-signals"
                job = self.run_job(kind, name, "--workers=1:3", "--start=3", epochs=ENDLESS)
                for number, leads in ((signal.SIGKILL, True), (signal.SIGSTOP, False)):
                    job.wait_members(3, 0)
                    job.wait_step(job.kind("view")[-1]["first_step"] + 3)
                    seen = len(job.events)
                    leader = self.place.answer("leader", name)["id"]
                    victim = next(pid for i, pid in job.members().items()
                                  if (i == leader) == leads)
                    send(victim, number)
                    job.wait_for(lambda e: e["event"] == "view" and e["cause"] == "death",
                                 "a death", seen)
                    send(victim, signal.SIGCONT)
                    job.wait_members(3, seen)
                self.stops_alike(kind, name, job)
                check_told(self.place, name)

    def victim(self, what, job, name, guest):
        if what == "store":
            return self.place.store_pid()
        if what == "agent":
            return guest.process.pid
        leader = self.place.answer("leader", name)["id"]
        if what == "parent":
            return parent_of(next(iter(job.members().values())))
        return next(pid for i, pid in job.members().items() if (i == leader) == (what == "leader"))

    def test_what_workers_need_is_killed(self):
        chance = random.Random(SEED)
        killed = collections.Counter()
        for number in range(RUNS):
            kind, what = list(PROGRAMS)[number % 2], VICTIMS[number % len(VICTIMS)]
            with self.subTest(number=number, kind=kind, killed=what):
                name = f"need-{number}"
                job = self.run_job(kind, name, "--workers=1:3", "--start=2", epochs=ENDLESS)
                job.wait_members(2)
                guest = self.place.join(name, program=PROGRAMS[kind]) if what == "agent" else None
                if guest:
                    job.wait_members(3)
                job.wait_step(job.kind("view")[-1]["first_step"] + chance.randint(1, 20))
                time.sleep(chance.random() / 10)
                self.assertTrue(send(self.victim(what, job, name, guest), signal.SIGKILL))
                killed[what] += 1
                self.place.edl_may_fail("scale", name, "--workers=3", "--wait")
                self.stops_alike(kind, name, job)
                self.place.edl("verify", name)
        print(f"seed {SEED}: {dict(killed)} killed", flush=True)

    def test_all_are_killed_at_once(self):
        job = self.run_job("loop", "all", "--workers=3")
        job.wait_for(lambda e: e["event"] == "checkpoint", "a checkpoint")
        pids = list(job.members().values())
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in pids:
                send(pid, number)
        self.finishes("loop", "all", job, may_be_lost=True)
        self.assertIn("resume", [event["cause"] for event in job.kind("view")])

    def test_stop_and_resume_at_another_size(self):
        job = self.run_job("loop", "stop", "--workers=3")
        job.wait_step(20)
        self.place.answer("stop", "stop")
        self.assertEqual(job.end(), 0, job.account())
        self.finishes("loop", "stop", self.place.resume("stop", "--workers=2"))

    def test_a_state_that_depends_on_the_worker_is_told(self):
        """A hook that adds what is not the same everywhere, and one that does not."""
        told = {}
        for name, what in (("uneven", "edl.rank()"), ("even", "1")):
            path = Path(self.place.folder) / f"{name}.py"
            path.write_text(HOOK.replace("WHAT", what))
            job = self.place.run(name, "--workers=3:3", "--logical-workers=4",
                                 f"--epochs={ENDLESS}", program=(str(path),))
            differs = lambda e: e["event"] == "warning" and "is not that of" in e["reason"]
            if name == "uneven":
                job.wait_for(differs, "a warning")
            job.wait_step(2000)
            self.place.answer("stop", name)
            self.assertEqual(job.end(), 0, job.account())
            told[name] = [event["reason"] for event in job.events if differs(event)]
        self.assertEqual(told["even"], [])
        self.assertTrue(all(word.startswith("the state of w") for word in told["uneven"]), told)


if __name__ == "__main__":
    EDL = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
