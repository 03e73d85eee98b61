#!/usr/bin/python3
"""Learning rates that a program changes while it trains: in a hook they hold from then on, on every
worker, also on one that joins later and after a stop; where not every worker would change them they
are refused.
Run as: python_rates_test.py PATH_OF_EDL [unittest options]"""

import sys
import unittest
from pathlib import Path

from train_job import Place, check_told

EDL = "edl"  # argv[1]
ROOT = Path(__file__).resolve().parents[2]
PROGRAM = str(ROOT / "tests/real/rates_program.py")
FORMS = ("forward", "loop")


class Rates(unittest.TestCase):
    def setUp(self):
        self.place = Place(EDL)
        self.addCleanup(self.place.close)

    def run_job(self, name, form, where, *options):
        return self.place.run(name, "--events=all", *options, program=(PROGRAM, form, where))

    def ends_well(self, job):
        self.assertEqual(job.end(), 0, job.account())
        return job.events[-1]

    def rates(self, job):
        return {event["step"]: event["lr"] for event in job.kind("step")}

    def hashes(self, name):
        logs = (self.place.directory(name) / "log").glob("worker-*.log")
        return [line for path in logs for line in path.read_text().splitlines()
                if line.startswith("HASH")]

    def check_crowd(self, form, where, job, end):
        """One that joins, one that dies, a stop: the same bits."""
        name = f"{form}-{where}"
        crowd = self.run_job(name, form, where, "--workers=1:3", "--start=1",
                             "--fault=apply@90=kill")
        crowd.wait_step(45)
        self.place.answer("scale", name, "--workers=3", "--wait")
        crowd.wait_step(120)
        self.place.answer("stop", name)
        self.assertEqual(crowd.end(), 0, crowd.account())
        again = self.place.resume(name, "--workers=2", "--events=all")
        self.assertEqual(self.ends_well(again)["state_hash"], end["state_hash"])
        self.assertEqual(len(set(self.hashes(name))), 1)
        rates = self.rates(job)
        for step, rate in {**self.rates(crowd), **self.rates(again)}.items():
            self.assertEqual(rate, rates[step], step)
        check_told(self.place, name)

    def test_a_hook_of_each_step(self):
        for form in FORMS:
            with self.subTest(form=form):
                job = self.run_job(f"{form}-alone", form, "hook", "--workers=1")
                end = self.ends_well(job)
                rates = self.rates(job)
                factor = 0.5 if form == "forward" else 1.0  # of its schedule, at the end
                self.assertEqual([rates[step] for step in (1, 3, 4, 40, 41, 101)],
                                 [0.1, 0.1, 0.05, 0.05, 0.025, 0.025 * factor])
                self.check_crowd(form, "hook", job, end)

    def test_a_scheduler_that_a_hook_steps(self):
        job = self.run_job("alone", "forward", "stepped", "--workers=1")
        end = self.ends_well(job)
        rates = self.rates(job)
        self.assertEqual([rates[step] for step in (10, 11, 21)], [0.1, 0.05, 0.025])
        self.check_crowd("forward", "stepped", job, end)

    def test_a_hook_of_another_crowd(self):
        for form in FORMS:
            with self.subTest(form=form):
                job = self.run_job(form, form, "resize", "--workers=1:3", "--start=1")
                for members in (2, 3):
                    job.wait_step(15 * members)
                    self.place.answer("scale", form, f"--workers={members}", "--wait")
                self.ends_well(job)
                views = [view["first_step"] for view in job.kind("view") if "pause_ms" in view]
                rates = self.rates(job)
                seen = [rates[first + 1] for first in views]
                for rate, expected in zip(seen, (0.1, 0.2, 0.3)):
                    self.assertAlmostEqual(rate, expected)
                self.assertEqual(len(self.hashes(form)), 3)
                self.assertEqual(len(set(self.hashes(form))), 1)

    def test_what_computes_a_part_may_not_change_them(self):
        for form in FORMS:
            with self.subTest(form=form):
                said = self.place.edl("run", "--workers=1", PROGRAM, form, "body", code=1).stderr
                self.assertIn("change it in a hook (on_step, on_resize), or use a scheduler", said)


if __name__ == "__main__":
    EDL = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
