#!/usr/bin/python3
"""The memory bill of a worker: it is told at the start, it is what workers really take, and a job
that cannot fit is refused before it begins.
Run as: memory_test.py PATH_OF_EDL PATH_OF_THE_EXAMPLES [unittest options]"""

import json
import sys
import unittest
from pathlib import Path

from train_job import Place

EDL = "edl"  # argv[1]
EXAMPLES = Path("examples")  # argv[2]
MIB = 1 << 20
LIBRARIES = 40 * MIB  # of a worker without a framework, its data, ledgers and stacks
BALLAST = 64 * MIB  # half parameters, half momentum
PROGRAM = ("builtin:mlp", f"--ballast={BALLAST}")


def limited(mebibytes):
    return {"EDL_MEMORY": f"{mebibytes}MiB"}


class Memory(unittest.TestCase):
    def setUp(self):
        self.place = Place(EDL)
        self.addCleanup(self.place.close)

    def refused(self, *words, environment):
        done = self.place.edl(*words, code=1, environment=environment)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertEqual(done.stdout, "")
        return done.stderr

    def test_a_job_that_cannot_fit_is_refused_before_it_begins(self):
        said = self.refused("run", "--workers=2", *PROGRAM, environment=limited(256))
        self.assertIn("2 workers need at least 384 MiB here, and there are 256 MiB", said)
        self.assertIn("parameters 32 MiB, optimizer 32 MiB", said)
        self.assertIn("Ask for at most 1", said)
        said = self.refused("run", str(EXAMPLES / "digits"), environment={"EDL_MEMORY": "9KiB"})
        self.assertIn("a smaller model", said)
        self.assertFalse((Path(self.place.folder) / "edl-jobs").exists())
        said = self.refused("run", *PROGRAM, environment={"EDL_MEMORY": "much"})
        self.assertIn('"much" is no size', said)

    def test_the_bill_is_told_and_holds(self):
        job = self.place.run("j", "--workers=1:2", "--start=1", "--steps=1000000",
                             "--checkpoint-every=5steps", program=PROGRAM)
        bill = job.wait_for(lambda e: e["event"] == "started", "the start")["memory"]
        parts = set(bill) - {"least", "total"}
        self.assertEqual(bill["total"], sum(bill[name] for name in parts))
        job.wait_step(11)
        pid = next(iter(job.members().values()))
        self.place.answer("scale", "j", "--workers=2", "--wait")
        job.wait_step(job.kind("step")[-1]["step"] + 6)
        words = Path(f"/proc/{pid}/status").read_text().split("VmHWM:")[1].split()
        took = int(words[0]) * 1024
        self.assertGreater(took, bill["least"])
        self.assertLess(took, bill["total"] + LIBRARIES)
        self.assertEqual(job.kind("warning"), [])
        self.place.answer("stop", "j")
        self.assertEqual(job.end(), 0, job.account())
        self.resume_is_refused()

    def resume_is_refused(self):
        said = self.refused("resume", "j", environment=limited(64))
        self.assertIn("1 worker needs at least", said)

    def test_a_job_that_is_close_is_warned_of_and_guests_are_refused(self):
        job = self.place.run("j", "--workers=1:2", "--start=1", "--steps=1000000",
                             program=PROGRAM, environment=limited(300))
        told = job.wait_for(lambda e: e["event"] == "warning", "a warning")
        self.assertIn("Memory may run out: 1 worker takes up to", told["reason"])
        job.wait_step(2)
        run = json.loads((self.place.directory("j") / "run.json").read_text())
        said = self.refused("join", f"--store={','.join(run['store'])}", "--job=j", "--workers=1",
                            f"--secret-file={self.place.directory('j') / 'secret'}",
                            "--address=127.0.0.1", "--dir=guest", *PROGRAM,
                            environment=limited(64))
        self.assertIn("1 worker needs at least", said)
        self.assertEqual(self.place.answer("status", "j")["wanted"], 1)
        self.place.answer("stop", "j")
        self.assertEqual(job.end(), 0, job.account())


if __name__ == "__main__":
    EDL = str(Path(sys.argv.pop(1)).resolve())
    EXAMPLES = Path(sys.argv.pop(1)).resolve()
    unittest.main()
