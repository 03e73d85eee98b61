#!/usr/bin/python3
"""Networks that torch.compile has compiled: workers that come and die change no bit, whichever
shapes each of them saw first, and the model has its plain names.
Needs a torch that has torch.compile; EDL_PYTHON names its interpreter.
Run as: compile_test.py PATH_OF_EDL [unittest options]"""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from train_job import Place, check_finished

EDL = "edl"  # argv[1]
ROOT = Path(__file__).resolve().parents[2]
PYTHON = os.environ.get("EDL_PYTHON", "/usr/bin/python3")
NOT_HERE = 77  # what ctest calls skipped
PATIENCE = 240.0  # g++ compiles each shape


class Compiled(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.place = Place(EDL)
        cls.addClassCleanup(cls.place.close)
        code = tempfile.TemporaryDirectory(prefix="edl-compiled-")
        cls.addClassCleanup(code.cleanup)
        cls.environment = {"TORCHINDUCTOR_CACHE_DIR": code.name}

    def run_job(self, name, what, *options):
        job = self.place.run(name, f"--python={PYTHON}", *options, environment=self.environment,
                             program=(str(ROOT / "tests/real/compile_program.py"), what))
        self.assertEqual(job.end(PATIENCE), 0, job.account())
        return job

    def crowd(self, what, reference):
        """Two are killed; those in their places see other shapes first."""
        name = f"{what}-crowd"
        job = self.run_job(name, what, "--workers=2:3", "--start=2", "--fault=compute@4=kill",
                           "--fault=compute@9=kill")
        self.assertEqual(len(self.place.fired(name)), 2)
        self.assertIn("join", [view["cause"] for view in job.kind("view")])
        check_finished(self.place, name, self.place.model(reference))

    def test_a_network_has_the_same_bits_and_its_plain_names(self):
        self.run_job("network", "network", "--workers=1")
        log = (self.place.directory("network") / "log/worker-w1.log").read_text()
        # One for 13, 12, 5 and 4 samples each: that some shapes share one would depend on their
        # order, which differs between workers.
        self.assertEqual(re.findall(r"^codes (\d+)$", log, re.MULTILINE)[-1:], ["4"], log)
        self.crowd("in-place", "network")
        names = subprocess.run(
            [PYTHON, "-c", "import edl, sys; print(*edl.read_tensors(sys.argv[1]))",
             self.place.directory("network") / "model.safetensors"],
            env={**os.environ, "PYTHONPATH": str(ROOT / "python")}, stdout=subprocess.PIPE,
            text=True, check=True).stdout.split()
        self.assertEqual(names, ["0.bias", "0.weight", "2.bias", "2.weight", "4.bias", "4.weight"])

    def test_a_forward_function_has_the_same_bits(self):
        self.run_job("function", "function", "--workers=1")
        self.crowd("function", "function")


def compiles():
    return subprocess.run([PYTHON, "-c", "import torch; torch.compile"], stderr=subprocess.DEVNULL,
                          check=False).returncode == 0


if __name__ == "__main__":
    EDL = str(Path(sys.argv.pop(1)).resolve())
    if not compiles():
        print(f"the torch of {PYTHON} has no torch.compile: make test-torch2 runs this with one "
              "that has")
        sys.exit(NOT_HERE)
    unittest.main()
