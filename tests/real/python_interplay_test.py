#!/usr/bin/python3
"""What programs of PyTorch do besides: groups, micro batches, clipping, schedulers, averages, types
that are mixed, bfloat16, parameters that are shared or unused. Each with one worker and with three
of which some are killed: the same bits. And each as plain PyTorch computes it.
Run as: python_interplay_test.py PATH_OF_EDL [unittest options]"""

import re
import subprocess
import sys
import unittest
from pathlib import Path

import same_kernels  # noqa: F401  before torch
import torch
from torch import nn
from torch.optim import lr_scheduler

from interplay_schedules import SCHEDULES
from mnist_test import write_part
from train_job import Place, check_told

EDL = "edl"  # argv[1]
ROOT = Path(__file__).resolve().parents[2]
PROGRAM = str(ROOT / "tests/real/interplay_program.py")
sys.path.insert(0, str(ROOT / "python"))
KILLS = ("--workers=1:3", "--start=3", "--fault=compute@20=kill", "--fault=apply@45=kill")


class Scene(unittest.TestCase):
    def setUp(self):
        self.place = Place(EDL)
        self.addCleanup(self.place.close)
        self.folder = Path(self.place.folder)

    def ends_well(self, job):
        self.assertEqual(job.end(), 0, job.account())
        return job.events[-1]

    def check(self, *words, options=()):
        """Whether workers that die change a bit; answers the events of one that is alone."""
        alone = self.place.run("alone", "--workers=1", "--events=all", *options, program=words)
        end = self.ends_well(alone)
        crowd = self.place.run("crowd", *KILLS, *options, program=words)
        self.assertEqual(self.ends_well(crowd)["state_hash"], end["state_hash"])
        self.assertEqual(len(self.place.fired("crowd")), 2)
        check_told(self.place, "crowd")
        return alone

    def kept(self, file, name="alone"):
        """Tensors of the last checkpoint."""
        import edl

        folder = self.place.directory(name) / "checkpoints"
        newest = max(folder.iterdir(), key=lambda path: int(path.name))
        return edl.read_tensors(newest / f"{file}.safetensors")


class Interplay(Scene):
    def test_groups_micro_batches_clipping_and_a_schedule(self):
        job = self.check(PROGRAM, "groups")
        rates = [event["lr"] for event in job.kind("step")]
        self.assertAlmostEqual(rates[9], 0.1 * 0.99 ** 10, 9)

    def test_types_that_are_mixed_and_gradients_with_gaps(self):
        job = self.check(PROGRAM, "mixed")
        self.assertLess(job.kind("step")[-1]["loss"], 0.5)
        model = self.kept("model")
        self.assertEqual(model["fine"].dtype, torch.float64)
        self.assertEqual(tuple(model["across"].shape), (32, 64))
        self.assertTrue(torch.equal(model["first.weight"], model["second.weight"]))
        self.assertEqual(model["never"].abs().sum(), 0)
        self.assertGreater(model["sometimes"].abs().sum(), 0)

    def test_bfloat16(self):
        job = self.check(PROGRAM, "amp")
        self.assertLess(job.kind("step")[-1]["loss"], 0.5)
        self.assertEqual(self.kept("model")["0.weight"].dtype, torch.float32)

    def test_a_loop_that_accumulates(self):
        job = self.check(PROGRAM, "accumulate")
        losses = [event["loss"] for event in job.kind("step")]
        self.assertGreater(losses[0], 2)  # the mean over the samples, not of the last piece
        self.assertLess(losses[-1], 0.5)

    def test_a_scheduler_that_changes_more_than_rates(self):
        job = self.check(PROGRAM, "schedule", "one-cycle")
        rates = [event["lr"] for event in job.kind("step")]
        optimizer, scheduler = plain_scheduler("one-cycle")
        self.assertEqual(rates, [pair[0][0] for pair in plain_rates(optimizer, scheduler,
                                                                    range(len(rates)))])

    def test_averages_are_state(self):
        self.check(PROGRAM, "averages")
        user = self.kept("user")
        self.assertEqual(int(user["edl.average0.n_averaged"]), 69)
        self.assertFalse(torch.equal(user["edl.average0.module.0.weight"],
                                     self.kept("model")["0.weight"]))

    def test_several_networks_are_told_apart_by_their_names_in_every_process(self):
        for how, names in (("two-nets", {"body", "head"}),
                           ("two-nets-in-a-list", {"net0", "net1"})):
            with self.subTest(how=how):
                alone = self.place.run(f"{how}-alone", "--workers=1", program=(PROGRAM, how))
                end = self.ends_well(alone)
                model = self.kept("model", f"{how}-alone")
                self.assertEqual({name.split(".")[0] for name in model}, names)
                self.ends_well(self.place.run(f"{how}-half", "--workers=1", "--steps=20",
                                              program=(PROGRAM, how)))
                (self.folder / "collect").touch()
                again = self.place.run(f"{how}-again", "--workers=2", "--epochs=3",
                                       f"--from=edl-jobs/{how}-half", program=(PROGRAM, how))
                self.assertEqual(self.ends_well(again)["state_hash"], end["state_hash"])
                (self.folder / "collect").unlink()

    def test_buffers_that_are_in_no_state_dict(self):
        self.check(PROGRAM, "unsaved")
        model, user = self.kept("model"), self.kept("user")
        self.assertEqual(set(model), {"last.weight", "last.bias", "counted"})
        self.assertGreater(user["edl.buffer.drawn"].abs().sum(), 0)
        self.ends_well(self.place.run("half", "--workers=1", "--steps=20",
                                      program=(PROGRAM, "unsaved")))
        again = self.place.run("again", "--workers=1", "--epochs=3", "--from=edl-jobs/half",
                               program=(PROGRAM, "unsaved"))
        hashes = {self.ends_well(job)["state_hash"] for job in (
            again, self.place.run("one", "--workers=1", program=(PROGRAM, "unsaved")))}
        self.assertEqual(len(hashes), 1)
        said = self.place.edl("run", "--workers=1", PROGRAM, "unsaved-changed", code=1).stderr
        self.assertIn("the buffer drawn was changed by what computes a part", said)

    def test_clipping_a_part_is_refused(self):
        said = self.place.edl("run", "--workers=1", PROGRAM, "clip-part", code=1).stderr
        self.assertIn("give the norm to edl.Optimizer(optimizer, clip_norm=...)", said)


