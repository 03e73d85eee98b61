#!/usr/bin/python3
"""Equal bits of a real network with BatchNorm, dropout, augmentation and micro batches, for each
optimizer: any number of workers, 1 -> 4 -> 2 with kills in phases that chance chooses, a stop and
a resume; and steps of the past computed again under each policy that changes the batch.
EDL_SEED names the seed of the phases; it is printed. EDL_OPTIMIZERS names those to try.
Run as: torch_bits_test.py PATH_OF_EDL PATH_OF_THE_PROGRAM [unittest options]"""

import os
import random
import sys
import unittest
from pathlib import Path

from train_job import Place, check_finished

EDL = "edl"  # argv[1]
PROGRAM = "bits_program"  # argv[2]
SEED = int(os.environ.get("EDL_SEED", "1"))
SHAPE = ("--checkpoint-every=20steps",)
STEPS = 8 * 15  # 1437 samples, 96 a step
OPTIMIZERS = os.environ.get("EDL_OPTIMIZERS", "sgd adam adamw").split()
# Those that every step passes; what happens in a join or a checkpoint waits for the next one.
PHASES = "data compute reduce gather apply ledger promise handover publish".split()


class Bits(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = Place(EDL)
        cls.references = {}

    @classmethod
    def tearDownClass(cls):
        cls.place.close()

    def run_job(self, optimizer, name, *options):
        return self.place.run(name, *SHAPE, *options, program=(PROGRAM, optimizer))

    def reference(self, optimizer):
        if optimizer not in self.references:
            name = f"{optimizer}-reference"
            job = self.run_job(optimizer, name, "--workers=1")
            self.assertEqual(job.end(), 0, job.account())
            self.assertEqual(job.events[-1]["steps"], STEPS)
            self.references[optimizer] = self.place.model(name)
        return self.references[optimizer]

    def finishes(self, job, name, optimizer):
        self.assertEqual(job.end(), 0, f"seed {SEED}: {job.account()}")
        alone = any(len(view["members"]) == 1 for view in job.kind("view"))
        check_finished(self.place, name, self.reference(optimizer), may_be_lost=alone)

    def test_the_number_of_workers_changes_no_bit(self):
        for optimizer in OPTIMIZERS:
            for workers in (2, 3, 4):
                name = f"{optimizer}-{workers}"
                self.finishes(self.run_job(optimizer, name, f"--workers={workers}"), name,
                              optimizer)

    def test_optimizers_and_seeds_do_change_them(self):
        models = [self.reference(optimizer) for optimizer in OPTIMIZERS]
        job = self.run_job(OPTIMIZERS[0], "seed", "--workers=1", "--seed=9")
        self.assertEqual(job.end(), 0, job.account())
        models.append(self.place.model("seed"))
        self.assertEqual(len(set(models)), len(OPTIMIZERS) + 1)

    def test_kills_in_any_phase_while_workers_come_and_go(self):
        print(f"seed {SEED}", flush=True)
        chance = random.Random(SEED)
        for optimizer in OPTIMIZERS:
            name = f"{optimizer}-crowd"
            faults = [f"--fault={chance.choice(PHASES)}@{chance.randint(20, STEPS - 20)}=kill"
                      for _ in range(3)]
            job = self.run_job(optimizer, name, "--workers=1:4", "--start=1", *faults)
            job.wait_step(2)
            self.place.edl_may_fail("scale", name, "--workers=4", "--wait")
            self.place.edl_may_fail("scale", name, "--workers=2", "--wait")
            self.finishes(job, name, optimizer)
            causes = [e["cause"] for e in job.kind("view")]
            print(f"{optimizer}: {faults} struck {sorted(self.place.fired(name))}, {causes}",
                  flush=True)

    def test_stop_and_resume_at_another_size(self):
        for optimizer in OPTIMIZERS:
            name = f"{optimizer}-stop"
            job = self.run_job(optimizer, name, "--workers=3")
            job.wait_step(10)
            self.place.edl_may_fail("stop", name)
            self.assertEqual(job.end(), 0, job.account())
            if job.events[-1]["event"] == "finished" and job.events[-1]["steps"] == STEPS:
                self.fail(f"it had ended before it was stopped\n{job.account()}")
            self.finishes(self.place.resume(name, "--workers=2"), name, optimizer)

    def test_batch_norm_never_sees_a_sample_alone(self):
        for options in (("--batch=64", "--logical-workers=16"), ("--micro-batch=11",)):
            said = self.place.edl("run", *options, PROGRAM, "sgd", code=1).stderr
            self.assertEqual(said.count("\n"), 1, said)
            self.assertIn("BatchNorm", said)
            way = next(word for word in said.split() if word.startswith("--") and "=" in word)
            name = way.split("=")[0]
            others = [option for option in options if not option.startswith(name)]
            job = self.run_job("sgd", "way-out-" + options[-1].strip("-").replace("=", "-"),
                               "--workers=1", "--steps=3", *others, way)
            self.assertEqual(job.end(), 0, f"{said}{job.account()}")

    def test_steps_of_the_past_are_computed_again_under_each_policy(self):
        for policy in ("linear", "capped", "adaptive"):
            with self.subTest(policy=policy):
                limit = () if policy == "linear" else ("--batch-max=192",)
                job = self.run_job("sgd", policy, "--workers=1:3", "--start=1", "--epochs=100000",
                                   f"--batch-policy={policy}", "--batch=64", *limit,
                                   "--logical-workers=4", "--lr-rule=linear", "--micro-batch=100")
                job.wait_step(15)
                self.place.answer("scale", policy, "--workers=3", "--wait")
                view = job.wait_members(3)
                job.wait_step(view["first_step"] + 12)
                self.place.answer("stop", policy)
                self.assertEqual(job.end(), 0, job.account())
                last = job.events[-1]["steps"]
                for step in (1, view["first_step"] - 1, view["first_step"] + 3, last):
                    answer = self.place.answer("replay", policy, f"--step={step}")
                    self.assertTrue(answer["equal"], answer)


if __name__ == "__main__":
    EDL = str(Path(sys.argv.pop(1)).resolve())
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
