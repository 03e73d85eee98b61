#!/usr/bin/python3
"""A worker that stays while others come and go, and the agent that starts them, keep nothing of
those that went: no descriptor, no thread, no memory that grows with the changes of the view. One
job goes from one worker to two and back, up to a thousand times in half a minute.
Run as: leak_test.py PATH_OF_EDL [unittest options]"""

import base64
import json
import os
import socket
import sys
import time
import unittest
from pathlib import Path

from train_job import Place

EDL = "edl"  # argv[1]
CHANGES = int(os.environ.get("EDL_CHANGES", "1000"))
SECONDS = float(os.environ.get("EDL_SECONDS", "30"))  # then it has seen enough, if not all
CHANGES_MIN = 20
WARM_CHANGES = 6
WARM_STEPS = 4500  # a worker keeps the reports of its last 4096 steps
STEPS_UNTOLD = 200  # at most, that a worker has made and nobody has told yet
BYTES_A_STEP = 200
BYTES_A_RECORD = 120  # of the ledger, in an array that doubles
BYTES_A_CHANGE = 8 << 10  # the view and its events
BYTES_OF_CHANCE = 3 << 20  # the allocator's
CONNECTIONS_OF_CHANCE = 2  # to the store, which are kept for the next request


class Process:
    def __init__(self, pid):
        self.folder = Path("/proc") / str(pid)

    def descriptors(self):
        return len(list((self.folder / "fd").iterdir()))

    def threads(self):
        return len(list((self.folder / "task").iterdir()))

    def memory(self):
        """Bytes of its own that are in memory."""
        lines = (self.folder / "status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) << 10

    def quiet(self, descriptors, threads):
        """What it holds, at most so many within a few seconds: connections end a little later."""
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            now = (self.descriptors(), self.threads())
            if now[0] <= descriptors and now[1] <= threads:
                break
            time.sleep(0.1)
        return now


def ledger(steps):
    """Bytes of a ledger's array, all in memory where pages are huge, and of the one before it."""
    room = 1 << (steps - 1).bit_length()
    return BYTES_A_RECORD * (room + room // 2)


def put(path, key, value):
    """By the store's own door: a command of `edl` would take longer than the change."""
    coded = [base64.b64encode(text.encode()).decode() for text in (key, json.dumps(value))]
    body = json.dumps({"key": coded[0], "value": coded[1]})
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as stream:
        stream.settimeout(30)
        stream.connect(path)
        stream.sendall(f"POST /v3/kv/put HTTP/1.1\r\nHost: store\r\nContent-Length: {len(body)}\r\n"
                       f"Connection: close\r\n\r\n{body}".encode())
        answer = b""
        while piece := stream.recv(4096):
            answer += piece
    if not answer.startswith(b"HTTP/1.1 200"):
        raise AssertionError(answer)


class Leaks(unittest.TestCase):
    def setUp(self):
        self.place = Place(EDL)

    def tearDown(self):
        self.place.close()

    def change(self, workers):
        after = len(self.job.events)
        put(str(self.place.directory("j") / "store.sock"), "/edl/v1/jobs/j/wanted",
            {"workers": workers, "stop": False, "by": "a test", "reason": f"change to {workers}"})
        self.job.wait_members(workers, after)

    def steps(self):
        return self.job.kind("step")[-1]["step"]

    def test_nothing_is_kept_of_workers_that_came_and_went(self):
        self.job = self.place.start("run", "--json", "--name=j", "--workers=1:2",
                                    "--start=1", "--steps=100000000", "--epochs=100000000",
                                    "--checkpoint-every=off", "builtin:linear", "--work=80")
        self.job.wait_step(WARM_STEPS)
        stays = next(iter(self.job.members().items()))
        both = {stays[0]: Process(stays[1]), "the agent": Process(self.job.process.pid)}
        for _ in range(WARM_CHANGES // 2):
            self.change(2)
            self.change(1)
        time.sleep(2)  # connections that were closed are kept for a second
        before = {name: (p.descriptors(), p.threads(), p.memory()) for name, p in both.items()}
        steps, changes, deadline = self.steps(), 0, time.monotonic() + SECONDS
        while changes < CHANGES and time.monotonic() < deadline:
            self.change(2)
            self.change(1)
            changes += 2
        self.assertGreaterEqual(changes, CHANGES_MIN)
        self.assertEqual(self.job.members(), dict([stays]), "another worker was let go")
        for name, process in both.items():
            descriptors, threads, memory = before[name]
            now = process.quiet(descriptors, threads)
            held = [os.readlink(link) for link in (process.folder / "fd").iterdir()]
            grown = process.memory() - memory
            after = self.steps() + STEPS_UNTOLD
            allowed = (BYTES_OF_CHANCE + BYTES_A_CHANGE * changes + BYTES_A_STEP * (after - steps)
                       + ledger(after) - ledger(steps))
            print(f"{name}: {changes} changes, descriptors {descriptors} -> {now[0]}, threads "
                  f"{threads} -> {now[1]}, memory {memory >> 10} + {grown >> 10} KiB of "
                  f"{allowed >> 10}, {steps} -> {after} steps", flush=True)
            self.assertLessEqual(now[0], descriptors + CONNECTIONS_OF_CHANCE,
                                 f"{name} leaks descriptors: {sorted(held)}")
            self.assertLessEqual(now[1], threads, f"{name} leaks threads")
            self.assertLessEqual(grown, allowed, f"{name} leaks memory")


if __name__ == "__main__":
    EDL = sys.argv.pop(1)
    unittest.main()
