#!/usr/bin/python3
"""Mistakes in a program, in how it is called or in what the machine has: each ends with exit code 1
and a sentence that says what is wrong and what to do.
Run as: torch_refusals_test.py PATH_OF_EDL PATH_OF_THE_PROGRAM [unittest options]"""

import os
import socket
import sys
import unittest
from pathlib import Path

import store_faults as faults
from train_job import PATIENCE, Place

EDL = "edl"  # argv[1]
PROGRAM = "bad_program"  # argv[2]

# What a program does, and what is said of it.
MISTAKES = {
    "nan": ["the loss is nan: lower the learning rate", "edl data step --step=1"],
    "list": ["forward must return the mean loss: one number"],
    "constant": ["the loss that forward returns depends on no parameter"],
    "sparse": ["the gradient of model/words.weight is sparse", "use a dense one"],
    "throw": ["the sensor is on fire"],
    "shape": ["32x63 and 64x10"],
    "crash": ["6 workers crashed within 10 m", "signal 6"],
    "exit": ["there is no licence", "exit code 3"],
    "leave": ["is it a program built on EDL?"],
    "lengths": ["x has 20 samples and y has 19: give as many of both"],
    "empty": ["a data set cannot have 0 samples"],
}


class Refusals(unittest.TestCase):
    def setUp(self):
        self.place = Place(EDL)
        self.addCleanup(self.place.close)

    def refused(self, *words, code=1):
        done = self.place.edl(*words, code=code)
        last = done.stderr.splitlines()[-1]
        self.assertTrue(last.startswith("edl"), done.stderr)
        self.assertNotIn("EDL_CHECK", done.stderr)
        return done.stderr

    def test_mistakes_of_programs_are_told(self):
        for mistake, sentences in MISTAKES.items():
            with self.subTest(mistake=mistake):
                said = self.refused("run", "--workers=1", f"--name={mistake}", PROGRAM, mistake)
                for sentence in sentences:
                    self.assertIn(sentence, said)
                self.place.wait_until_empty()

    def test_wrong_numbers_are_told(self):
        for words, sentence in (
                (("--logical-workers=65",), "65"),
                (("--workers=9", "--logical-workers=8"), "another result"),
                (("--batch=0",), "trains nothing"),
                (("--micro-batch=0",), "trains nothing"),
                (("--batch-policy=capped",), "--batch-max")):
            with self.subTest(words=words):
                self.assertIn(sentence, self.refused("run", *words, PROGRAM, ""))

    def test_a_port_that_is_taken(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            said = self.refused("store", "serve", f"--listen=127.0.0.1:{port}", "--data=data")
            self.assertIn(f"cannot listen on 127.0.0.1:{port}", said)
        said = self.refused("run", f"--store=http://127.0.0.1:{port}", PROGRAM, "")
        self.assertIn(f"Waiting for the store at http://127.0.0.1:{port}.", said)
        self.assertIn("did not answer for 20 s: is it running there?", said)

    def small_disk(self):
        """A folder on a disk of 4 MiB."""
        if not faults.has_private_mounts():
            self.skipTest("no private mounts on this machine")
        folder = os.path.join(self.place.folder, "small")
        os.mkdir(folder)
        faults.mount("-t", "tmpfs", "-o", "size=4m", "none", folder)
        self.addCleanup(faults.unmount, folder)
        self.addCleanup(self.place.end_jobs)
        return Path(folder)

    def test_a_disk_without_room_for_a_job(self):
        folder = self.small_disk()
        faults.fill(folder)
        said = self.refused("run", f"--dir={folder}/job", "--name=j", PROGRAM, "")
        self.assertIn("No space left on device", said)

    def test_a_disk_that_becomes_full_costs_checkpoints_and_no_training(self):
        folder = self.small_disk()
        job = self.place.start("run", "--json", f"--dir={folder}/job", "--name=j", "--workers=2",
                               "--steps=100000000", "--epochs=100000000",
                               "--checkpoint-every=20steps", PROGRAM, "")
        job.wait_for(lambda e: e["event"] == "checkpoint", "a checkpoint")
        faults.fill(folder)
        step = job.kind("step")[-1]["step"]
        job.wait_step(step + 200)
        (folder / "ballast").unlink()
        before = len(job.events)
        job.wait_for(lambda e: e["event"] == "checkpoint", "a checkpoint after it", before)
        self.place.edl("stop", f"{folder}/job", patience=PATIENCE)
        self.assertEqual(job.end(), 0, job.account())

    def test_checkpoints_that_cannot_be_read(self):
        job = self.place.run("j", "--workers=1", "--steps=100000000", "--epochs=100000000",
                             "--checkpoint-every=20steps", program=(PROGRAM, ""))
        job.wait_for(lambda e: e["event"] == "checkpoint", "a checkpoint")
        self.place.edl("stop", "j")
        self.assertEqual(job.end(), 0, job.account())
        for folder in (self.place.directory("j") / "checkpoints").iterdir():
            weights = folder / "model.safetensors"
            bytes_ = bytearray(weights.read_bytes())
            bytes_[-5] ^= 4
            weights.write_bytes(bytes_)
        said = self.refused("resume", "j")
        self.assertIn("no checkpoint is whole", said)
        self.assertIn("Restore one", said)


if __name__ == "__main__":
    faults.enter_private_mounts()
    EDL = str(Path(sys.argv.pop(1)).resolve())
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
