#!/usr/bin/python3
"""Workers in Python under everything that may happen to workers: killed in phases that chance
chooses, the leader among them, stopped and continued, more and fewer, all at once; with a program
of nothing but forward and with one that keeps its loop. The model has the bits of one worker.
EDL_SEED names the seed; it is printed.
Run as: python_elastic_test.py PATH_OF_EDL [unittest options]"""

import os
import random
import signal
import sys
import unittest
from pathlib import Path

from train_job import PHASES, Place, check_told, send

EDL = "edl"  # argv[1]
HERE = Path(__file__).resolve().parent
SEED = int(os.environ.get("EDL_SEED", "1"))
PROGRAMS = {"forward": (str(HERE / "bits_program.py"), "sgd"),
            "loop": (str(HERE / "loop_program.py"),)}
SHAPE = ("--checkpoint-every=25steps", "--epochs=10")


class Elastic(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = Place(EDL)
        cls.hashes = {}
        for kind, program in PROGRAMS.items():
            job = cls.place.run(f"{kind}-alone", "--workers=1", *SHAPE, program=program)
            assert job.end() == 0, job.account()
            cls.hashes[kind] = job.events[-1]["state_hash"]

    @classmethod
    def tearDownClass(cls):
        cls.place.close()

    def run_job(self, kind, name, *options):
        return self.place.run(name, *SHAPE, *options, program=PROGRAMS[kind])

    def finishes(self, kind, name, job, may_be_lost=False):
        self.assertEqual(job.end(), 0, f"seed {SEED}: {job.account()}")
        self.assertEqual(job.events[-1]["state_hash"], self.hashes[kind], f"seed {SEED}")
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
                job = self.run_job(kind, name, "--workers=1:3", "--start=3")
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
                self.finishes(kind, name, job)

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


if __name__ == "__main__":
    EDL = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
