#!/usr/bin/python3
"""Hooks and registered state of a torch program: an average of the weights, a count and the best
metric survive joins, kills and a resume, each member hears once of each change of size, a hook can
ask for a checkpoint; and statistics of whole steps have the same bits for any number of workers.
Run as: torch_hooks_test.py PATH_OF_EDL PATH_OF_THE_PROGRAM [unittest options]"""

import json
import re
import signal
import struct
import sys
import unittest
from pathlib import Path

from train_job import Place, check_finished, send

EDL = "edl"  # argv[1]
PROGRAM = "hooks_program"  # argv[2]
STEPS = 600
SHAPE = ("--logical-workers=4", "--batch=64", "--epochs=1000000")


def tensors(path):
    """The bytes of each tensor of a safetensors file, by name."""
    content = path.read_bytes()
    length = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8:8 + length])
    body = content[8 + length:]
    return {name: body[slice(*entry["data_offsets"])] for name, entry in header.items()}


class Hooks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = Place(EDL)
        job = cls.run_job("reference", "--workers=1")
        assert job.end() == 0, job.account()
        cls.end = job.events[-1]
        cls.reference = cls.place.model("reference")
        cls.state = cls.state_of("reference")

    @classmethod
    def tearDownClass(cls):
        cls.place.close()

    @classmethod
    def run_job(cls, name, *options, steps=STEPS, every="50steps", arguments=()):
        return cls.place.run(name, *SHAPE, f"--steps={steps}", f"--checkpoint-every={every}",
                             *options, program=(PROGRAM, *arguments))

    @classmethod
    def state_of(cls, name, step=STEPS):
        return tensors(cls.place.directory(name) / f"checkpoints/{step}/user.safetensors")

    def finishes(self, job, name):
        self.assertEqual(job.end(), 0, job.account())
        check_finished(self.place, name, self.reference)
        self.assertEqual(self.state_of(name), self.state)

    def test_the_state_is_what_the_hooks_made_of_it(self):
        self.assertEqual(set(self.state), {"average", "best", "steps"})
        self.assertEqual(struct.unpack("<q", self.state["steps"])[0], STEPS)
        lines = (self.place.directory("reference") / "events.jsonl").read_text(encoding="utf-8")
        values = [e["value"] for e in map(json.loads, lines.splitlines())
                  if e["event"] == "metric" and e["name"] == "accuracy" and e["step"] < STEPS]
        self.assertEqual(struct.unpack("<d", self.state["best"])[0], max(values))
        model = tensors(self.place.directory("reference") / "model.safetensors")
        self.assertNotEqual(self.state["average"], model["layer.weight"])

    def test_it_survives_joins_and_kills_and_sizes_are_told_once(self):
        job = self.run_job("crowd", "--workers=1:3", "--start=1", steps=1_000_000)
        job.wait_step(20)
        self.place.answer("scale", "crowd", "--workers=3", "--wait")
        before = len(job.events)
        victim, pid = sorted(job.members().items())[0]
        self.assertTrue(send(pid, signal.SIGKILL))
        job.wait_for(lambda e: e["event"] == "view" and "pause_ms" in e and victim not in
                     [m["id"] for m in e["members"]], f"the end of {victim}", before)
        job.wait_members(3, before)
        self.place.answer("stop", "crowd")
        self.assertEqual(job.end(), 0, job.account())
        steps = job.events[-1]["steps"]
        alone = self.run_job("alone", "--workers=1", steps=steps)
        self.assertEqual(alone.end(), 0, alone.account())
        self.assertEqual(self.state_of("crowd", steps), self.state_of("alone", steps))
        told = 0
        for log in (self.place.directory("crowd") / "log").glob("worker-*.log"):
            lines = re.findall(r"resized from (\d+) to (\d+) after step (\d+)",
                               log.read_text(encoding="utf-8"))
            places = [line[2] for line in lines]
            self.assertEqual(len(places), len(set(places)), f"{log}: {lines}")
            told += len(lines)
            firsts = {str(e["first_step"] - 1): str(len(e["members"])) for e in job.kind("view")
                      if "pause_ms" in e}
            for _, now, place in lines:
                self.assertEqual(firsts.get(place), now, f"{log}: {lines}, views: {firsts}")
        self.assertGreaterEqual(told, 3)

    def test_normalisation_has_the_same_bits_for_any_number_of_workers(self):
        model = tensors(self.place.directory("reference") / "model.safetensors")
        self.assertNotEqual(model["norm.running_mean"], bytes(4 * 64))
        self.assertEqual(struct.unpack("<q", model["norm.num_batches_tracked"])[0], STEPS)
        for workers, fault in ((3, ()), (4, ("--fault=reduce@200=kill",))):
            name = f"norm-{workers}"
            self.finishes(self.run_job(name, f"--workers={workers}", *fault), name)

    def test_the_program_asks_for_a_checkpoint(self):
        job = self.run_job("asks", "--workers=2", every="off", arguments=("137",))
        kept = job.wait_for(lambda e: e["event"] == "checkpoint", "a checkpoint")
        self.assertEqual(kept["step"], 137)
        self.finishes(job, "asks")
        self.assertEqual([e["step"] for e in job.kind("checkpoint")], [137, STEPS])
        state = self.state_of("asks", 137)
        self.assertEqual(struct.unpack("<q", state["steps"])[0], 137)

    def test_it_comes_back_with_a_resume_at_another_size(self):
        job = self.run_job("stop", "--workers=3")
        job.wait_step(100)
        self.place.answer("stop", "stop")
        self.assertEqual(job.end(), 0, job.account())
        stopped = job.events[-1]["steps"]
        self.assertEqual(struct.unpack("<q", self.state_of("stop", stopped)["steps"])[0], stopped)
        self.finishes(self.place.resume("stop", "--workers=2"), "stop")


if __name__ == "__main__":
    EDL = str(Path(sys.argv.pop(1)).resolve())
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
