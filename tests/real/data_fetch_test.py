#!/usr/bin/python3
"""Data that are fetched: the commands, and a machine that comes with a cold cache while others
train.
Run as: data_fetch_test.py PATH_OF_EDL PATH_OF_THE_PROGRAM [unittest options]"""

import array
import hashlib
import json
import random
import signal
import statistics
import struct
import subprocess
import sys
import unittest
from pathlib import Path

from file_server import FileServer
from train_job import PATIENCE, Place, check_steps

EDL = "edl"  # argv[1]
PROGRAM = "program"  # argv[2]
SAMPLES = 4096
SHAPE = ("--checkpoint-every=50steps", "--events=all")


def npy(kind, shape, numbers):
    """As numpy.save writes it."""
    head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + numbers.tobytes()


def data():
    chance = random.Random(3)
    x = array.array("f", (chance.random() for _ in range(SAMPLES * 16)))
    y = array.array("q", (chance.randrange(4) for _ in range(SAMPLES)))
    return {"x.npy": npy("<f4", (SAMPLES, 16), x), "y.npy": npy("<i8", (SAMPLES,), y)}


def flipped(content):
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1:]


class Fetching(unittest.TestCase):
    def setUp(self):
        self.place = Place(EDL)
        self.addCleanup(self.place.close)
        self.server = FileServer()
        self.addCleanup(self.server.close)
        self.server.files = data()
        self.list = Path(self.place.folder) / "data.json"
        self.server.write_list(self.list)

    def hold(self):
        self.server.open.clear()

    def wait_held(self):
        self.assertTrue(self.server.held.acquire(timeout=PATIENCE), "nobody asked for a file")

    def start_fetch(self):
        return subprocess.Popen([EDL, "data", "fetch", str(self.list), "--cache=c", "--json"],
                                cwd=self.place.folder, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def ended(self, process):
        out, errors = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 0, errors)
        return [json.loads(line) for line in out.splitlines()]

    def fetch(self):
        return self.place.answers("data", "fetch", str(self.list), "--cache=c")


class Commands(Fetching):
    def test_fetch_prints_where_files_are_and_cache_lists_them(self):
        first = self.fetch()
        self.assertEqual([f["name"] for f in first], ["x.npy", "y.npy"])
        for file in first:
            content = (Path(self.place.folder) / file["path"]).read_bytes()
            self.assertEqual(content, self.server.files[file["name"]])
            self.assertEqual(file["sha256"], hashlib.sha256(content).hexdigest())
            self.assertTrue(file["fetched"])
        self.assertEqual([f["fetched"] for f in self.fetch()], [False, False])
        plain = self.place.edl("data", "fetch", str(self.list), "--cache=c").stdout.splitlines()
        self.assertEqual(plain, [file["path"] for file in first])
        listed = self.place.answers("data", "cache", "--cache=c")
        self.assertEqual({f["sha256"] for f in listed}, {f["sha256"] for f in first})
        self.assertFalse(any(f["in_use"] for f in listed))
        removed = self.place.answer("data", "cache", "--clear", "--cache=c")
        self.assertEqual(removed["removed_bytes"], sum(f["bytes"] for f in first))
        self.assertEqual(self.place.answers("data", "cache", "--cache=c"), [])

    def test_a_corrupt_download_is_refused_and_not_kept(self):
        self.server.lies["x.npy"] = flipped(self.server.files["x.npy"])
        done = self.place.edl("data", "fetch", str(self.list), "--cache=c", code=1)
        for word in [self.server.url("x.npy"),
                     hashlib.sha256(self.server.files["x.npy"]).hexdigest(),
                     hashlib.sha256(self.server.lies["x.npy"]).hexdigest()]:
            self.assertIn(word, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertEqual(self.place.answers("data", "cache", "--cache=c"), [])
        self.server.lies.clear()
        self.assertTrue(self.fetch()[0]["fetched"])

    def test_whoever_dies_blocks_nobody_and_leaves_what_it_got(self):
        self.hold()
        process = self.start_fetch()
        self.wait_held()
        part = Path(self.place.folder) / "c/part"
        while not any(path.stat().st_size > 0 for path in part.iterdir()):
            self.assertIsNone(process.poll())
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=PATIENCE)
        self.server.open.set()
        self.server.asked.clear()
        self.fetch()
        name, wanted = self.server.asked[0]
        self.assertEqual(name, "x.npy")
        self.assertTrue(wanted, "it began again")

    def test_of_two_that_want_a_file_one_fetches_it(self):
        self.hold()
        first = self.start_fetch()
        self.wait_held()
        second = self.start_fetch()
        uses = Path(self.place.folder) / "c/use"
        while len(list(uses.iterdir())) < 2:
            self.assertIsNone(second.poll())
        self.server.open.set()
        told = self.ended(first) + self.ended(second)
        self.assertEqual(sorted(f["fetched"] for f in told), [False, False, True, True])
        self.assertEqual(sorted(self.server.asked), [("x.npy", None), ("y.npy", None)])

    def test_a_size_that_is_none_is_wrong_usage(self):
        done = self.place.edl("data", "cache", "--cache-max=much", code=2)
        self.assertIn("is no size", done.stderr)


