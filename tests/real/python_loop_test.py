#!/usr/bin/python3
"""What a program in Python may ask of its job, and what it may save: facts of the view, checkpoints
at paths of its own, what stands behind the loops; whatever happens to workers.
Run as: python_loop_test.py PATH_OF_EDL [unittest options]"""

import hashlib
import json
import shutil
import signal
import sys
import unittest
from pathlib import Path

import same_kernels  # noqa: F401  before torch

from train_job import Place, check_told, send

EDL = "edl"  # argv[1]
ROOT = Path(__file__).resolve().parents[2]
FACTS = str(ROOT / "tests/real/facts_program.py")
SAVES = str(ROOT / "tests/real/saves_program.py")
STEPS = 4 * 23  # epochs of 1437 samples, 64 a step
FILES = ("model.safetensors", "optimizer.safetensors", "user.safetensors")


class Scene(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = Place(EDL)
        cls.folder = Path(cls.place.folder)

    @classmethod
    def tearDownClass(cls):
        cls.place.close()

    def ends_well(self, job):
        self.assertEqual(job.end(), 0, job.account())
        return job.events[-1]

    def run_alone(self, name, *options, program):
        return self.ends_well(self.place.run(name, "--workers=1", *options, program=program))

    def lines(self, name):
        """What each worker has printed, by its id."""
        logs = sorted((self.place.directory(name) / "log").glob("worker-*.log"))
        return {path.stem[len("worker-"):]: path.read_text().splitlines() for path in logs}

    def told(self, name):
        return {worker: [json.loads(line) for line in lines if line.startswith('{"where"')]
                for worker, lines in self.lines(name).items()}


SEEDED = """import edl, torch
{init}
net = torch.nn.Linear(64, 10)
optimizer = edl.Optimizer(torch.optim.SGD(net.parameters(), lr=0.1))
for epoch in edl.epochs(2):
    for x, y in edl.elastic_shard_generator(edl.datasets.digits(), batch=64):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()
"""


class Seed(Scene):
    def program(self, name, init):
        path = self.folder / f"{name}.py"
        path.write_text(SEEDED.format(init=init))
        return (path,)

    def test_the_command_lines_goes_before_the_programs(self):
        said = self.run_alone("said", program=self.program("said", "edl.init(seed=5)"))
        for name, init in (("typed", "edl.init()"), ("over", "edl.init(seed=7)")):
            end = self.run_alone(name, "--seed=5", program=self.program(name, init))
            self.assertEqual(end["state_hash"], said["state_hash"])
        other = self.run_alone("other", program=self.program("other", "edl.init()"))
        self.assertNotEqual(other["state_hash"], said["state_hash"])

    def test_a_job_keeps_the_one_that_it_began_with(self):
        program = self.program("kept", "edl.init()")
        whole = self.run_alone("whole", "--seed=5", program=program)
        job = self.place.run("kept", "--seed=5", "--workers=1", "--checkpoint-every=off",
                             "--fault=compute@20=exit:1", "--fault=compute@30=stop:600000",
                             program=program)
        job.wait_said("Fault compute@30=stop")
        send(job.process.pid, signal.SIGKILL)
        job.end()
        again = self.place.resume("kept", "--workers=2")
        self.assertEqual(self.ends_well(again)["state_hash"], whole["state_hash"])
        self.assertTrue(self.place.answer("replay", "kept", "--step=30")["equal"])


class Facts(Scene):
    def crowd(self, name, how):
        """A job that grows and loses its leader."""
        job = self.place.run(name, "--workers=1:3", "--start=2", "--epochs=25",
                             program=(FACTS, how))
        job.wait_step(12)
        self.place.answer("scale", name, "--workers=3", "--wait")
        seen = len(job.events)
        send(job.members()[self.place.answer("leader", name)["id"]], signal.SIGKILL)
        job.wait_members(3, seen)
        job.wait_step(job.kind("view")[-1]["first_step"] + 12)
        return job

    def check(self, job, told):
        """Each line is true of the view that computed its step, and equal lines have one hash."""
        views = {view["generation"]: view for view in job.kind("view")}
        firsts = {generation: view["first_step"] for generation, view in views.items()}
        hashes, ranked = {}, 0
        for worker, lines in told.items():
            for line in lines:
                view = views[line["generation"]]
                self.assertEqual(line["size"], len(view["members"]), line)
                if line["step"] is not None:
                    later = [first for generation, first in firsts.items()
                             if generation > line["generation"]]
                    self.assertLessEqual(view["first_step"], line["step"])
                    self.assertTrue(all(line["step"] < first for first in later), (line, firsts))
                    hashes.setdefault(line["step"], set()).add(line["state_hash"])
                if line["rank"] < 0:
                    self.assertEqual((line["where"], line["leader"]), ("hook", ""))
                    continue
                ranked += 1
                self.assertEqual(view["members"][line["rank"]]["id"], worker, line)
                self.assertEqual(line["logical_workers"], 4)
                self.assertIn(line["leader"], [member["id"] for member in view["members"]])
                self.assertEqual(line["leads"], line["leader"] == worker)
        self.assertGreater(ranked, 10)
        self.assertEqual({len(same) for same in hashes.values()}, {1}, hashes)
        return hashes

    def check_hints(self, job, told):
        """They are those of one view that the worker was in, and stay so."""
        for worker, lines in told.items():
            hints = [line["hints"] for line in lines if line["hints"]]
            if not hints:
                continue
            self.assertEqual(hints, hints[:1] * len(hints))
            self.assertEqual(hints[0]["LOCAL_RANK"], hints[0]["RANK"])
            places = {(member["rank"], len(view["members"])) for view in job.kind("view")
                      for member in view["members"] if member["id"] == worker}
            self.assertIn((hints[0]["RANK"], hints[0]["WORLD_SIZE"]), places)

    def test_in_a_kept_loop(self):
        job = self.crowd("loop", "loop")
        end = self.ends_well(job)
        told = self.told("loop")
        hashes = self.check(job, told)
        self.check_hints(job, told)
        behind = [line for lines in told.values() for line in lines if line["where"] == "behind"]
        self.assertEqual({line["state_hash"] for line in behind}, {end["state_hash"]})
        self.assertEqual(len(behind), 3)
        self.assertTrue(any(line["where"] == "body" for lines in told.values() for line in lines))
        alone = self.run_alone("alone", "--epochs=25", program=(FACTS, "loop"))
        self.assertEqual(alone["state_hash"], end["state_hash"])
        for line in self.told("alone")["w1"]:
            if line["step"] in hashes:
                self.assertEqual(hashes[line["step"]], {line["state_hash"]})

    def test_in_a_program_of_nothing_but_forward(self):
        job = self.crowd("forward", "forward")
        self.place.edl_may_fail("stop", "forward")
        self.ends_well(job)
        told = self.told("forward")
        self.check(job, told)
        self.check_hints(job, told)
        self.assertTrue(self.place.answer("replay", "forward", "--step=15")["equal"])

    def test_before_the_loop_nothing_is_known(self):
        said = self.place.edl("run", "--workers=1", FACTS, "early", code=1).stderr
        self.assertIn("this is known while a job trains", said)


class Saved(Scene):
    def content(self, folder, files=FILES):
        return {name: hashlib.sha256((self.folder / folder / name).read_bytes()).hexdigest()
                for name in files}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        job = cls.place.run("alone", "--workers=1", program=(SAVES,))
        assert job.end() == 0, job.account()
        cls.alone = job.events[-1]
        (cls.folder / "reference").mkdir()
        for path in cls.saved():
            shutil.move(path, cls.folder / "reference" / path.name)
        assert [path.name for path in cls.folder.glob(".*")] == []

    @classmethod
    def saved(cls):
        return [*cls.folder.glob("epoch-*"), cls.folder / "latest", cls.folder / "last"]

    def tearDown(self):
        for path in self.saved():
            shutil.rmtree(path, ignore_errors=True)

    def check_saved(self):
        for path in sorted((self.folder / "reference").iterdir()):
            self.assertEqual(self.content(path.name), self.content(path), path.name)

    def test_kills_change_no_byte_of_what_is_saved(self):
        job = self.place.run("crowd", "--workers=1:4", "--start=3", "--fault=apply@23=kill",
                             "--fault=compute@24=kill", "--fault=compute@47=kill",
                             "--fault=apply@71=kill", program=(SAVES,))
        end = self.ends_well(job)
        self.assertEqual(len(self.place.fired("crowd")), 4)
        self.assertEqual(end["state_hash"], self.alone["state_hash"])
        self.check_saved()
        kept = self.place.answer("hash", str(self.folder / "last"))["state_hash"]
        self.assertEqual(kept, end["state_hash"])
        check_told(self.place, "crowd")

    def test_stop_and_resume_at_another_size(self):
        job = self.place.run("stop", "--workers=3", program=(SAVES,))
        job.wait_step(STEPS // 3)
        self.place.answer("stop", "stop")
        self.assertEqual(job.end(), 0, job.account())
        again = self.place.resume("stop", "--workers=2")
        self.assertEqual(self.ends_well(again)["state_hash"], self.alone["state_hash"])
        self.check_saved()

    def test_a_program_goes_on_with_what_another_job_has_saved(self):
        saved = str(self.folder / "reference/epoch-1")
        for name, options in (("again", ("--workers=1",)),
                              ("again3", ("--workers=1:3", "--start=3",
                                          "--fault=compute@60=kill"))):
            job = self.place.run(name, *options, program=(SAVES, saved))
            self.assertEqual(self.ends_well(job)["state_hash"], self.alone["state_hash"])
            self.assertEqual(job.kind("view")[0]["first_step"], 47)
        loaded = (self.place.directory("again") / "log/parent.log").read_text()
        self.assertIn("began with 46", loaded)
        # It is a job like any other.
        job = self.place.run("stopped", "--workers=2", program=(SAVES, saved))
        job.wait_step(60)
        self.place.answer("stop", "stopped")
        self.assertEqual(job.end(), 0, job.account())
        again = self.place.resume("stopped", "--workers=1")
        self.assertEqual(self.ends_well(again)["state_hash"], self.alone["state_hash"])
        # The weights alone are another beginning.
        end = self.run_alone("weights", program=(SAVES, saved + "/model.safetensors"))
        self.assertEqual(end["steps"], STEPS)
        self.assertNotEqual(self.place.model("weights"), self.place.model("again"))

    def test_a_job_goes_on_from_what_another_has_saved(self):
        saved = self.folder / "reference/epoch-1"
        for workers, options in ((1, ()), (3, ("--fault=compute@60=kill",))):
            name = f"on{workers}"
            shutil.copy(self.folder / "alone.trace", self.folder / f"{name}.trace")  # its history
            job = self.place.run(name, f"--workers={workers}", f"--from={saved}", *options,
                                 program=(SAVES,))
            self.assertEqual(self.ends_well(job)["state_hash"], self.alone["state_hash"])
            self.assertEqual(job.kind("view")[0]["first_step"], 47)
            check_told(self.place, name)
        moved = self.folder / "moved"
        shutil.copytree(saved, moved)
        again = self.place.run("moved", "--workers=2", f"--from={moved}", program=(SAVES,))
        self.assertEqual(self.ends_well(again)["state_hash"], self.alone["state_hash"])
        state = json.loads((moved / "state.json").read_text())
        self.assertEqual(state["user"]["job"], str(self.place.directory("alone")))

    def test_plain_pytorch_goes_on_from_it_and_back(self):
        import torch

        from plain_torch_test import load_file, load_optimizer, write_weights
        saved = self.folder / "reference/epoch-1"
        net = torch.nn.Sequential(torch.nn.Linear(64, 48), torch.nn.BatchNorm1d(48))
        tensors = load_file(saved / "model.safetensors")
        net.load_state_dict({name: tensor for name, tensor in tensors.items() if name[0] in "01"})
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
        load_optimizer(saved / "optimizer.safetensors", net, optimizer)
        self.assertEqual(len(optimizer.state_dict()["state"]), 4)
        self.assertEqual(int(tensors["1.num_batches_tracked"]), 46)
        # A plain state_dict that somebody else wrote.
        write_weights(self.folder / "plain.safetensors", tensors)
        end = self.run_alone("plain", "--steps=1", program=(SAVES, "plain.safetensors"))
        end_of_edl = self.run_alone("edl", "--steps=1", program=(
            SAVES, str(saved / "model.safetensors")))
        self.assertEqual(end["state_hash"], end_of_edl["state_hash"])

    def test_what_cannot_be_loaded_is_refused_with_a_sentence(self):
        other = self.folder / "other"
        shutil.copytree(self.folder / "reference/last", other)
        (other / "user.safetensors").write_bytes(b"torn")
        for path, sentence in (("nowhere", "neither a checkpoint nor a file of weights"),
                               ("other", "its SHA-256 is another one"),
                               ("other/optimizer.safetensors", "the file has no 0.weight")):
            said = self.place.edl("run", "--workers=1", SAVES, path, code=1).stderr
            self.assertIn(sentence, said)


class Behind(Scene):
    def test_what_stands_behind_the_loops_runs_when_steps_end_a_job(self):
        job = self.place.run("early", "--workers=2", "--steps=37", program=(SAVES,))
        end = self.ends_well(job)
        self.assertEqual(end["steps"], 37)
        for lines in self.lines("early").values():
            self.assertIn("accuracy", "\n".join(lines))
        kept = self.place.answer("hash", str(self.folder / "last"))["state_hash"]
        self.assertEqual(kept, end["state_hash"])

    def test_the_job_may_have_other_epochs_than_the_program(self):
        for epochs in (2, 6):
            name = f"epochs{epochs}"
            end = self.run_alone(name, f"--epochs={epochs}", program=(SAVES,))
            self.assertEqual(end["epochs"], epochs)
            self.assertIn("accuracy", "\n".join(self.lines(name)["w1"]))
            self.assertTrue((self.folder / f"epoch-{epochs - 1}").is_dir())

    def test_a_job_that_is_stopped_does_not_run_it(self):
        job = self.place.run("stop", "--workers=2", "--epochs=1000", program=(SAVES,))
        job.wait_step(20)
        self.place.answer("stop", "stop")
        self.assertEqual(job.end(), 0, job.account())
        for lines in self.lines("stop").values():
            self.assertNotIn("accuracy", "\n".join(lines))


if __name__ == "__main__":
    EDL = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