def plain_scheduler(name):
    parameters = [nn.Parameter(torch.zeros(1)) for _ in range(2)]
    optimizer = torch.optim.SGD([{"params": parameters[:1], "lr": 0.1},
                                 {"params": parameters[1:], "lr": 0.05}], lr=0.1, momentum=0.9)
    return optimizer, SCHEDULES[name](optimizer)


def plain_rates(optimizer, scheduler, steps):
    """Rate and momentum of each group, before each of these steps of a plain loop."""
    seen = []
    for step in steps:
        seen.append([(group["lr"], group["momentum"]) for group in optimizer.param_groups])
        optimizer.step()
        if isinstance(scheduler, lr_scheduler.ReduceLROnPlateau):
            scheduler.step(1.0 if step < 4 else 2.0)
        else:
            scheduler.step()
    return seen


class Schedulers(unittest.TestCase):
    """What schedulers keep goes to another process as bytes, and they go on there."""

    def test_each_goes_on_where_it_was(self):
        from edl._schedule_state import ScheduleState

        for name in SCHEDULES:
            with self.subTest(name=name):
                whole = plain_rates(*plain_scheduler(name), range(40))
                one, two = plain_scheduler(name), plain_scheduler(name)
                before, after = (ScheduleState(optimizer, [scheduler])
                                 for optimizer, scheduler in (one, two))
                plain_rates(*one, range(13))
                before.keep()
                after.bytes.copy_(before.bytes)
                after.loaded()
                self.assertEqual(plain_rates(*two, range(13, 40)), whole[13:])
                after.keep()  # there is room for what they have become


class BeforeAndAfter(Scene):
    """examples/mnist_plain.py and mnist_elastic.py, on small files of the same format."""

    def accuracy(self, text):
        return float(re.search(r"accuracy ([\d.]+)", text)[1])

    def test_five_lines_make_it_elastic(self):
        before, after = ((ROOT / f"examples/mnist_{name}.py").read_text().split('"""', 2)[2]
                         .splitlines() for name in ("plain", "elastic"))
        new = [line for line in after if line not in before]
        self.assertEqual(len(new), 5, new)
        self.assertEqual(len(before) - len(after), 1)  # three that one of these does, two are new

    def test_both_learn_and_kills_change_nothing(self):
        data = self.folder / "data"
        data.mkdir()
        write_part(data, "train", 900)
        write_part(data, "t10k", 200)
        done = subprocess.run(["/usr/bin/python3", ROOT / "examples/mnist_plain.py", data],
                              capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(self.accuracy(done.stdout), 0.9)
        job = self.check(str(ROOT / "examples/mnist_elastic.py"), str(data),
                         options=("--logical-workers=4",))
        self.assertEqual(job.events[-1]["steps"], 4 * 15)
        log = (self.place.directory("alone") / "log/worker-w1.log").read_text()
        self.assertGreater(self.accuracy(log), 0.9)


if __name__ == "__main__":
    EDL = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
