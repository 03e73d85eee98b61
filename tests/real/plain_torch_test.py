#!/usr/bin/python3
"""Models go out to plain PyTorch and come in from it: the lines of docs/reference/checkpoints.md
load what the examples leave, evaluate it to the last sample and go on training as EDL does; and a
job begins with weights that plain PyTorch made.
Run as: plain_torch_test.py PATH_OF_EDL PATH_OF_THE_EXAMPLES [unittest options]"""

import json
import os
import re
import signal
import struct
import sys
import unittest
from pathlib import Path

import same_kernels  # noqa: F401  before torch
import torch
from torch.nn import functional

from mnist_test import SIDE, write_part
from train_job import Place, check_finished, send

EDL = "edl"  # argv[1]
EXAMPLES = Path("examples")  # argv[2]
ROOT = Path(__file__).resolve().parents[2]
MASK = 2**64 - 1


def documented_lines():
    """The functions that the document gives to its readers."""
    text = (ROOT / "docs/reference/checkpoints.md").read_text(encoding="utf-8")
    code = re.search(r"```python\n(.*?)```", text, re.DOTALL).group(1)
    names = {}
    exec(compile(code, "checkpoints.md", "exec"), names)
    return names["load_file"], names["load_optimizer"]


load_file, load_optimizer = documented_lines()


