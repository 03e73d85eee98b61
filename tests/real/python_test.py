#!/usr/bin/python3
"""Programs in Python: the bits of the same program in C++, workers that come, go and die, and what
a user sees when the program is wrong. With another torch than that of the program in C++
(EDL_PYTHON) one worker in Python is what bits are compared with.
Run as: python_test.py PATH_OF_EDL PATH_OF_THE_EXAMPLES [unittest options]"""

import json
import os
import signal
import subprocess
import sys
import unittest
from pathlib import Path
from unittest import mock

from train_job import Place, check_finished, check_told, send

EDL = "edl"  # argv[1]
EXAMPLES = Path("examples")  # argv[2], of those in C++
ROOT = Path(__file__).resolve().parents[2]
OTHER_TORCH = "EDL_PYTHON" in os.environ
PYTHON = os.environ.get("EDL_PYTHON", "/usr/bin/python3")
DIGITS = (str(ROOT / "examples/digits.py"),)
SHAPE = ("--logical-workers=8", "--checkpoint-every=50steps")
PROLOGUE = """import edl, torch
def data(): return edl.datasets.digits()
def model():
    net = torch.nn.Linear(64, 10)
    return {"net": net, "optimizer": torch.optim.SGD(net.parameters(), lr=0.1)}
def forward(x, y, params):
    return torch.nn.functional.cross_entropy(params["net"](x), y)
"""


def reference_program():
    return DIGITS if OTHER_TORCH else (str(EXAMPLES / "digits"),)


