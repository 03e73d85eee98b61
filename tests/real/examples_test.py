#!/usr/bin/python3
"""The examples resnet and language, a few steps each: two workers of which one is killed make the
model that one worker makes. ResNet's images come by tools/fetch_data; where they cannot be fetched
its test is skipped, but fails when the environment says CI=true.
Run as: examples_test.py PATH_OF_EDL PATH_OF_THE_EXAMPLES [--data=FOLDER] [unittest options]"""

import os
import signal
import subprocess
import sys
import unittest
from pathlib import Path

from train_job import Place, check_finished, check_told, send

EDL = "edl"  # argv[1]
EXAMPLES = Path("examples")  # argv[2]
ROOT = Path(__file__).resolve().parents[2]
DATA = None  # where the images are already


def images():
    """The folder of CIFAR-10; a reason to skip when there is none."""
    if DATA is not None:
        return DATA
    done = subprocess.run([ROOT / "tools/fetch_data", "cifar-10"], capture_output=True, text=True,
                          check=False)
    if done.returncode == 0:
        return ROOT / "build/data/cifar-10"
    if os.environ.get("CI") == "true":
        raise AssertionError(f"no images, and nothing is skipped here: {done.stderr}")
    raise unittest.SkipTest(done.stderr.strip())


class Examples(unittest.TestCase):
    def setUp(self):
        self.place = Place(EDL)

    def tearDown(self):
        self.place.close()

    def check(self, program, shape, kill_at):
        alone = self.place.run("alone", "--workers=1", *shape, program=program)
        self.assertEqual(alone.end(), 0, alone.account())
        job = self.place.run("two", "--workers=2", "--events=all", *shape, program=program)
        job.wait_members(2)
        before = len(job.events)
        job.wait_step(kill_at)
        victim, pid = sorted(job.members().items())[0]
        self.assertTrue(send(pid, signal.SIGKILL))
        job.wait_for(lambda e: e["event"] == "view" and victim not in
                     [m["id"] for m in e["members"]], f"the end of {victim}", before)
        self.assertEqual(job.end(), 0, job.account())
        check_finished(self.place, "two", self.place.model("alone"))
        causes = [e["cause"] for e in check_told(self.place, "two") if e["event"] == "view"]
        self.assertIn("death", causes)
        self.assertEqual(job.events[-1]["metrics"], alone.events[-1]["metrics"])
        return alone

    def test_language(self):
        shape = ("--batch=8", "--logical-workers=4", "--steps=30")
        job = self.check((str(EXAMPLES / "language"), str(ROOT / "examples/language/text.txt")),
                         shape, kill_at=5)
        losses = [event["loss"] for event in job.kind("step")]
        self.assertLess(losses[-1], losses[0])

    def test_resnet(self):
        folder = str(Path(images()).resolve())
        shape = ("--batch=8", "--logical-workers=4", "--steps=6")
        self.check((str(EXAMPLES / "resnet"), folder, "16"), shape, kill_at=2)


if __name__ == "__main__":
    EDL = str(Path(sys.argv.pop(1)).resolve())
    EXAMPLES = Path(sys.argv.pop(1)).resolve()
    for word in [word for word in sys.argv if word.startswith("--data=")]:
        sys.argv.remove(word)
        DATA = Path(word.split("=", 1)[1])
    unittest.main()