class Joining(Fetching):
    def run_job(self, name, *options):
        return self.place.run(name, *SHAPE, "--cache=cache-1", *options,
                              program=(PROGRAM, str(self.list)))

    def join(self, name, cache):
        return self.place.join(name, f"--cache={cache}", program=(PROGRAM, str(self.list)))

    def step_times(self, job, count):
        return statistics.median(e["step_ms"] for e in job.kind("step")[-count:])

    def test_a_cold_cache_does_not_slow_the_others(self):
        job = self.run_job("j", "--workers=1:2", "--start=1", "--steps=10000000")
        job.wait_step(300)
        before = self.step_times(job, 200)
        self.hold()
        guest = self.join("j", "cache-2")
        self.wait_held()
        began = job.kind("step")[-1]["step"]
        job.wait_step(began + 300)  # while the newcomer still fetches
        during = self.step_times(job, 200)
        self.assertFalse(self.server.open.is_set())
        self.assertEqual({len(e["members"]) for e in job.kind("view")}, {1})
        self.assertEqual(len(job.workers()), 1)
        print(f"median step: {before:.3f} ms before, {during:.3f} ms while another fetches")
        self.assertLess(during, 3 * before + 5)
        self.server.open.set()
        joined = job.wait_members(2)
        job.wait_step(joined["first_step"] + 50)
        self.assertEqual([name for name, _ in self.server.asked].count("x.npy"), 2)
        used = self.place.answers("data", "cache", "--cache=cache-2")
        self.assertEqual([f["in_use"] for f in used], [True, True])
        self.assertEqual(self.place.answer("data", "cache", "--clear", "--cache=cache-2")
                         ["removed_bytes"], 0)
        self.place.answer("stop", "j")
        self.assertEqual(job.end(), 0, job.account())
        self.assertEqual(guest.end(), 0, guest.account())
        steps = job.events[-1]["steps"]
        check_steps(self.place.kept_events("j"))
        self.assertEqual(self.place.answer("verify", "j")["verdict"], "proven")
        alone = self.run_job("alone", "--workers=1", f"--steps={steps}")
        self.assertEqual(alone.end(), 0, alone.account())
        kept = self.place.directory("j") / f"checkpoints/{steps}/model.safetensors"
        self.assertEqual(kept.read_bytes(), self.place.model("alone"))

    def test_a_corrupt_download_keeps_a_machine_out_and_a_job_from_beginning(self):
        job = self.run_job("j", "--workers=1:2", "--start=1", "--steps=10000000")
        job.wait_step(10)
        self.server.lies["y.npy"] = flipped(self.server.files["y.npy"])
        guest = self.join("j", "cache-2")
        self.assertEqual(guest.end(), 1, guest.account())
        self.assertIn("SHA-256", guest.said())
        self.assertIn(self.server.url("y.npy"), guest.said())
        job.wait_step(job.kind("step")[-1]["step"] + 10)
        self.assertEqual({len(e["members"]) for e in job.kind("view")}, {1})
        self.place.answer("stop", "j")
        self.assertEqual(job.end(), 0, job.account())
        done = self.place.edl("run", "--name=k", "--cache=cache-3", PROGRAM, str(self.list), code=1)
        self.assertIn("SHA-256", done.stderr)
        self.assertFalse(self.place.directory("k").exists())

    def test_other_data_than_the_job_has_are_refused(self):
        job = self.run_job("j", "--workers=1:2", "--start=1", "--steps=10000000")
        job.wait_step(10)
        half = SAMPLES // 2
        self.server.files = {
            "x.npy": npy("<f4", (half, 16), array.array("f", [0.5] * half * 16)),
            "y.npy": npy("<i8", (half,), array.array("q", [1] * half))}
        self.server.write_list(self.list)
        guest = self.join("j", "cache-2")
        self.assertEqual(guest.end(), 1, guest.account())
        self.assertIn(f"{half} samples on this machine, but {SAMPLES} samples in the job",
                      guest.said())
        self.place.answer("stop", "j")
        self.assertEqual(job.end(), 0, job.account())


if __name__ == "__main__":
    EDL = str(Path(sys.argv.pop(1)).resolve())
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