def write_weights(path, tensors):
    """Not as EDL writes them: any order, with metadata, no padding."""
    header, at = {"__metadata__": {"format": "pt"}}, 0
    for name, tensor in tensors.items():
        size = tensor.numel() * tensor.element_size()
        kind = {torch.float32: "F32", torch.float64: "F64", torch.int64: "I64"}[tensor.dtype]
        header[name] = {"shape": list(tensor.shape), "dtype": kind, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    body = b"".join(tensor.contiguous().numpy().tobytes() for tensor in tensors.values())
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


def mix(number):
    """splitmix64, of which the seeds of parts are made."""
    number = (number + 0x9E3779B97F4A7C15) & MASK
    number = ((number ^ number >> 30) * 0xBF58476D1CE4E5B9) & MASK
    number = ((number ^ number >> 27) * 0x94D049BB133111EB) & MASK
    return number ^ number >> 31


class DigitsNet(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = torch.nn.Linear(64, 128)
        self.output = torch.nn.Linear(128, 10)

    def forward(self, x):
        return self.output(torch.relu(self.hidden(x)))


class MnistNet(torch.nn.Module):
    def __init__(self):
        super().__init__()
        layers = []
        for before, after in ((1, 16), (16, 32)):
            layers += [torch.nn.Conv2d(before, after, 5, padding=2), torch.nn.BatchNorm2d(after),
                       torch.nn.ReLU(), torch.nn.MaxPool2d(2)]
        layers += [torch.nn.Flatten(), torch.nn.Dropout(0.4), torch.nn.Linear(32 * 7 * 7, 10)]
        self.layers = torch.nn.Sequential(*layers)

    def forward(self, x):
        return self.layers(x.unsqueeze(1))


def digits(test):
    """As edl/train/builtin has them: every fifth is held out."""
    lines = (ROOT / "edl/train/builtin/digits.txt").read_text(encoding="utf-8").splitlines()
    kept = [line for number, line in enumerate(lines) if (number % 5 == 0) == test]
    x = torch.tensor([["0123456789abcdefg".index(c) / 16 for c in line[:64]] for line in kept])
    return x, torch.tensor([int(line[-1]) for line in kept])


def images(folder, part):
    pixels = (folder / f"{part}-images-idx3-ubyte").read_bytes()[16:]
    labels = (folder / f"{part}-labels-idx1-ubyte").read_bytes()[8:]
    x = torch.frombuffer(bytearray(pixels), dtype=torch.uint8).reshape(-1, SIDE, SIDE)
    return x.float() * torch.tensor(1 / 255), torch.tensor(list(labels))


class Scene(unittest.TestCase):
    """A job of some steps, and the same job one step further."""
    steps = 100

    @classmethod
    def setUpClass(cls):
        cls.place = Place(EDL)
        torch.set_num_threads(1)
        cls.prepare()
        cls.ends = {}
        for name, steps in (("here", cls.steps), ("next", cls.steps + 1)):
            job = cls.run_job(name, f"--steps={steps}")
            assert job.end() == 0, job.account()
            cls.ends[name] = job.events[-1]

    @classmethod
    def tearDownClass(cls):
        cls.place.close()

    @classmethod
    def prepare(cls):
        pass

    @classmethod
    def run_job(cls, name, *options):
        return cls.place.run(name, "--workers=2", *cls.shape, *options, program=cls.program())

    def checkpoint(self, name, step):
        return self.place.directory(name) / f"checkpoints/{step}"

    def samples(self, name, step):
        parts = self.place.answer("data", "step", name, f"--step={step}")["parts"]
        return [sample for part in parts for sample in part["indices"]]

    def assert_near(self, found, wanted):
        self.assertEqual(set(found), set(wanted))
        for name, tensor in wanted.items():
            gap = (found[name].double() - tensor.double()).abs().max().item()
            self.assertLessEqual(gap, 1e-6, name)

    def loaded(self, name):
        net = self.net()
        net.load_state_dict(load_file(self.place.directory(name) / "model.safetensors"))
        return net

    def check_accuracy(self, name, data):
        net = self.loaded(name).eval()
        with torch.no_grad():
            right = (net(data[0]).argmax(1) == data[1]).sum().item()
        told = self.ends[name]["metrics"]["accuracy"] * len(data[1])
        self.assertAlmostEqual(told, right, places=6)
        self.assertGreater(right, len(data[1]) / 2)

    def check_next_step(self, data, seed=None):
        """One step of plain PyTorch from the checkpoint, beside the one that EDL has made."""
        net = self.net()
        folder = self.checkpoint("here", self.steps)
        net.load_state_dict(load_file(folder / "model.safetensors"))
        optimizer = self.optimizer(net)
        load_optimizer(folder / "optimizer.safetensors", net, optimizer)
        before = {name: tensor.clone() for name, tensor in net.state_dict().items()}
        if seed is not None:
            torch.manual_seed(seed)
        samples = self.samples("next", self.steps + 1)
        functional.cross_entropy(net(data[0][samples]), data[1][samples]).backward()
        optimizer.step()
        after = self.checkpoint("next", self.steps + 1)
        self.assert_near(net.state_dict(), load_file(after / "model.safetensors"))
        moved = max((tensor - before[name]).abs().max().item()
                    for name, tensor in net.state_dict().items())
        self.assertGreater(moved, 1e-4, "a step that changes nothing proves nothing")
        again = self.optimizer(net)
        load_optimizer(after / "optimizer.safetensors", net, again)
        for parameter in net.parameters():
            kept = {k: torch.as_tensor(v) for k, v in optimizer.state[parameter].items()}
            self.assert_near(kept, {k: torch.as_tensor(v)
                                    for k, v in again.state[parameter].items()})


class Digits(Scene):
    shape = ("--logical-workers=8", "--checkpoint-every=off")
    net = DigitsNet

    @classmethod
    def program(cls):
        return (str(EXAMPLES / "digits"),)

    def optimizer(self, net):
        return torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)

    def test_the_final_model_is_as_good_there_to_the_last_sample(self):
        self.check_accuracy("here", digits(test=True))

    def test_the_next_step_there_is_the_next_step_here(self):
        self.check_next_step(digits(test=False))

    def weights(self, name, **changed):
        torch.manual_seed(5)
        tensors = dict(reversed(self.net().state_dict().items()))
        tensors.update(changed)
        path = Path(self.place.folder) / name
        write_weights(path, {n: t for n, t in tensors.items() if t is not None})
        return path

    def test_a_job_begins_with_weights_from_there(self):
        path = self.weights("begin.safetensors")
        job = self.run_job("begin", f"--init={path}", "--steps=1", "--seed=7")
        self.assertEqual(job.end(), 0, job.account())
        torch.manual_seed(5)
        net = self.net()
        x, y = digits(test=False)
        samples = self.samples("begin", 1)
        functional.cross_entropy(net(x[samples]), y[samples]).backward()
        self.optimizer(net).step()
        self.assert_near(net.state_dict(),
                         load_file(self.place.directory("begin") / "model.safetensors"))
        spec = json.loads((self.place.directory("begin") / "job.json").read_text())["spec"]
        self.assertEqual(spec["init"]["path"], str(path))
        self.assertEqual(len(spec["init"]["sha256"]), 64)

    def test_what_began_with_weights_is_resumed_and_replayed_with_them(self):
        path = self.weights("again.safetensors")
        job = self.run_job("undisturbed", f"--init={path}", "--steps=1000")
        self.assertEqual(job.end(), 0, job.account())
        self.assertTrue(self.place.answer("replay", "undisturbed", "--step=30")["equal"])
        job = self.run_job("killed", f"--init={path}", "--steps=1000")
        job.wait_step(20)
        os.killpg(job.process.pid, signal.SIGSTOP)
        for pid in job.alive().values():  # nothing but the weights is there to go on from
            send(pid, signal.SIGKILL)
        os.killpg(job.process.pid, signal.SIGKILL)
        job.end()
        self.assertFalse(self.checkpoint("killed", 1000).exists())
        again = self.place.resume("killed", "--workers=3")
        self.assertEqual(again.end(), 0, again.account())
        check_finished(self.place, "killed", self.place.model("undisturbed"), may_be_lost=True)

    def test_weights_that_do_not_fit_are_told_of_before_there_is_a_job(self):
        for name, changed, sentence in (
                ("few", {"hidden.bias": None}, "the program has a tensor hidden.bias, but "),
                ("many", {"extra": torch.zeros(1)}, "has a tensor extra that the program does not"),
                ("form", {"output.bias": torch.zeros(11)},
                 "tensor output.bias is F32[10] in the program and F32[11] in "),
                ("type", {"output.bias": torch.zeros(10, dtype=torch.float64)},
                 "tensor output.bias is F32[10] in the program and F64[10] in ")):
            with self.subTest(name):
                job = self.run_job(name, f"--init={self.weights(name + '.safetensors', **changed)}")
                self.assertEqual(job.end(), 1, job.account())
                self.assertIn(sentence, job.said())
                self.assertFalse(self.place.directory(name).exists())
        job = self.run_job("pickle", f"--init={ROOT / 'README.md'}")
        self.assertEqual(job.end(), 1, job.account())
        self.assertIn("README.md is no file of weights", job.said())


class Mnist(Scene):
    """BatchNorm, dropout and Adam."""
    steps = 40
    shape = ("--logical-workers=1", "--batch=24", "--seed=11", "--checkpoint-every=off")
    net = MnistNet

    @classmethod
    def prepare(cls):
        cls.data = Path(cls.place.folder) / "data"
        cls.data.mkdir()
        for part, count in (("train", 300), ("t10k", 50)):
            write_part(cls.data, part, count)

    @classmethod
    def program(cls):
        return (str(EXAMPLES / "mnist"), "data")

    @classmethod
    def run_job(cls, name, *options):
        return cls.place.run(name, "--workers=1", *cls.shape, *options, program=cls.program())

    def optimizer(self, net):
        return torch.optim.Adam(net.parameters(), lr=0.002)

    def test_the_final_model_is_as_good_there_to_the_last_sample(self):
        self.check_accuracy("here", images(self.data, "t10k"))

    def test_the_next_step_there_is_the_next_step_here(self):
        step = self.steps + 1
        self.check_next_step(images(self.data, "train"), mix(mix(mix(11) ^ step) ^ 0))


if __name__ == "__main__":
    EDL = str(Path(sys.argv.pop(1)).resolve())
    EXAMPLES = Path(sys.argv.pop(1)).resolve()
    unittest.main()
