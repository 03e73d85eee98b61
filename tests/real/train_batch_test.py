#!/usr/bin/python3
"""Batches that follow the members, and a learning rate that follows the batch, in real jobs: each
step's numbers are compared with the formulas.
Run as: train_batch_test.py PATH_OF_EDL [unittest options]"""

import math
import signal
import sys
import unittest

from train_job import Place, check_told, send

EDL = "edl"  # argv[1]
RATE = 0.1  # of builtin:mlp
RAMP = 8  # steps
SAMPLES = 1437  # of the digits to train on

FACTORS = {
    "none": lambda times: 1,
    "linear": lambda times: times,
    "sqrt": math.sqrt,
    "piecewise": lambda times: times,  # far below 8192
}


class Batches(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = Place(EDL)

    @classmethod
    def tearDownClass(cls):
        cls.place.close()

    def train(self, name, *options):
        """With 1, 3, then 2 workers, one of them killed."""
        job = self.place.run(name, "--workers=1:4", "--start=1", "--logical-workers=4",
                             "--events=all", "--steps=1000000", *options)
        job.wait_step(30)
        for workers in (3, 2):
            before = len(job.events)
            self.place.answer("scale", name, f"--workers={workers}", "--wait")
            told = job.wait_members(workers, after=before)
            job.wait_step(told["first_step"] + 2 * RAMP)
        before = len(job.events)
        send(list(job.members().values())[-1], signal.SIGKILL)
        told = job.wait_members(2, after=before)  # another one has taken its place
        job.wait_step(told["first_step"] + 2 * RAMP)
        self.place.answer("stop", name)
        self.assertEqual(job.end(), 0, job.account())
        check_told(self.place, name)
        self.check_replay(name, job)
        return job

    def check_replay(self, name, job):
        """Steps around each change, and the last one, have the same digest when computed again."""
        last = job.kind("step")[-1]["step"]
        firsts = {e["first_step"] for e in job.kind("view") if not e.get("halt")}
        for step in sorted({1, last} | {f + 1 for f in firsts if f < last}):
            answer = self.place.answer("replay", name, f"--step={step}")
            self.assertTrue(answer["equal"], answer)
            self.assertEqual(answer["digest"], answer["recorded"])
            self.assertLess(answer["from"], step)

    def batch_of(self, policy, batch, most, members):
        return {"fixed": batch, "linear": batch * members,
                "capped": min(batch * members, most)}[policy]

    def check(self, job, policy, rule, batch, most=0, warmup=0):
        views = {e["generation"]: e for e in job.kind("view") if not e.get("halt")}
        for view in views.values():
            self.assertEqual(view["batch"]["global"],
                             self.batch_of(policy, batch, most, len(view["members"])), view)
        steps = job.kind("step")
        factor, first, before = None, None, None
        seen_ramps = 0
        for step in steps:
            times = views[step["generation"]]["batch"]["global"] / batch
            wanted = FACTORS[rule](times)
            if factor is None:
                factor, first, before = wanted, step["step"] - RAMP, wanted
            if wanted != factor:  # from the present factor to the new one
                before = self.ramp(before, factor, step["step"] - first)
                factor, first = wanted, step["step"]
                seen_ramps += 1
            seen = step["epoch"] * SAMPLES + step["position"] + step["samples"]
            warm = min(1, seen / warmup) if warmup else 1
            expected = RATE * self.ramp(before, factor, step["step"] - first) * warm
            self.assertAlmostEqual(step["lr"], expected, places=6, msg=str(step))
        return seen_ramps

    @staticmethod
    def ramp(before, to, since):
        return before + min(since, RAMP) / RAMP * (to - before)

    def test_linear(self):
        job = self.train("linear", "--batch-policy=linear", "--batch=16", "--lr-rule=linear")
        self.assertGreaterEqual(self.check(job, "linear", "linear", 16), 3)

    def test_capped(self):
        job = self.train("capped", "--batch-policy=capped", "--batch=32", "--batch-max=80",
                         "--lr-rule=sqrt", "--warmup-samples=5000")
        self.assertGreaterEqual(
            self.check(job, "capped", "sqrt", 32, most=80, warmup=5000), 3)

    def test_fixed_never_changes_anything(self):
        job = self.train("fixed", "--batch=64", "--lr-rule=linear")
        self.assertEqual(self.check(job, "fixed", "linear", 64), 0)

    def test_adaptive_finds_a_larger_batch(self):
        # Steps of a tiny model cost little beside their fixed part.
        job = self.place.run("adaptive", "--workers=2", "--logical-workers=4", "--events=all",
                             "--batch-policy=adaptive", "--batch=8", "--batch-max=256",
                             "--lr-rule=sqrt", "--steps=1000000")
        told = job.wait_for(lambda e: e["event"] == "view" and e["cause"] == "batch"
                            and "pause_ms" in e, "another batch")
        self.assertGreater(told["batch"]["global"], 8)
        self.assertLessEqual(told["batch"]["global"], 256)
        self.assertIn("the noise scale is", told["reason"])
        self.assertAlmostEqual(told["lr_factor"], math.sqrt(told["batch"]["global"] / 8))
        job.wait_step(told["first_step"] + 2 * RAMP)
        self.place.answer("stop", "adaptive")
        self.assertEqual(job.end(), 0, job.account())
        check_told(self.place, "adaptive")
        self.check_replay("adaptive", job)
        advice = self.place.answer("advise", "adaptive")
        self.assertGreater(advice["noise_scale"], 0)
        self.assertGreaterEqual(advice["batch_at_80"], 8)
        shares = [row["efficiency"] for row in advice["table"]]
        self.assertEqual(shares, sorted(shares, reverse=True))

    def test_a_replay_that_differs_says_so(self):
        job = self.place.run("other", "--workers=2", "--logical-workers=4", "--steps=50")
        self.assertEqual(job.end(), 0, job.account())
        self.place.edl("replay", "other", "--step=50")
        path = self.place.directory("other") / "job.json"
        text = path.read_text()
        self.assertIn('"seed":0', text)
        path.write_text(text.replace('"seed":0', '"seed":1'))
        said = self.place.edl("replay", "other", "--step=40", code=1).stderr
        self.assertIn("the first step that differs is 1", said)
        answer = self.place.answer("replay", "other", "--step=40", code=1)
        self.assertEqual((answer["equal"], answer["first_different"]), (False, 1))
        for step in (0, 51):
            said = self.place.edl("replay", "other", f"--step={step}", code=1).stderr
            self.assertIn("which has 50 steps", said)

    def test_advice_needs_parts_to_compare(self):
        job = self.place.run("alone", "--workers=1", "--logical-workers=1", "--steps=200")
        self.assertEqual(job.end(), 0, job.account())
        said = self.place.edl("advise", "alone", code=1).stderr
        self.assertIn("--logical-workers=2", said)

    def test_a_resumed_job_goes_on_from_the_rate_that_it_had(self):
        job = self.place.run("resumed", "--workers=4", "--logical-workers=4", "--events=all",
                             "--batch-policy=linear", "--batch=16", "--lr-rule=linear",
                             "--steps=1000000")
        job.wait_step(30)
        self.place.answer("stop", "resumed")
        self.assertEqual(job.end(), 0, job.account())
        last = job.kind("step")[-1]
        self.assertAlmostEqual(last["lr"], RATE * 4, places=6)
        again = self.place.start("resume", "resumed", "--workers=1:4", "--start=2", "--json",
                                 "--events=all")
        again.wait_step(last["step"] + 2 * RAMP)
        self.place.answer("stop", "resumed")
        self.assertEqual(again.end(), 0, again.account())
        rates = {e["step"]: e["lr"] for e in again.kind("step")}
        for since in range(2 * RAMP):
            expected = RATE * self.ramp(4, 2, since)
            self.assertAlmostEqual(rates[last["step"] + 1 + since], expected, places=6)


if __name__ == "__main__":
    EDL = sys.argv.pop(1)
    unittest.main(verbosity=2)
