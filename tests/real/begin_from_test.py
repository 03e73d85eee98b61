#!/usr/bin/python3
"""Checkpoints that are asked for, and jobs that begin with one: `edl checkpoint` of a running job,
also when its leader dies, and `edl run --from`, which has the bits of `edl resume`.
Run as: begin_from_test.py PATH_OF_EDL [unittest options]"""

import json
import shutil
import signal
import subprocess
import sys
import unittest
from pathlib import Path

from train_job import Place, check_finished, check_told, send

EDL = "edl"  # argv[1]
STEPS = 600
LONG = 10_000_000  # steps of a job that is ended by the test
IMAGES = 1437  # of the digits to train with
SLOW = ("builtin:mlp", "--work=4")


class Scene(unittest.TestCase):
    def setUp(self):
        self.place = Place(EDL)

    def tearDown(self):
        self.place.close()

    def kill_all(self):
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in self.place.processes():
                send(pid, number)

    def refusal(self, *words):
        said = self.place.edl(*words, code=1).stderr
        self.assertEqual(len(said.strip().splitlines()), 1, said)
        return said


class Wishes(Scene):
    def test_a_running_job_is_asked_for_one(self):
        job = self.place.run("j", "--workers=2", "--checkpoint-every=off", f"--steps={LONG}",
                             program=SLOW)
        job.wait_step(20)
        kept = self.place.answer("checkpoint", "j", "--wait")
        self.assertEqual(list(kept), ["step", "path", "bytes", "stall_ms", "write_ms"])
        self.assertTrue((Path(kept["path"]) / "MANIFEST.json").exists())
        told = job.wait_for(lambda e: e["event"] == "checkpoint", "a checkpoint")
        self.assertEqual({name: told[name] for name in kept}, kept)
        self.assertTrue(self.place.answer("checkpoint", "j")["accepted"])
        second = job.wait_for(lambda e: e["event"] == "checkpoint", "another",
                              job.events.index(told) + 1)
        self.assertGreater(second["step"], kept["step"])
        self.kill_all()
        job.end()
        again = self.place.resume("j", "--workers=1")
        view = again.wait_for(lambda e: e["event"] == "view", "a view")
        self.assertGreater(view["first_step"], second["step"])
        self.place.answer("stop", "j")
        self.assertEqual(again.end(), 0, again.account())
        self.assertIn("does not run", self.refusal("checkpoint", "j", "--wait"))

    def test_several_ask_at_once_and_each_is_answered(self):
        job = self.place.run("j", "--workers=2", "--checkpoint-every=off", f"--steps={LONG}",
                             program=SLOW)
        job.wait_step(20)
        here = job.kind("step")[-1]["step"]
        asking = [subprocess.Popen([EDL, "checkpoint", "j", "--wait", "--json"],
                                   cwd=self.place.folder, stdout=subprocess.PIPE, text=True)
                  for _ in range(4)]
        answers = [json.loads(one.communicate(timeout=60)[0]) for one in asking]
        self.assertTrue(all(answer["step"] >= here for answer in answers), answers)
        self.place.answer("stop", "j")
        self.assertEqual(job.end(), 0, job.account())
        check_told(self.place, "j")

    def test_a_wish_outlives_the_leader(self):
        job = self.place.run("j", "--workers=3", "--checkpoint-every=off", f"--steps={LONG}",
                             program=SLOW)
        job.wait_step(20)
        leader = job.members()[self.place.answer("leader", "j")["id"]]
        send(leader, signal.SIGSTOP)  # it hears nothing of what is asked
        self.assertTrue(self.place.answer("checkpoint", "j")["accepted"])
        send(leader, signal.SIGKILL)
        job.wait_for(lambda e: e["event"] == "checkpoint", "a checkpoint")
        self.place.answer("stop", "j")
        self.assertEqual(job.end(), 0, job.account())
        check_told(self.place, "j")


