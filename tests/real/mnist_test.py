#!/usr/bin/python3
"""The MNIST example on small files of the same format: workers that come, go and die change no bit
of a net with BatchNorm and dropout, and files that are missing or wrong are told of.
Run as: mnist_test.py PATH_OF_EDL PATH_OF_THE_EXAMPLES [unittest options]"""

import gzip
import random
import signal
import struct
import sys
import unittest
from pathlib import Path

from train_job import Place, check_finished, check_told, send

EDL = "edl"  # argv[1]
EXAMPLES = Path("examples")  # argv[2]
SIDE = 28
SHAPE = ("--batch=24", "--logical-workers=4", "--steps=60")


def idx(sizes, numbers):
    return struct.pack(f">HBB{len(sizes)}I", 0, 8, len(sizes), *sizes) + bytes(numbers)


def write_part(folder, part, count, ending=""):
    """Images with a bright row that is their label, among noise."""
    dice = random.Random(part)
    labels = [dice.randrange(10) for _ in range(count)]
    pixels = []
    for label in labels:
        image = [dice.randrange(120) for _ in range(SIDE * SIDE)]
        image[label * 2 * SIDE:(label * 2 + 1) * SIDE] = [250] * SIDE
        pixels += image
    for name, content in ((f"{part}-images-idx3-ubyte", idx((count, SIDE, SIDE), pixels)),
                          (f"{part}-labels-idx1-ubyte", idx((count,), labels))):
        packed = gzip.compress(content) if ending == ".gz" else content
        (folder / (name + ending)).write_bytes(packed)


class Mnist(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = Place(EDL)
        cls.data = Path(cls.place.folder) / "data"
        cls.data.mkdir()
        for part, count in (("train", 300), ("t10k", 50)):
            write_part(cls.data, part, count)
            write_part(cls.data, part, count, ".gz")
        job = cls.run_job("reference", "--workers=1")
        assert job.end() == 0, job.account()
        cls.end = job.events[-1]
        cls.reference = cls.place.model("reference")

    @classmethod
    def tearDownClass(cls):
        cls.place.close()

    @classmethod
    def run_job(cls, name, *options, arguments=("data",)):
        return cls.place.run(name, *SHAPE, *options,
                             program=(str(EXAMPLES / "mnist"), *arguments))

    def refusal(self, name, *arguments):
        job = self.run_job(name, "--workers=1", arguments=arguments)
        self.assertEqual(job.end(), 1, job.account())
        return job.said()

    def test_it_learns(self):
        self.assertGreaterEqual(self.end["metrics"]["accuracy"], 0.8)

    def test_two_workers_of_which_one_is_killed_make_the_same_model(self):
        job = self.run_job("killed", "--workers=2")
        job.wait_members(2)
        before = len(job.events)
        job.wait_step(10)
        victim, pid = sorted(job.members().items())[0]
        self.assertTrue(send(pid, signal.SIGKILL))
        job.wait_for(lambda e: e["event"] == "view" and victim not in
                     [m["id"] for m in e["members"]], f"the end of {victim}", before)
        self.assertEqual(job.end(), 0, job.account())
        check_finished(self.place, "killed", self.reference)
        causes = [e["cause"] for e in check_told(self.place, "killed") if e["event"] == "view"]
        self.assertIn("death", causes)

    def test_packed_files_make_the_same_model(self):
        job = self.run_job("packed", "--workers=2", arguments=("data", ".gz"))
        self.assertEqual(job.end(), 0, job.account())
        check_finished(self.place, "packed", self.reference)

    def test_another_seed_makes_another_model(self):
        job = self.run_job("seed", "--workers=1", "--seed=5")
        self.assertEqual(job.end(), 0, job.account())
        self.assertNotEqual(self.place.model("seed"), self.reference)

    def test_files_that_are_missing_or_wrong_are_told_of(self):
        self.assertIn("cannot open nowhere/train-images-idx3-ubyte",
                      self.refusal("nowhere", "nowhere"))
        torn = Path(self.place.folder) / "torn"
        torn.mkdir()
        for path in self.data.iterdir():
            (torn / path.name).write_bytes(path.read_bytes())
        labels = torn / "train-labels-idx1-ubyte"
        labels.write_bytes(labels.read_bytes()[:-1])
        self.assertIn("torn/train-labels-idx1-ubyte: holds 299 bytes", self.refusal("torn", "torn"))
        labels.write_bytes(idx((299,), [1] * 299))
        self.assertIn("train-images-idx3-ubyte has 300 samples", self.refusal("short", "torn"))


if __name__ == "__main__":
    EDL = str(Path(sys.argv.pop(1)).resolve())
    EXAMPLES = Path(sys.argv.pop(1)).resolve()
    unittest.main()
