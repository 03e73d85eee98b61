#!/usr/bin/python3
"""Records of files: known ones give the same bits whoever trains them, and those that come while a
job trains are trained once each, whoever dies meanwhile.
Run as: stream_test.py PATH_OF_EDL PATH_OF_THE_PROGRAM [unittest options]"""

import json
import signal
import struct
import sys
import threading
import time
import unittest
from pathlib import Path

from train_job import PATIENCE, Place, Wrong, check_finished, check_told, send

EDL = "edl"  # argv[1]
PROGRAM = "stream_program"  # argv[2]
KILLS = ("--fault=compute@8=kill",)  # the first worker to get there
SHAPE = ("--batch=64", "--logical-workers=4", "--checkpoint-every=20steps", "--events=all")


def line(number):
    """A record that tells its number."""
    return f"{number % 97 / 97:.4f},{number}\n"


def masked_crc32c(content):
    crc = 0xFFFFFFFF
    for byte in content:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def tfrecord(content):
    length = struct.pack("<Q", len(content))
    return (length + struct.pack("<I", masked_crc32c(length)) + content +
            struct.pack("<I", masked_crc32c(content)))


class Feeder(threading.Thread):
    """Writes records into a folder, some at a time and cut anywhere, then the mark of the end."""

    def __init__(self, folder, records, files):
        super().__init__(daemon=True)
        self.folder, self.records, self.files = folder, records, files
        self.may_go_on = threading.Event()
        self.half = threading.Event()

    def run(self):
        per_file = self.records // self.files
        for number in range(self.files):
            first = number * per_file
            last = self.records if number == self.files - 1 else first + per_file
            content = "".join(line(i) for i in range(first, last)).encode()
            with open(self.folder / f"{number:04}.part", "wb", buffering=0) as file:
                for at in range(0, len(content), 401):
                    file.write(content[at:at + 401])
                    time.sleep(0.002)
            if number == self.files // 2:
                self.half.set()
                self.may_go_on.wait(PATIENCE)
        (self.folder / "END").touch()


