#!/usr/bin/python3
"""Jobs that write a checkpoint every two steps and lose all their processes again and again: there
is always a valid checkpoint, the newest one that was told of is what training goes on from, and the
model at the end is the undisturbed one. A checkpoint with a flipped bit is passed over.
Run as: checkpoint_kill_test.py PATH_OF_EDL [--kills=N] [--seed=N] [unittest options]"""

import hashlib
import json
import random
import signal
import sys
import time
import unittest
from pathlib import Path

from train_job import Place, check_finished, check_told, send

EDL = "edl"  # argv[1]
KILLS = 20
SEED = 1
LONG = 10_000_000  # steps of a job that is ended by the test


def is_valid(folder):
    """A checkpoint as docs/reference/checkpoints.md describes it."""
    try:
        manifest = json.loads((folder / "MANIFEST.json").read_text(encoding="utf-8"))
        files = [(folder / one["name"], one) for one in manifest["files"]]
        return manifest["step"] == int(folder.name) and len(files) >= 3 and all(
            path.stat().st_size == one["bytes"]
            and hashlib.sha256(path.read_bytes()).hexdigest() == one["sha256"]
            for path, one in files)
    except (OSError, ValueError):
        return False


class Kills(unittest.TestCase):
    def setUp(self):
        self.place = Place(EDL)

    def tearDown(self):
        self.place.close()

    def valid_steps(self):
        folder = self.place.directory("j") / "checkpoints"
        found = folder.iterdir() if folder.is_dir() else []
        return sorted(int(one.name) for one in found if is_valid(one))

    def newest_told(self):
        events = self.place.directory("j") / "events.jsonl"
        if not events.exists():
            return 0
        lines = events.read_text(encoding="utf-8").split("\n")[:-1]  # the last may be torn
        told = [e["step"] for e in map(json.loads, lines) if e["event"] == "checkpoint"]
        return max(told, default=0)

    def kill_all(self, but=None):
        """All at once, as far as that is possible."""
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in self.place.processes():
                if pid != but:
                    send(pid, number)

    def test_it_is_killed_again_and_again(self):
        dice = random.Random(SEED)
        job = self.place.run("j", "--workers=2", "--checkpoint-every=2steps", f"--steps={LONG}")
        job.wait_for(lambda e: e["event"] == "checkpoint", "a checkpoint")
        behind = 0  # kills that left an unfinished checkpoint
        for _ in range(KILLS):
            if dice.randrange(4) > 0:
                job.wait_for(lambda e: e["event"] == "checkpoint", "a checkpoint")
            time.sleep(dice.random() * 0.25)
            # A store that is left alone lives until the leases of the dead have run out, and who
            # resumes waits for that: 10 s each time.
            self.kill_all(self.place.store_pid() if dice.randrange(5) == 0 else None)
            job.end()
            told, valid = self.newest_told(), self.valid_steps()
            self.assertTrue(valid, f"no valid checkpoint; seed {SEED}")
            self.assertGreaterEqual(valid[-1], told, f"seed {SEED}")
            folders = list((self.place.directory("j") / "checkpoints").iterdir())
            behind += len(folders) > len(valid)
            job = self.place.resume("j", f"--workers={dice.randrange(1, 4)}")
            view = job.wait_for(lambda e: e["event"] == "view", "a view")
            self.assertGreater(view["first_step"], told, f"seed {SEED}")
        job.wait_step(self.newest_told() + 10)
        self.place.answer("stop", "j")
        self.assertEqual(job.end(), 0, job.account())
        steps = job.events[-1]["steps"]
        reference = self.place.run("alone", "--workers=1", f"--steps={steps}",
                                   "--checkpoint-every=off")
        self.assertEqual(reference.end(), 0, reference.account())
        kept = self.place.directory("j") / f"checkpoints/{steps}/model.safetensors"
        self.assertEqual(kept.read_bytes(), self.place.model("alone"))
        check_told(self.place, "j", may_be_lost=True)
        print(f"{KILLS} kills, {behind} of them left an unfinished checkpoint; {steps} steps")

    def test_a_checkpoint_with_a_flipped_bit_is_passed_over(self):
        reference = self.place.run("alone", "--workers=1", "--steps=800", "--checkpoint-every=off")
        self.assertEqual(reference.end(), 0, reference.account())
        job = self.place.run("j", "--workers=2", "--checkpoint-every=20steps", "--steps=800",
                             program=("builtin:mlp", "--work=4"))
        job.wait_for(lambda e: e["event"] == "checkpoint" and e["step"] >= 100, "a checkpoint")
        self.kill_all()
        job.end()
        before, newest = self.valid_steps()[-2:]
        path = self.place.directory("j") / f"checkpoints/{newest}/model.safetensors"
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
        self.assertEqual(self.valid_steps()[-1], before)
        again = self.place.resume("j", "--workers=3")
        view = again.wait_for(lambda e: e["event"] == "view", "a view")
        self.assertLessEqual(view["first_step"], before + 1)
        self.assertEqual(again.end(), 0, again.account())
        check_finished(self.place, "j", self.place.model("alone"), may_be_lost=True)
        logs = [path.read_text(errors="replace")
                for path in (self.place.directory("j") / "log").glob("worker-*.log")]
        sentence = (f"checkpoints/{newest}/model.safetensors does not have the hash that its "
                    "manifest says")
        self.assertTrue(any("a checkpoint is passed over" in log and sentence in log
                            for log in logs), self.place.logs("j"))


if __name__ == "__main__":
    EDL = str(Path(sys.argv.pop(1)).resolve())
    for word in [word for word in sys.argv if word.startswith(("--kills=", "--seed="))]:
        sys.argv.remove(word)
        name, value = word[2:].split("=")
        globals()[name.upper()] = int(value)
    unittest.main()
