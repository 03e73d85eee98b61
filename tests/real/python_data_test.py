#!/usr/bin/python3
"""Data of programs in Python: memory maps that stay ones, records of files, and processes that load
ahead: as many as one likes, with the same bits, and never longer than their worker.
Run as: python_data_test.py PATH_OF_EDL [unittest options]"""

import json
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


FORMS = """import io, json, numpy, os, pathlib, sys, tempfile, torch
import edl
from edl._feed import feed_of
x, y = edl.datasets.digits()
xn, yn = x.numpy(), y.numpy()
path = os.path.join(tempfile.mkdtemp(), "numbers.txt")
with open(path, "w") as file:
    file.write("5\\n7\\n9\\n11\\n")
class Stream(torch.utils.data.IterableDataset):
    def __iter__(self): return iter([1])
class Files:
    def __iter__(self): return iter([(path, 4, 12), (path, 0, 4)])
class NoLength(torch.utils.data.Dataset):
    def __getitem__(self, i): return x[i]
def train(**words):
    return lambda: edl.training.Settings(dict, dict, (x, y), **words)
told = {}
for name, data in (
        ("list", lambda: [path]), ("class", Files), ("map", lambda: map(str, [path])),
        ("iterator", lambda: iter([(path, 0, 12)])), ("set", lambda: {(path, 0, 12)}),
        ("glob", lambda: pathlib.Path(path).parent.glob("*.txt")),
        ("items", lambda: {path: (0, 12)}.items()), ("pair", lambda: [(path, 0)]),
        ("numpy", lambda: [(path, numpy.int64(0), numpy.int64(12))]),
        ("from", lambda: [(path, 2)]), ("backwards", lambda: [(path, 7, 3)]),
        ("uint64", lambda: (xn, yn.astype("uint64"))),
        ("longdouble", lambda: (xn.astype("longdouble"), yn)),
        ("empty", lambda: (x[:0], y[:0])), ("scalar", lambda: (x, torch.tensor(1))),
        ("stream", Stream), ("loader", lambda: torch.utils.data.DataLoader(Stream())),
        ("length", NoLength), ("dict", lambda: {"x": x, "y": y}),
        ("numbers", lambda: iter([1, 2])), ("clip", train(clip_norm=-1)),
        ("schedule", train(schedule=0.5))):
    try:
        feed = feed_of(data())
        told[name] = [item.decode() for item in feed.batch(feed.load(range(len(feed)), 1, 0))[0]]
    except edl.InvalidError as wrong:
        told[name] = str(wrong)
print(json.dumps(told))
"""


class Forms(unittest.TestCase):
    """What may be given as data, and one sentence about what may not."""

    @classmethod
    def setUpClass(cls):
        done = subprocess.run(
            [os.environ.get("EDL_PYTHON", "/usr/bin/python3"), "-c", FORMS], capture_output=True,
            text=True, check=False, timeout=PATIENCE,
            env={**os.environ, "PYTHONPATH": str(ROOT / "python")})
        assert done.returncode == 0, done.stderr
        cls.told = json.loads(done.stdout)

    def test_any_iterable_of_files(self):
        for name in ("list", "class", "map", "iterator", "set", "glob", "items", "pair", "numpy"):
            self.assertEqual(self.told[name], ["5", "7", "9", "11"], name)
        self.assertEqual(self.told["from"], ["7", "9", "11"])
        self.assertIn("from byte 7 to 3 is no range", self.told["backwards"])

    def test_what_is_refused(self):
        for name, words in (
                ("uint64", "an array of uint64, and no type of torch holds"),
                ("longdouble", "array.astype('float64')"), ("empty", "have no samples"),
                ("scalar", "with 0 dimensions"), ("stream", "no length and no index"),
                ("loader", "no length and no index"), ("length", "no length and no index"),
                ("dict", "the data are a dict: give (x, y) arrays"),
                ("numbers", "the data are a list_iterator: give"),
                ("clip", "clip_norm is -1: give"), ("schedule", "schedule is 0.5: give a fun")):
            self.assertIn(words, self.told[name], name)


class Loaders(Scene):
    KNOWS = """import edl, torch
def begin(number):
    info = torch.utils.data.get_worker_info()
    print("loader", info.id, number, info.num_workers, len(info.dataset), info.seed >= 0)
def data():
    return torch.utils.data.DataLoader(torch.utils.data.TensorDataset(*edl.datasets.digits()),
                                       num_workers=2, worker_init_fn=begin)
def model():
    net = torch.nn.Linear(64, 10)
    return {"net": net, "optimizer": torch.optim.SGD(net.parameters(), lr=0.1)}
def forward(x, y, params):
    return torch.nn.functional.cross_entropy(params["net"](x), y)
"""

    def test_they_know_who_they_are(self):
        path = self.folder / "knows.py"
        path.write_text(self.KNOWS)
        self.ends_well(self.place.run("knows", "--workers=1", program=(path,)))
        said = (self.place.directory("knows") / "log/worker-w1.log").read_text()
        self.assertEqual(sorted(line for line in said.splitlines() if line.startswith("loader ")),
                         ["loader 0 0 2 1437 True", "loader 1 1 2 1437 True"])

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