class Records(unittest.TestCase):
    def setUp(self):
        self.place = Place(EDL)
        self.folder = Path(self.place.folder) / "in"
        self.folder.mkdir()

    def tearDown(self):
        self.place.close()

    def write_known(self, records=3000):
        for number in range(5):
            part = range(number * records // 5, (number + 1) * records // 5)
            (self.folder / f"{number}.part").write_text("".join(map(line, part)), encoding="utf-8")

    def run_job(self, name, kind, *options, more=()):
        cache = f"--cache={self.place.folder}/cache"
        return self.place.run(name, *SHAPE, cache, *options,
                              program=(PROGRAM, kind, self.folder, *more))

    def trained(self, name):
        """Which bytes of which file each stable part was computed from, from the trace alone."""
        steps = {s["step"]: s for s in self.place.answers("ledger", name)}
        places = {}
        for text in (Path(self.place.folder) / f"{name}.trace").read_text().splitlines():
            part = json.loads(text)
            step = steps.get(part["step"])
            if step is None or part["generation"] > step["generation"]:
                continue
            key = (part["step"], part["v"])
            if places.get(key, part["where"]) != part["where"]:
                raise Wrong(f"two workers read different bytes for {key}")
            places[key] = part["where"]
        return places

    def numbers_of(self, places):
        """The records that lie there, by what they tell of themselves."""
        numbers = []
        for where in places.values():
            for place in where:
                content = Path(place["file"]).read_bytes()[place["from"]:place["to"]]
                numbers += [int(text.split(b",")[1]) for text in content.splitlines()]
        return sorted(numbers)

    def kill_leader(self, job):
        after = len(job.events)
        leader = self.place.answer("leader", job.kind("started")[0]["job"])["id"]
        self.assertTrue(send(job.members()[leader], signal.SIGKILL))
        job.wait_for(lambda e: e["event"] == "worker" and e["id"] == leader
                     and e["state"] == "exited", f"the end of {leader}", after)

    def test_known_files_give_the_same_bits_whoever_trains_them(self):
        self.write_known()
        job = self.run_job("alone", "known", "--workers=1", "--epochs=8")
        self.assertEqual(job.end(), 0, job.account())
        reference = self.place.model("alone")
        check_finished(self.place, "alone", reference)
        job = self.run_job("three", "known", "--workers=3", "--epochs=8", *KILLS)
        self.assertEqual(job.end(), 0, job.account())
        self.assertEqual(self.place.fired("three"), {"compute@8=kill"})
        check_finished(self.place, "three", reference)
        indexes = list((Path(self.place.folder) / "cache/index").iterdir())
        self.assertEqual(len(indexes), 5)  # a file each, made by the first start and used since
        places = {key: where for key, where in self.trained("three").items() if key[0] <= 47}
        self.assertEqual(self.numbers_of(places), list(range(3000)))  # of the first epoch

    def test_tfrecords_are_read_and_a_damaged_one_is_named(self):
        content = b"".join(tfrecord(line(i).strip().encode()) for i in range(200))
        (self.folder / "a.part").write_bytes(content)
        job = self.run_job("framed", "known", "--workers=1", more=("tfrecord",))
        self.assertEqual(job.end(), 0, job.account())
        check_finished(self.place, "framed", self.place.model("framed"))
        damaged = bytearray(content)
        offset = content.index(tfrecord(line(150).strip().encode()))
        damaged[offset + 14] ^= 1
        (self.folder / "a.part").write_bytes(damaged)
        job = self.run_job("damaged", "known", "--workers=1", more=("tfrecord",))
        self.assertEqual(job.end(), 1, job.account())
        reason = job.events[-1]["reason"]
        self.assertIn(f"/a.part: the record at byte {offset} does not fit its checksum", reason)

    def test_a_stream_is_trained_once_each_whoever_dies(self):
        feeder = Feeder(self.folder, 6000, 6)
        feeder.start()
        job = self.run_job("stream", "stream", "--workers=3", *KILLS)
        self.assertTrue(feeder.half.wait(PATIENCE))
        job.wait_step(20)
        self.waits_for_records("stream")
        self.assertEqual(self.place.fired("stream"), {"compute@8=kill"})
        self.kill_leader(job)  # also while nothing comes
        feeder.may_go_on.set()
        self.assertEqual(job.end(), 0, job.account())
        check_told(self.place, "stream")
        self.assertEqual(job.events[-1]["samples"], 6000)
        self.assertEqual(self.numbers_of(self.trained("stream")), list(range(6000)))
        self.assertGreater(len({e["generation"] for e in job.kind("view")}), 3)

    def waits_for_records(self, name):
        deadline = time.monotonic() + PATIENCE
        while True:
            status = self.place.answer("status", name)
            if status["state"] == "waiting" and "the stream has" in status["reason"]:
                return status
            if time.monotonic() > deadline:
                raise Wrong(f"it does not wait: {status}")
            time.sleep(0.1)

    def test_a_stop_during_the_wait_and_a_resume_lose_nothing(self):
        feeder = Feeder(self.folder, 2000, 4)
        feeder.start()
        job = self.run_job("stop", "stream", "--workers=2")
        self.assertTrue(feeder.half.wait(PATIENCE))
        job.wait_step(5)
        self.waits_for_records("stop")
        self.place.answer("stop", "stop")
        self.assertEqual(job.end(), 0, job.account())
        self.assertEqual(job.events[-1].get("state", "stopped"), "stopped")
        feeder.may_go_on.set()
        feeder.join(PATIENCE)
        job = self.place.resume("stop", "--workers=3")
        self.assertEqual(job.end(), 0, job.account())
        check_told(self.place, "stop")
        self.assertEqual(self.numbers_of(self.trained("stop")), list(range(2000)))

    def test_what_cannot_be_is_refused(self):
        done = self.place.edl("run", "--epochs=2", "--name=twice", PROGRAM, "stream",
                              str(self.folder), code=1)
        self.assertIn("cannot train 2 epochs of a stream", done.stderr)
        (self.folder / "END").touch()
        job = self.run_job("empty", "stream", "--workers=1")
        self.assertEqual(job.end(), 1, job.account())
        self.assertIn("the stream has ended after 0 records", job.events[-1]["reason"])


if __name__ == "__main__":
    EDL = str(Path(sys.argv.pop(1)).resolve())
    PROGRAM = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
