"""Many processes on one machine, one killed every few seconds: the job goes on, and its bits
are those of one worker."""

import random
import signal
import time

from train_job import Wrong, check_told, send

LOGICAL = 64
STEPS_MAX = 10_000_000  # the job is ended by its time


class Crowd:
    def __init__(self, place, workers, seed):
        self.place = place
        self.workers = workers
        self.draw = random.Random(seed)

    def run(self, seconds, kill_every):
        """One line about it. Raises Wrong when something does not hold."""
        shape = [f"--logical-workers={LOGICAL}", "--batch=256"]
        job = self.place.run("crowd", f"--workers=1:{self.workers}", f"--start={self.workers}",
                             *shape, f"--steps={STEPS_MAX}", "--checkpoint-every=10s")
        job.wait_members(self.workers)
        end = time.monotonic() + seconds
        kills = 0
        while time.monotonic() + kill_every < end:
            time.sleep(kill_every)
            place = len(job.events)
            victim = self.draw.choice(sorted(job.members().items()))
            if not send(victim[1], signal.SIGKILL):
                continue
            kills += 1
            job.wait_for(lambda e, v=victim[0]: e["event"] == "view" and "pause_ms" in e
                         and v not in [m["id"] for m in e["members"]],
                         f"a view without {victim[0]}", place)
            job.wait_members(self.workers, place)
        self.place.answer("stop", "crowd")
        if job.end() != 0:
            raise Wrong(f"it failed\n{job.account()}")
        steps = job.events[-1]["steps"]
        self.check(steps, shape)
        pauses = sorted(e["pause_ms"] for e in job.kind("view") if "pause_ms" in e)
        return (f"{self.workers} processes, {kills} kills, {steps} steps, {len(pauses)} views, "
                f"pause median {pauses[len(pauses) // 2]:.0f} ms, longest {pauses[-1]:.0f} ms")

    def check(self, steps, shape):
        check_told(self.place, "crowd")
        reference = self.place.run("reference", "--workers=1", *shape, f"--steps={steps}",
                                   "--checkpoint-every=off")
        if reference.end(600 + steps) != 0:
            raise Wrong(f"the reference failed\n{reference.account()}")
        kept = self.place.directory("crowd") / f"checkpoints/{steps}/model.safetensors"
        if kept.read_bytes() != self.place.model("reference"):
            raise Wrong("the model has other bits than the reference")
