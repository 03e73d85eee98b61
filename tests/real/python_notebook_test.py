#!/usr/bin/python3
"""`edl.train` in the cells of a notebook: a real kernel without a screen, as Jupyter runs it. The
model has the bits of the same program in a file. And what cannot be told to workers is refused.
Run as: python_notebook_test.py PATH_OF_EDL [unittest options]"""

import os
import queue
import subprocess
import sys
import unittest
from pathlib import Path
from unittest import mock

from jupyter_client.manager import KernelManager
from train_job import PATIENCE, Place

EDL = "edl"  # argv[1]
ROOT = Path(__file__).resolve().parents[2]
CELLS = ("import edl, torch\nfrom torch.nn import functional as F\nWIDTH, RATE = 32, 0.5",
         "class Net(torch.nn.Sequential):\n"
         "    def __init__(self):\n"
         "        super().__init__(torch.nn.Linear(64, WIDTH), torch.nn.ReLU(),\n"
         "                         torch.nn.Linear(WIDTH, 10))",
         "x, y = edl.datasets.digits()\nmean = x.mean(0)",
         "def model():\n"
         "    net = Net()\n"
         "    return {'net': net, 'optimizer': torch.optim.SGD(net.parameters(), lr=RATE)}\n"
         "def forward(x, y, params):\n"
         "    return F.cross_entropy(params['net'](x - mean), y)")
CALL = "params = edl.train(model, forward, (x, y), epochs=2, logical_workers=4, workers={})"


class Kernel:
    """Cells, one after the other."""

    def __init__(self, folder):
        # Of this interpreter. By sockets in the folder: ports are chosen before they are taken, and
        # meanwhile another test may take them.
        self.manager = KernelManager(transport="ipc", ip=f"{folder}/kernel")
        self.manager.start_kernel(cwd=folder, env={
            **os.environ, "PYTHONPATH": str(ROOT / "python"), "EDL_PROGRAM": EDL,
            "PYDEVD_DISABLE_FILE_VALIDATION": "1"})
        self.client = self.manager.blocking_client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=PATIENCE)

    def run(self, cell):
        """What it printed, and the error that it ended with, or None."""
        # Else a kernel passes over what it is asked in the moment after an error.
        asked = self.client.execute(cell, stop_on_error=False)
        said, error = "", None
        while True:
            try:
                message = self.client.get_iopub_msg(timeout=PATIENCE)
            except queue.Empty:
                raise AssertionError(f"the cell does not end:\n{cell}\n{said}") from None
            if message["parent_header"].get("msg_id") != asked:
                continue
            content = message["content"]
            if message["msg_type"] == "stream":
                said += content["text"]
            elif message["msg_type"] == "error":
                error = f"{content['ename']}: {content['evalue']}"
            elif message["msg_type"] == "status" and content["execution_state"] == "idle":
                return said, error

    def close(self):
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


class Notebook(unittest.TestCase):
    def setUp(self):
        self.place = Place(EDL)
        self.addCleanup(self.place.close)
        self.kernel = Kernel(self.place.folder)
        self.addCleanup(self.kernel.close)

    def works(self, cell):
        said, error = self.kernel.run(cell)
        self.assertIsNone(error, f"{said}\n{error}")
        return said

    def refused(self, cell):
        said, error = self.kernel.run(cell)
        self.assertIsNotNone(error, said)
        return error

    def test_a_cell_trains(self):
        for cell in CELLS:
            self.works(cell)
        self.works(CALL.format(2))
        said = self.works("print(float(F.cross_entropy(params['net'](x - mean), y)) < 1.5)\n"
                          "print(edl.status('notebook-1')['state'])")
        self.assertEqual(said.split(), ["True", "finished"])
        self.works(CALL.format(1))  # once more, another job
        self.assertEqual(self.place.model("notebook-1"), self.place.model("notebook-2"))
        path = Path(self.place.folder) / "script.py"
        path.write_text("\n".join([*CELLS, CALL.format(1)]))
        done = subprocess.run(["/usr/bin/python3", path], cwd=self.place.folder, timeout=PATIENCE,
                              capture_output=True, text=True, check=False, env={
                                  **os.environ, "PYTHONPATH": str(ROOT / "python"),
                                  "EDL_PROGRAM": EDL})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.place.model("script-1"), self.place.model("notebook-1"))

    def test_what_is_only_in_the_notebook_is_refused(self):
        for cell in CELLS:
            self.works(cell)
        self.works("numbers = iter(range(3))\n"
                   "def draws(x, y, params):\n    return forward(x, y, params) * next(numbers)")
        self.assertIn("draws uses numbers", self.refused(
            "edl.train(model, draws, (x, y), workers=1)"))
        self.assertIn("forward is a lambda", self.refused(
            "edl.train(model, lambda x, y, params: forward(x, y, params), (x, y))"))
        self.assertIn("did not finish", self.refused(
            "def forward(x, y, params):\n    raise ValueError('mine')\n"
            "edl.train(model, forward, (x, y), workers=1)"))

    def test_an_interpreter_without_sources_says_so(self):
        text = "\n\n".join(CELLS[:1] + CELLS[2:3]) + "\n" + \
            "def model(): return {}\n\n" + "edl.train(model, model, (x, y), workers=1)\n"
        with mock.patch.dict(os.environ, {"PYTHONPATH": str(ROOT / "python"), "EDL_PROGRAM": EDL}):
            done = subprocess.run(["/usr/bin/python3", "-i"], input=text, capture_output=True,
                                  cwd=self.place.folder, text=True, timeout=PATIENCE, check=False)
        self.assertIn("the source of model is not known in this interpreter", done.stderr)


if __name__ == "__main__":
    EDL = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
