#!/usr/bin/python3
"""Workers of one machine whose gradients are large enough to pass through shared memory: the model
has the bits of the one-worker reference whoever comes, goes or is killed, and nothing is left.
Run as: train_neighbours_test.py PATH_OF_EDL [unittest options]"""

import signal
import sys
import unittest
from pathlib import Path

from train_job import Place, check_finished, send

EDL = "edl"  # argv[1]
PROGRAM = ("builtin:mlp", f"--ballast={12 << 20}")  # 6 MiB of gradients a step
STEPS = 1000  # more than pass while workers come


def lent_to(pid):
    """How many memories of others a process sees."""
    return sum("memfd:edl" in line and " r--s " in line
               for line in Path(f"/proc/{pid}/maps").read_text().splitlines())


class Neighbours(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = Place(EDL)
        alone = cls.place.run("alone", "--workers=1", "--logical-workers=4", f"--steps={STEPS}",
                              program=PROGRAM)
        assert alone.end() == 0, alone.account()
        cls.reference = cls.place.model("alone")

    @classmethod
    def tearDownClass(cls):
        cls.place.close()

    def test_bits_are_those_of_one_worker_while_workers_come_and_go(self):
        job = self.place.run("crowd", "--workers=1:4", "--start=1", "--logical-workers=4",
                             f"--steps={STEPS}", program=PROGRAM)
        job.wait_step(10)
        for workers in (3, 4, 2):
            before = len(job.events)
            self.place.answer("scale", "crowd", f"--workers={workers}", "--wait")
            job.wait_members(workers, after=before)
            seen = [lent_to(pid) for pid in job.members().values()]
            self.assertTrue(all(count >= workers - 1 for count in seen), (workers, seen))
        leader = self.place.answer("leader", "crowd")["id"]
        for whom in (lambda id: id != leader, lambda id: id == leader):
            before = len(job.events)
            members = job.members()
            send(next(pid for id, pid in members.items() if whom(id)), signal.SIGKILL)
            job.wait_members(2, after=before)
        self.assertEqual(job.end(), 0, job.account())
        check_finished(self.place, "crowd", self.reference)
        self.place.wait_until_empty()


if __name__ == "__main__":
    EDL = sys.argv.pop(1)
    unittest.main(verbosity=2)
