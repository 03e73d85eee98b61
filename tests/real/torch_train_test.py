#!/usr/bin/python3
"""The torch examples as a user runs them: what they reach, and that workers which come, go and
die change no bit of it.
Run as: torch_train_test.py PATH_OF_EDL PATH_OF_THE_EXAMPLES [unittest options]"""

import signal
import subprocess
import sys
import unittest
from pathlib import Path

from train_job import Place, check_finished, check_told, send

EDL = "edl"  # argv[1]
EXAMPLES = Path("examples")  # argv[2]
SHAPE = ("--logical-workers=8", "--checkpoint-every=50steps")


class Digits(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = Place(EDL)
        cls.program = (str(EXAMPLES / "digits"),)
        job = cls.place.run("reference", "--workers=1", *SHAPE, program=cls.program)
        assert job.end() == 0, job.account()
        cls.end = job.events[-1]
        cls.reference = cls.place.model("reference")

    @classmethod
    def tearDownClass(cls):
        cls.place.close()

    def run_job(self, name, *options):
        return self.place.run(name, *SHAPE, *options, program=self.program)

    def finishes(self, job, name):
        self.assertEqual(job.end(), 0, job.account())
        return check_finished(self.place, name, self.reference)

    def test_the_example_reaches_what_it_should(self):
        self.assertGreaterEqual(self.end["metrics"]["accuracy"], 0.97)

    def test_the_number_of_workers_changes_no_bit(self):
        for workers in (2, 3, 4):
            with self.subTest(workers=workers):
                self.finishes(self.run_job(f"n{workers}", f"--workers={workers}"), f"n{workers}")

    def test_another_seed_gives_another_model(self):
        job = self.run_job("seed", "--workers=1", "--seed=5")
        self.assertEqual(job.end(), 0, job.account())
        self.assertNotEqual(self.place.model("seed"), self.reference)

    def test_workers_come_go_and_die(self):
        job = self.run_job("crowd", "--workers=1:4", "--start=1", "--steps=1000000")
        job.wait_step(20)
        self.place.answer("scale", "crowd", "--workers=4", "--wait")
        for leads in (False, True):
            before = len(job.events)
            leader = self.place.answer("leader", "crowd")["id"]
            victims = {i: pid for i, pid in job.members().items() if (i == leader) == leads}
            victim, pid = sorted(victims.items())[0]
            self.assertTrue(send(pid, signal.SIGKILL))
            job.wait_for(lambda e, v=victim: e["event"] == "view" and "pause_ms" in e
                         and v not in [m["id"] for m in e["members"]], f"the end of {victim}",
                         before)
            job.wait_members(4, before)
        self.place.answer("scale", "crowd", "--workers=2", "--wait")
        self.place.answer("stop", "crowd")
        self.assertEqual(job.end(), 0, job.account())
        steps = job.events[-1]["steps"]
        undisturbed = self.run_job("undisturbed", "--workers=1", f"--steps={steps}")
        self.assertEqual(undisturbed.end(), 0, undisturbed.account())
        kept = self.place.directory("crowd") / f"checkpoints/{steps}/model.safetensors"
        self.assertEqual(kept.read_bytes(), self.place.model("undisturbed"))
        causes = [e["cause"] for e in check_told(self.place, "crowd") if e["event"] == "view"]
        self.assertLessEqual({"start", "scale", "death"}, set(causes))

    def test_stop_and_resume_at_another_size(self):
        job = self.run_job("stop", "--workers=3")
        job.wait_step(100)
        self.place.answer("stop", "stop")
        self.assertEqual(job.end(), 0, job.account())
        again = self.place.resume("stop", "--workers=2")
        self.finishes(again, "stop")

    def test_any_step_can_be_computed_again(self):
        job = self.place.run("past", "--workers=1:3", "--start=1", "--logical-workers=4",
                             "--checkpoint-every=50steps", "--batch-policy=linear", "--batch=32",
                             "--lr-rule=linear", "--steps=1000000", program=self.program)
        job.wait_step(40)
        self.place.answer("scale", "past", "--workers=3", "--wait")
        told = job.wait_members(3)
        job.wait_step(told["first_step"] + 30)
        self.place.answer("stop", "past")
        self.assertEqual(job.end(), 0, job.account())
        for step in (1, told["first_step"] + 4, job.events[-1]["steps"]):
            answer = self.place.answer("replay", "past", f"--step={step}")
            self.assertTrue(answer["equal"], answer)

    def test_started_by_hand_it_says_how(self):
        done = subprocess.run([*self.program], capture_output=True, text=True, timeout=60,
                              check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("edl run", done.stderr)


if __name__ == "__main__":
    EDL = str(Path(sys.argv.pop(1)).resolve())
    EXAMPLES = Path(sys.argv.pop(1)).resolve()
    unittest.main()