class From(Scene):
    def setUp(self):
        super().setUp()
        job = self.place.run("source", "--workers=3", "--checkpoint-every=20steps",
                             f"--steps={STEPS}", "--seed=3", program=SLOW)
        job.wait_for(lambda e: e["event"] == "checkpoint" and e["step"] >= 60, "a checkpoint")
        self.place.answer("stop", "source")
        self.assertEqual(job.end(), 0, job.account())
        self.stopped = job.events[-1]["steps"]
        self.source = self.place.directory("source")
        self.assertLess(self.stopped, STEPS)

    def begin(self, name, path, *options, program=SLOW):
        trace = Path(self.place.folder)
        shutil.copy(trace / "source.trace", trace / f"{name}.trace")  # it is part of the history
        return self.place.run(name, f"--from={path}", *options, program=program)

    def test_it_has_the_bits_of_a_resume_and_of_a_run_that_nobody_disturbed(self):
        alone = self.place.run("alone", "--workers=1", f"--steps={STEPS}", "--seed=3",
                               "--checkpoint-every=off")
        self.assertEqual(alone.end(), 0, alone.account())
        model = self.place.model("alone")
        job = self.begin("new", self.source, "--workers=2")
        self.assertEqual(job.end(), 0, job.account())
        view = job.kind("view")[0]
        self.assertEqual((view["cause"], view["first_step"]), ("resume", self.stopped + 1))
        check_finished(self.place, "new", model)
        for step in (5, self.stopped, self.stopped + 5, STEPS):
            self.assertTrue(self.place.answer("replay", "new", f"--step={step}")["equal"], step)
        # From one before its last, killed on the way.
        steps = sorted(int(path.name) for path in (self.source / "checkpoints").iterdir())
        job = self.begin("older", self.source / f"checkpoints/{steps[-2]}", "--workers=3",
                         f"--fault=apply@{steps[-2] + 30}=kill")
        self.assertEqual(job.end(), 0, job.account())
        self.assertEqual(job.kind("view")[0]["first_step"], steps[-2] + 1)
        check_finished(self.place, "older", model)
        # And the job itself knows nothing of all that.
        again = self.place.resume("source", "--workers=1")
        self.assertEqual(again.end(), 0, again.account())
        check_finished(self.place, "source", model)
        hashes = {self.place.answer("hash", name)["state_hash"] for name in ("new", "source")}
        self.assertEqual(len(hashes), 1)

    def test_a_job_that_began_so_is_stopped_killed_and_resumed_like_any_other(self):
        job = self.begin("new", self.source, "--workers=2", "--checkpoint-every=off")
        job.wait_step(self.stopped + 20)
        self.kill_all()  # all it has is what it began with
        job.end()
        again = self.place.resume("new", "--workers=1")
        self.assertEqual(again.end(), 0, again.account())
        self.assertEqual(again.kind("view")[0]["first_step"], self.stopped + 1)
        alone = self.place.run("alone", "--workers=1", f"--steps={STEPS}", "--seed=3",
                               "--checkpoint-every=off")
        self.assertEqual(alone.end(), 0, alone.account())
        check_finished(self.place, "new", self.place.model("alone"), may_be_lost=True)

    def test_another_batch_may_be_said(self):
        job = self.begin("batch", self.source, "--workers=2", "--batch=32",
                         f"--steps={self.stopped + 50}")
        self.assertEqual(job.end(), 0, job.account())
        records = self.place.answers("ledger", "batch")
        self.assertEqual(max(record["samples"] for record in records[self.stopped:]), 32)
        self.assertIn(records[self.stopped - 1]["samples"], (64, IMAGES % 64))
        check_told(self.place, "batch")

    def test_what_cannot_be_is_told_of_before_there_is_a_job(self):
        newest = self.source / f"checkpoints/{self.stopped}"
        for options, sentence in (
                ((f"--from={self.source}", "--seed=4", *SLOW), "trained with --seed=3"),
                ((f"--from={newest}", "--logical-workers=5", *SLOW),
                 "and --logical-workers=5 would give another result"),
                ((f"--from={newest}", f"--steps={self.stopped}", *SLOW), "where the job ends"),
                ((f"--from={newest}", "builtin:linear"), "it is of another program"),
                ((f"--from={self.place.folder}", *SLOW), "neither the directory of a job nor"),
                ((f"--from={newest}", f"--init={newest}/model.safetensors", *SLOW),
                 "write one of them")):
            with self.subTest(options=options):
                said = self.refusal("run", "--name=none", "--workers=1", *options)
                self.assertIn(sentence, said)
                self.assertFalse(self.place.directory("none").exists())
        torn = newest / "optimizer.safetensors"
        torn.write_bytes(torn.read_bytes()[:-1])
        said = self.refusal("run", "--name=none", f"--from={newest}", *SLOW)
        self.assertIn("optimizer.safetensors has ", said)
        job = self.begin("before", self.source, "--workers=1")
        self.assertEqual(job.end(), 0, job.account())
        # The one before may be of the step before: it begins with a step that the torn one has.
        self.assertLessEqual(job.kind("view")[0]["first_step"], self.stopped)


if __name__ == "__main__":
    EDL = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
