#!/usr/bin/python3
"""Data of programs in Python: memory maps that stay ones, records of files, and processes that load
ahead: as many as one likes, with the same bits, and never longer than their worker.
Run as: python_data_test.py PATH_OF_EDL [unittest options]"""

import os
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

import numpy

from train_job import PATIENCE, Place, check_told, send

EDL = "edl"  # argv[1]
ROOT = Path(__file__).resolve().parents[2]
PROGRAM = str(ROOT / "tests/real/data_program.py")
STEPS = 3 * 23


def loaders_of(pid):
    """Processes that a worker has forked."""
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def is_gone(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def wait_gone(pids):
    deadline = time.monotonic() + PATIENCE
    while not all(map(is_gone, pids)):
        if time.monotonic() > deadline:
            raise AssertionError(f"still there: {[pid for pid in pids if not is_gone(pid)]}")
        time.sleep(0.02)


class Scene(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = Place(EDL)
        cls.folder = Path(cls.place.folder)
        cls.environment = {"DATA_FOLDER": cls.place.folder, "PYTHONWARNINGS": "ignore"}

    @classmethod
    def tearDownClass(cls):
        cls.place.close()

    def run_job(self, name, *words, options=("--workers=1",)):
        return self.place.run(name, *options, program=(PROGRAM, *words),
                              environment=self.environment)

    def ends_well(self, job):
        self.assertEqual(job.end(), 0, job.account())
        return job.events[-1]["state_hash"]


class Loaders(Scene):
    def test_their_number_changes_no_bit(self):
        hashes = {self.ends_well(self.run_job(f"n{count}", "loader", str(count)))
                  for count in (0, 1, 4)}
        self.assertEqual(len(hashes), 1)
        said = (self.place.directory("n4") / "log/worker-w1.log").read_text()
        self.assertEqual(sorted(line.split()[1] for line in said.splitlines()
                                if line.startswith("loader ")), list("0123"))
        crowd = self.run_job("crowd", "loader", "2", options=(
            "--workers=1:3", "--start=3", "--fault=compute@20=kill", "--fault=apply@40=kill"))
        hashes.add(self.ends_well(crowd))
        self.assertEqual(len(hashes), 1)
        check_told(self.place, "crowd")

    def test_in_a_kept_loop(self):
        hashes = {self.ends_well(self.run_job(f"l{count}", "loop", str(count)))
                  for count in (0, 2)}
        self.assertEqual(len(hashes), 1)

    def test_they_end_with_their_worker_and_it_goes_on_without_them(self):
        reference = self.ends_well(self.run_job("once", "loader", "0", options=(
            "--workers=1", "--epochs=40")))
        job = self.run_job("long", "loader", "2", options=("--workers=2", "--epochs=40"))
        job.wait_step(5)
        workers = job.members()
        loaders = {worker: loaders_of(pid) for worker, pid in workers.items()}
        self.assertEqual([len(pids) for pids in loaders.values()], [2, 2])
        first, second = workers
        seen = len(job.events)
        send(workers[first], signal.SIGKILL)
        wait_gone(loaders[first])
        job.wait_members(2, seen)
        send(loaders[second][0], signal.SIGKILL)  # a loader alone
        self.assertEqual(self.ends_well(job), reference)
        wait_gone(loaders[second])
        self.place.wait_until_empty()
        log = (self.place.directory("long") / f"log/worker-{second}.log").read_text()
        self.assertIn("a process that loads samples has died", log)

    def test_a_sample_that_cannot_be_loaded_is_told_in_the_users_words(self):
        done = subprocess.run([EDL, "run", "--workers=1", "--name=bad", PROGRAM, "bad", "2"],
                              cwd=self.folder, capture_output=True, text=True, timeout=PATIENCE,
                              env={**os.environ, **self.environment}, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("ValueError: my own words", done.stderr)
        self.assertIn("data_program.py", done.stderr)
        self.place.wait_until_empty()


class Arrays(Scene):
    def test_memory_maps_give_the_same_bits(self):
        words = [line.split() for line in
                 (ROOT / "edl/train/builtin/digits.txt").read_text().splitlines()]
        x = numpy.array([["0123456789abcdefg".index(pixel) for pixel in pixels]
                         for pixels, _ in words], numpy.float32) / 16
        y = numpy.array([int(label) for _, label in words])
        numpy.save(self.folder / "x.npy", x)
        numpy.save(self.folder / "y.npy", y)
        hashes = {self.ends_well(self.run_job(how, how)) for how in
                  ("memory", "memmap", "fortran")}
        hashes.add(self.ends_well(self.run_job("maps", "memmap", options=(
            "--workers=1:3", "--start=3", "--fault=compute@20=kill"))))
        self.assertEqual(len(hashes), 1)

    def test_what_is_larger_than_a_worker_may_be_is_read_row_by_row(self):
        with open(self.folder / "huge", "wb") as file:
            file.truncate(2048 << 21)  # 4 GiB, of which the disk holds nothing
        job = self.run_job("huge", "huge", options=("--workers=1", "--batch=8", "--steps=8"))
        self.ends_well(job)
        log = (self.place.directory("huge") / "log/worker-w1.log").read_text()
        peaks = [int(line.split()[1]) for line in log.splitlines() if line.startswith("peak")]
        self.assertLess(max(peaks), 1024, peaks)  # MiB: 64 rows are 128


class Records(Scene):
    def test_lines_and_ranges_of_them_give_the_same_bits(self):
        words = [line.split() for line in
                 (ROOT / "edl/train/builtin/digits.txt").read_text().splitlines()]
        (self.folder / "digits.csv").write_text("".join(
            ",".join([*(str(int(pixel, 17) / 16) for pixel in pixels), label]) + "\n"
            for pixels, label in words))
        hashes = {self.ends_well(self.run_job(how, how)) for how in ("lines", "ranges")}
        hashes.add(self.ends_well(self.run_job("crowd", "ranges", options=(
            "--workers=1:3", "--start=2", "--fault=compute@30=kill"))))
        self.assertEqual(len(hashes), 1)
        check_told(self.place, "crowd")


if __name__ == "__main__":
    EDL = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