class Scene(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = Place(EDL)

    @classmethod
    def tearDownClass(cls):
        cls.place.close()


class Digits(Scene):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        job = cls.place.run("reference", "--workers=1", *SHAPE,
                            program=reference_program())
        assert job.end() == 0, job.account()
        cls.hash = job.events[-1]["state_hash"]
        cls.reference = cls.place.model("reference")

    def finishes(self, job, name):
        self.assertEqual(job.end(), 0, job.account())
        check_finished(self.place, name, self.reference)
        return job.events[-1]

    def run_job(self, name, *options):
        return self.place.run(name, *SHAPE, *options, program=DIGITS)

    def test_it_has_the_bits_of_the_program_in_cpp(self):
        end = self.finishes(self.run_job("one", "--workers=1"), "one")
        self.assertEqual(end["state_hash"], self.hash)
        self.assertGreaterEqual(end["metrics"]["accuracy"], 0.97)
        self.assertTrue(self.place.answer("replay", "one", "--step=70")["equal"])

    def test_another_seed_gives_another_model(self):
        job = self.run_job("seed", "--workers=1", "--seed=5")
        self.assertEqual(job.end(), 0, job.account())
        self.assertNotEqual(self.place.model("seed"), self.reference)

    def test_workers_come_go_and_die(self):
        job = self.run_job("crowd", "--workers=1:4", "--start=1", "--steps=1000000")
        job.wait_step(20)
        self.place.answer("scale", "crowd", "--workers=4", "--wait")
        for number, leads in ((signal.SIGKILL, False), (signal.SIGKILL, True),
                              (signal.SIGSTOP, False)):
            before = len(job.events)
            leader = self.place.answer("leader", "crowd")["id"]
            victims = {i: pid for i, pid in job.members().items() if (i == leader) == leads}
            victim = list(victims.values())[0]
            send(victim, number)
            job.wait_for(lambda e: e["event"] == "view" and e["cause"] == "death", "a death",
                         before)
            if number == signal.SIGSTOP:
                send(victim, signal.SIGCONT)
            job.wait_members(4, before)
        self.place.answer("scale", "crowd", "--workers=2", "--wait")
        self.place.answer("stop", "crowd")
        self.assertEqual(job.end(), 0, job.account())
        check_told(self.place, "crowd")
        last = job.events[-1]["steps"]
        again = self.place.resume("crowd", "--workers=3")
        again.wait_step(last + 5)
        self.place.answer("stop", "crowd")
        self.assertEqual(again.end(), 0, again.account())
        end = again.events[-1]
        alone = self.place.run("alone", *SHAPE, "--workers=1", f"--steps={end['steps']}",
                               program=reference_program())
        self.assertEqual(alone.end(), 0, alone.account())
        self.assertEqual(end["state_hash"], alone.events[-1]["state_hash"])


class KeptLoop(Scene):
    PROGRAM = (str(ROOT / "tests/real/loop_program.py"),)
    STEPS = 230

    def test_workers_that_come_and_die_change_no_bit(self):
        alone = self.place.run("alone", "--workers=1", program=self.PROGRAM)
        self.assertEqual(alone.end(), 0, alone.account())
        self.assertEqual(alone.events[-1]["steps"], self.STEPS)
        self.assertLess(alone.kind("step")[-1]["loss"], 0.5)
        job = self.place.run("crowd", "--workers=1:4", "--start=3", "--checkpoint-every=50steps",
                             "--fault=compute@50=kill", "--fault=apply@120=kill",
                             program=self.PROGRAM)
        self.assertEqual(job.end(), 0, job.account())
        self.assertEqual(len(self.place.fired("crowd")), 2)
        self.assertIn("join", [view["cause"] for view in job.kind("view")])
        check_finished(self.place, "crowd", self.place.model("alone"))
        self.assertEqual(job.events[-1]["state_hash"], alone.events[-1]["state_hash"])
        last = max(Path(self.place.directory("crowd")).glob("log/*"),
                   key=lambda path: path.stat().st_mtime)
        self.assertIn("accuracy 0.9", last.read_text())

    def test_stop_and_resume(self):
        job = self.place.run("stop", "--workers=2", program=self.PROGRAM)
        job.wait_step(30)
        self.place.answer("stop", "stop")
        self.assertEqual(job.end(), 0, job.account())
        again = self.place.resume("stop", "--workers=3")
        self.assertEqual(again.end(), 0, again.account())
        alone = self.place.run("alone2", "--workers=1", program=self.PROGRAM)
        self.assertEqual(alone.end(), 0, alone.account())
        self.assertEqual(again.events[-1]["state_hash"], alone.events[-1]["state_hash"])


class Interplay(Scene):
    def test_shared_and_unused_parameters_and_any_optimizer(self):
        program = (str(ROOT / "tests/real/tied_program.py"),)
        hashes = []
        for name, options in (("tied1", ["--workers=1"]),
                              ("tied3", ["--workers=1:4", "--start=3", "--fault=compute@30=kill"])):
            job = self.place.run(name, *options, program=program)
            self.assertEqual(job.end(), 0, job.account())
            hashes.append(job.events[-1]["state_hash"])
        self.assertEqual(hashes[0], hashes[1])
        self.assertEqual(len(self.place.fired("tied3")), 1)
        checkpoint = max((self.place.directory("tied3") / "checkpoints").iterdir(),
                         key=lambda path: int(path.name))
        words = ("import edl; print({n: t.tolist() if t.numel() < 2 else tuple(t.shape) "
                 f"for n, t in edl.read_tensors({str(checkpoint)!r} + '/%s.safetensors').items()"
                 "})")
        model = run_python("-c", words % "model").stdout
        self.assertIn("'second.weight': (64, 64)", model)
        user = run_python("-c", words % "user").stdout
        self.assertIn("'steps': [69.0]", user)


class GradientOfTwo(Scene):
    """A loop that sets one tensor as the gradient of two parameters: what the core adds for one of
    them is not seen in the other."""
    TEXT = """
import edl, torch
edl.init()
one, other, net = torch.nn.Linear(64, 10), torch.nn.Linear(64, 10), torch.nn.Module()
net.one, net.other = one, other
optimizer = edl.Optimizer(torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9))
for epoch in edl.epochs(1):
    for x, y in edl.elastic_shard_generator(edl.datasets.digits(), logical_workers=8):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(one(x) + other(x.flip(1)), y).backward()
        other.weight.grad = one.weight.grad
        other.bias.grad = one.bias.grad
        optimizer.step()
"""

    def test_it_changes_no_bit_whether_it_is_given(self):
        hashes = set()
        for name, least in (("two-copied", 1 << 40), ("two-given", 0)):
            path = Path(self.place.folder) / f"{name}.py"
            path.write_text(f"import edl._gradients\nedl._gradients._GIVEN_BYTES = {least}\n"
                            + self.TEXT)
            job = self.place.run(name, "--workers=1", program=(str(path),))
            self.assertEqual(job.end(), 0, job.account())
            hashes.add(job.events[-1]["state_hash"])
        self.assertEqual(len(hashes), 1)


class Gradients(Scene):
    """Large ones are given to the core, which reads them later; small ones are copied."""
    TEXT = """
PULL = torch.linspace(-0.01, 0.01, 10)
class Pull(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1
    @staticmethod
    def backward(ctx, _):
        return PULL.detach()  # memory that is the program's
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(64, 10)
        self.one = torch.nn.Parameter(torch.zeros(2, 5))  # backward gives both the same memory
        self.other = torch.nn.Parameter(torch.zeros(10))
        self.drawn = torch.nn.Parameter(torch.zeros(10))
    def forward(self, x):
        return (self.first(x) + (self.one.view(10) + self.other.view(10))
                + Pull.apply(self.drawn))
def model():
    net = Net()
    return {"net": net, "optimizer": torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)}
logical_workers = 8
"""

    def test_it_changes_no_bit_which_are_given(self):
        hashes = set()
        for name, least, options in (("copied", 1 << 40, ["--workers=1"]),
                                     ("given", 0, ["--workers=1"]),
                                     ("given-by-two", 0, ["--workers=2", "--fault=apply@20=kill"])):
            path = Path(self.place.folder) / f"{name}.py"
            path.write_text(f"import edl._gradients\nedl._gradients._GIVEN_BYTES = {least}\n"
                            + PROLOGUE + self.TEXT)
            job = self.place.run(name, *options, program=(str(path),))
            self.assertEqual(job.end(), 0, job.account())
            hashes.add(job.events[-1]["state_hash"])
        self.assertEqual(len(hashes), 1)


class Mistakes(Scene):
    """What a user does wrong is said in the user's own words."""

    def program(self, name, text):
        path = Path(self.place.folder) / f"{name}.py"
        path.write_text(text)
        return (str(path),)

    def refused(self, name, text, *options):
        done = subprocess.run([EDL, "run", "--workers=1", f"--name={name}", *options,
                               *self.program(name, text)], cwd=self.place.folder,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=120)
        self.assertEqual(done.returncode, 1, done.stderr)
        return done.stderr

    def test_before_there_is_a_job(self):
        for name, text, sentence in (
                ("nothing", "x = 1\n", "neither calls edl.train or edl.init nor defines model"),
                ("raises", PROLOGUE + "raise KeyError('mine')\n", "KeyError: 'mine'"),
                ("syntax", "def f(:\n", "SyntaxError"),
                ("optimizer", PROLOGUE + "def model(): return {}\n", 'and its "optimizer"'),
                ("rows", PROLOGUE + "def data(): return torch.zeros(3, 2), torch.zeros(4)\n",
                 "have 3, 4 rows"),
                ("stream", PROLOGUE + "def data(): return 5\n", "the data are a int"),
                ("option", PROLOGUE + "edl.train(model, forward, data, epoch=3)\n",
                 "unexpected keyword argument 'epoch'")):
            with self.subTest(name=name):
                self.assertIn(sentence, self.refused(name, text))
                self.assertFalse(self.place.directory(name).exists())
        self.assertIn("no interpreter /nowhere/python",
                      self.refused("where", PROLOGUE, "--python=/nowhere/python"))

    def test_an_exception_while_it_trains(self):
        said = self.refused("late", PROLOGUE.replace(
            "    return torch.nn", "    calls.append(1)\n"
            "    if len(calls) > 9: raise ValueError('my words')\n"
            "    return torch.nn") + "calls = []\n")
        self.assertIn("ValueError: my words", said)
        self.assertIn("late.py", said)

    def test_in_a_loop(self):
        text = (ROOT / "tests/real/loop_program.py").read_text()
        for name, old, new, sentence in (
                ("no-step", "        optimizer.step()\n", "", "did not call optimizer.step()"),
                ("no-backward", "        loss.backward()\n", "", "no parameter has a gradient"),
                ("own", "        loss.backward()\n", "        1 / 0\n", "ZeroDivisionError"),
                ("no-optimizer", "optimizer = edl.Optimizer(optimizer", "dict(clip=optimizer",
                 "give the optimizer to EDL"),
                ("odd-buffer", "optimizer = edl.Opt", "net.register_buffer('odd', torch.zeros(1, "
                 "dtype=torch.complex64))\noptimizer = edl.Opt", "cannot be part of the state"),
                ("twice", "edl.init()", "edl.init(); edl.init()", "was called before"),
                ("late-state", "        optimizer.step()\n",
                 "        optimizer.step()\n        edl.register('late', averages[0])\n",
                 "edl.register('late', ...) belongs before the loop"),
                ("validates", "x, y = edl", "    for x, y in edl.elastic_shard_generator(data): "
                 "pass\nx, y = edl", "take the batches of a plain torch.utils.data.DataLoader"),
                ("two", "data = torch", "edl.Optimizer(torch.optim.SGD(net.parameters(), lr=1))\n"
                 "data = torch", "edl.Optimizer was made before"),
                ("unseen", "        loss.backward()\n",
                 "        for p, g in zip(net.parameters(), torch.autograd.grad(loss, "
                 "net.parameters())): p.grad = g\n", "EDL has seen no loss of this part"),
                ("not-finite", "        loss.backward()\n",
                 "        torch.autograd.backward([loss * float('nan')])\n", "the loss is nan")):
            with self.subTest(name=name):
                self.assertIn(sentence, self.refused(name, text.replace(old, new)))

    def test_what_a_worker_has_printed_survives_it(self):
        text = PROLOGUE.replace("    return torch.nn", "    print('a part')\n    return torch.nn")
        with mock.patch.dict(os.environ):
            os.environ.pop("PYTHONUNBUFFERED", None)  # who runs this may have it
            job = self.place.run("prints", "--workers=1", "--fault=compute@5/w1=kill",
                                 program=self.program("prints", text))
        self.assertEqual(job.end(), 0, job.account())
        log = (self.place.directory("prints") / "log/worker-w1.log").read_text()
        self.assertGreaterEqual(log.count("a part"), 4, log)

    def test_a_loss_that_is_no_number(self):
        said = self.refused("nan", PROLOGUE.replace("(x), y)", "(x), y) * float('nan')"))
        self.assertIn("the loss is nan", said)


def run_python(*words, folder=None):
    return subprocess.run([PYTHON, *words], cwd=folder, env={
        **os.environ, "PYTHONPATH": str(ROOT / "python"), "EDL_PROGRAM": EDL},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=240)


class Scripts(Scene):
    """A plain script that is started with python3, and the client."""
    TEXT = PROLOGUE + """
if __name__ == "__main__":
    params = edl.train(model, forward, data, epochs=2, workers=2)
    kept = edl.read_tensors("edl-jobs/script-1/model.safetensors")
    print("same", torch.equal(kept["weight"], params["net"].weight))
    job = edl.status("script-1")
    print(job["state"], job["step"], edl.verify("script-1")["verdict"])
    print("script-1" in [one["job"] for one in edl.jobs()], edl.explain("script-1")[0]["cause"])
    told = edl.scale("script-1", 3)
    print("yes:" if told["accepted"] else "no:", told["reason"])
"""

    def test_a_script_runs_itself_and_gets_the_trained_model(self):
        path = Path(self.place.folder) / "script.py"
        path.write_text(self.TEXT)
        done = run_python(path, folder=self.place.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        said = done.stdout.splitlines()
        self.assertEqual(said[:3], ["same True", "finished 46 proven", "True start"], said)
        self.assertEqual(said[3], "no: job script-1 does not run: it has finished.")

    TWICE = PROLOGUE + """
def model_after(params):
    def made():
        net = torch.nn.Linear(64, 10)
        if params is not None:
            net.load_state_dict(params["net"].state_dict())
        return {"net": net, "optimizer": torch.optim.SGD(net.parameters(), lr=0.1)}
    return made
def broken(x, y, params):
    raise ValueError("mine")
params = None
for epochs in (1, 2):
    params = edl.train(model_after(params), forward, data, epochs=epochs, workers=1)
    try:
        edl.train(model, broken, data, workers=1)
    except edl.Error as wrong:
        print("no:", wrong)
"""

    def test_it_may_train_more_than_once(self):
        path = Path(self.place.folder) / "calls.py"
        path.write_text(self.TWICE)
        done = run_python(path, folder=self.place.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        said = done.stdout.splitlines()
        self.assertEqual(len(said), 2, said)
        for line in said:
            self.assertIn("ValueError: mine (calls.py:", line)
        jobs = [self.place.answer("status", f"calls-{number}") for number in (1, 2, 3, 4)]
        self.assertEqual([job["state"] for job in jobs],
                         ["finished", "failed", "finished", "failed"])
        self.assertEqual([job["step"] for job in jobs[0:3:2]], [23, 46])
        # The second began with what the first had trained.
        losses = [json.loads(line)["loss"] for line in (
            self.place.directory("calls-3") / "events.jsonl").read_text().splitlines()
                  if '"event":"step"' in line]
        self.assertLess(losses[0], 2.0)
        self.assertTrue(self.place.answer("replay", "calls-3", "--step=46")["equal"])

    def test_what_it_says_of_workers_and_checkpoints_holds_under_edl_run(self):
        text = PROLOGUE + "edl.train(model, forward, data, workers='1:2', checkpoint='7steps')\n"
        path = Path(self.place.folder) / "says.py"
        path.write_text(text)
        for name, options, kept in (("says", (), ("1:2", "7steps")), (
                "typed", ("--workers=1", "--checkpoint-every=auto"), ("1", "auto"))):
            job = self.place.run(name, *options, program=(path,))
            self.assertEqual(job.end(), 0, job.account())
            spec = json.loads((self.place.directory(name) / "job.json").read_text())["spec"]
            self.assertEqual((spec["workers"], spec["checkpoint"]), kept, spec)

    def test_a_module_of_a_package(self):
        package = Path(self.place.folder) / "pkg"
        package.mkdir()
        (package / "__init__.py").touch()
        (package / "parts.py").write_text(PROLOGUE)
        (package / "main.py").write_text("from .parts import *\nimport sys\nparams = edl.train("
                                         "model, forward, data, workers=1)\n"
                                         "print('trained', sys.argv[1:])\n")
        done = run_python("-m", "pkg.main", "word", folder=self.place.folder)
        self.assertEqual(done.stdout, "trained ['word']\n", done.stderr)
        self.assertEqual(self.place.answer("status", "pkg-main-1")["state"], "finished")

    def test_a_runner_of_tests_is_refused(self):
        (Path(self.place.folder) / "test_it.py").write_text(
            "import unittest\n" + PROLOGUE + "class It(unittest.TestCase):\n"
            "    def test_it(self): edl.train(model, forward, data, workers=1)\n")
        done = run_python("-m", "unittest", "test_it", folder=self.place.folder)
        self.assertIn("that would be all tests: let the test start a script", done.stderr)

    def test_a_script_gets_all_that_was_trained(self):
        path = Path(self.place.folder) / "whole/whole.py"
        path.parent.mkdir()
        path.write_text(PROLOGUE.replace("lr=0.1)}", "lr=0.1, momentum=0.9), "
                                         "'average': torch.zeros(10)}") + """
def on_step(params, done):
    params["average"].lerp_(params["net"].bias.detach(), 0.1)
    params["optimizer"].param_groups[0]["lr"] *= 0.99
if __name__ == "__main__":
    params = edl.train(model, forward, data, on_step=on_step)
    folder = "edl-jobs/whole-1/checkpoints/23/"
    user = edl.read_tensors(folder + "user.safetensors")
    kept = edl.read_tensors(folder + "optimizer.safetensors")
    state = params["optimizer"].state[params["net"].weight]["momentum_buffer"]
    print(torch.equal(user["average"], params["average"]), bool(user["average"].any()),
          torch.equal(kept["weight/momentum_buffer"], state), bool(state.any()),
          round(params["optimizer"].param_groups[0]["lr"] / 0.99 ** 23, 6))
""")
        done = run_python(path, folder=path.parent)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.splitlines()[-1], "True True True True 0.1")

    def test_a_file_of_tensors_that_is_none(self):
        path = Path(self.place.folder) / "torn.safetensors"
        for content in (b"", b"12345678", b"\xff" * 64, b"\x02" + bytes(7) + b"{]"):
            path.write_bytes(content)
            done = run_python("-c", f"import edl; edl.read_tensors({str(path)!r})")
            self.assertIn("edl.errors.CorruptError", done.stderr)


class Package(unittest.TestCase):
    def test_importing_it_loads_no_framework(self):
        done = run_python("-c", "import sys, edl; print([m for m in ('torch', 'numpy') "
                          "if m in sys.modules])")
        self.assertEqual(done.stdout.strip(), "[]", done.stderr)


if __name__ == "__main__":
    EDL = str(Path(sys.argv.pop(1)).resolve())
    EXAMPLES = Path(sys.argv.pop(1)).resolve()
    unittest.main()
