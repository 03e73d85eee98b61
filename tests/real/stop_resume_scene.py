"""A folder with a job in mode stop-resume: the script of docs/reference/stop-resume.md, and what
must hold when it has trained."""

import json
import math
import re
import sys
import time
import unittest
from pathlib import Path

from train_job import PATIENCE, Place

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "reference" / "stop-resume.md"
SCRIPT = re.search(r"```python\n(.*?)```", DOCUMENT.read_text(), re.S).group(1)
SAMPLES, EPOCHS, BATCH = map(int, re.search(
    r"SAMPLES, EPOCHS, BATCH = (\d+), (\d+), (\d+)", SCRIPT).groups())
STEPS = EPOCHS * math.ceil(SAMPLES / BATCH)
LINE = re.compile(r"generation (\d+) step (\d+) samples ?([\d ]*)")


class Scene(unittest.TestCase):
    edl_path = "edl"  # argv[1]

    def setUp(self):
        self.place = Place(self.edl_path)
        self.folder = Path(self.place.folder)
        (self.folder / "train.py").write_text(SCRIPT)

    def tearDown(self):
        self.place.close()

    def command(self, *options, words):
        return self.place.start("run", "--json", "--mode=stop-resume", "--name=j", *options, *words)

    def train(self, *options, pause="0.05"):
        return self.command(*options, words=["/usr/bin/python3", "train.py", pause])

    def shell(self, *options, script):
        return self.command(*options, words=["sh", "-c", script])

    def log(self, worker):
        path = self.place.directory("j") / "log" / f"worker-{worker}.log"
        return path.read_text() if path.exists() else ""

    def wait_until(self, condition, what):
        deadline = time.monotonic() + PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), deadline, what)
            time.sleep(0.02)

    def wait_for_log(self, worker, words):
        self.wait_until(lambda: words in self.log(worker), f"{words} in the log of {worker}")

    def wait_for_steps(self, view, count):
        """Until the worker of rank 0 of this view has begun so many steps."""
        first = view["members"][0]["id"]
        self.wait_until(lambda: self.log(first).count("step ") >= count, f"{count} steps")

    def views(self, job):
        return [v for v in job.kind("view") if "pause_ms" in v]

    def check_training(self):
        """Each sample once in each epoch, by what the workers printed; and the model."""
        newest = {}
        for path in (self.folder / "edl-jobs/j/log").glob("worker-*.log"):
            for line in map(LINE.match, path.read_text().splitlines()):
                generation, step = int(line[1]), int(line[2])
                samples = [int(word) for word in line[3].split()]
                kept, trained = newest.get(step, (0, []))
                if generation > kept:
                    newest[step] = (generation, samples)
                elif generation == kept:
                    newest[step] = (kept, trained + samples)
        self.assertEqual(sorted(newest), list(range(1, STEPS + 1)))
        generations = [newest[step][0] for step in sorted(newest)]
        self.assertEqual(generations, sorted(generations))
        trained = [sample for step in sorted(newest) for sample in sorted(newest[step][1])]
        self.assertEqual(trained, list(range(SAMPLES)) * EPOCHS)
        state = json.loads((self.folder / "state.json").read_text())
        self.assertEqual(state, {"step": STEPS, "epoch": EPOCHS, "position": 0,
                                 "model": EPOCHS * sum(range(SAMPLES))})

    def finish(self, job, code=0):
        self.assertEqual(job.end(), code, job.account())
        self.place.wait_until_empty()


def main():
    Scene.edl_path = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
