#!/usr/bin/python3
"""Programs in Python that run out of memory, wait for ever or are interrupted: nothing hangs, and
users see where their own program was.
Run as: python_trouble_test.py PATH_OF_EDL [unittest options]"""

import json
import os
import pty
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path

from train_job import PATIENCE, Place, send

EDL = "edl"  # argv[1]
ROOT = Path(__file__).resolve().parents[2]
PYTHON = os.environ.get("EDL_PYTHON", "/usr/bin/python3")
LATE = 40  # the part from which on something is wrong
PROGRAM = """import edl, threading, time, torch
gate = threading.Lock()
gate.acquire()

class Digits(torch.utils.data.Dataset):
    def __init__(self):
        self.x, self.y = edl.datasets.digits()
    def __len__(self):
        return len(self.y)
    def __getitem__(self, i):
        return self.x[i], self.y[i]

def data():
    return Digits()
def model():
    net = torch.nn.Linear(64, 10)
    return {"net": net, "optimizer": torch.optim.SGD(net.parameters(), lr=0.1)}
calls = 0
def forward(x, y, params):
    global calls
    calls += 1
    time.sleep(0.01)
    return torch.nn.functional.cross_entropy(params["net"](x), y)
epochs = 100
"""


class Scene(unittest.TestCase):
    def setUp(self):
        self.place = Place(EDL)
        self.addCleanup(self.place.close)

    def program(self, name, *changes):
        text = PROGRAM
        for old, new in changes:
            self.assertIn(old, text)
            text = text.replace(old, new)
        path = Path(self.place.folder) / f"{name}.py"
        path.write_text(text)
        return (str(path),)

    def fails(self, name, *changes, options=()):
        job = self.place.run(name, "--workers=2", *options, program=self.program(name, *changes))
        self.assertEqual(job.end(), 1, job.account())
        self.assertEqual(job.events[-1]["event"], "failed", job.account())
        log = Path(job.events[-1]["log"])
        return job, job.events[-1]["reason"], (
            log if log.is_absolute() else self.place.directory(name) / log).read_text()


class Words(Scene):
    """What is said when the program has failed."""

    def test_the_traceback_alone_however_deep(self):
        job, reason, _ = self.fails("deep", ("calls = 0", "def go(k):\n"
                                             "    if k == 0: raise RuntimeError('deep')\n"
                                             "    return [go, further][k % 2](k - 1)\n"
                                             "def further(k):\n    if k == 0: go(0)\n"
                                             "    return [go, further][k % 2](k - 1)\ncalls = 0"),
                                    ("    time.sleep(0.01)", "    go(40)"))
        said = job.said()
        self.assertNotIn("membership:", said)
        self.assertNotIn("  | ", said)
        lines = said[said.index("Traceback"):].splitlines()
        self.assertEqual(lines[0], "Traceback (most recent call last):")
        self.assertIn("in forward", lines[1])
        self.assertGreater(len(lines), 40)
        self.assertEqual(lines[-2], "RuntimeError: deep")
        self.assertEqual(lines[-1], f"edl: job deep failed: {reason}")


LOOP = """import edl, sys, torch
edl.init()
net = torch.nn.Linear(64, 10)
optimizer = edl.Optimizer(torch.optim.SGD(net.parameters(), lr=0.1))
for epoch in edl.epochs(50):
    for x, y in edl.elastic_shard_generator(edl.datasets.digits(), batch=64):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()
        if epoch == 1:
            WORDS
    if epoch == 1: break
"""


class LeftLoop(Scene):
    """A kept loop that ends before the job."""

    def leaves(self, name, words):
        path = Path(self.place.folder) / f"{name}.py"
        path.write_text(LOOP.replace("WORDS", words))
        job = self.place.run(name, "--workers=1", program=(str(path),))
        self.assertEqual(job.end(), 1, job.account())
        self.assertEqual(set(job.ends().values()), {"crashed"}, job.account())
        self.assertLessEqual(len(job.ends()), 6)
        return job

    def test_by_break(self):
        self.assertIn("the program left its loop (by break or return) while the job trains: how "
                      "long it trains is said by edl.epochs(n), --epochs and --steps",
                      self.leaves("broken", "break").events[-1]["reason"])

    def test_by_exit(self):
        for code in (0, 3):
            self.assertIn(f"left its loop (by SystemExit: {code})",
                          self.leaves(f"exit{code}", f"sys.exit({code})").events[-1]["reason"])

    def test_by_an_interrupt_of_its_own(self):
        job = self.leaves("interrupt", "raise KeyboardInterrupt('mine')")
        self.assertIn("KeyboardInterrupt: mine", job.events[-1]["reason"])
        self.assertIn("interrupt.py", job.said())

    def test_an_interrupt_before_it_is_a_crash(self):
        path = Path(self.place.folder) / "early.py"
        path.write_text("import os\nif os.environ['EDL_ROLE'] != 'describe':\n"
                        "    raise KeyboardInterrupt('early')\n" + PROGRAM)
        job = self.place.run("early", "--workers=1", program=(str(path),))
        self.assertEqual(job.end(), 1, job.account())
        self.assertEqual(set(job.ends().values()), {"crashed"}, job.account())
        self.assertIn("KeyboardInterrupt: early", job.said())


class Memory(Scene):
    def test_more_than_there_is(self):
        for name, words, sentence in (
                ("torch-memory", "torch.empty(1 << 48)", "RuntimeError"),
                ("python-memory", "bytearray(1 << 50)", "MemoryError")):
            with self.subTest(name=name):
                job, reason, log = self.fails(
                    name, ("    time.sleep(0.01)", f"    if calls > {LATE}: {words}"))
                self.assertIn(sentence, log)
                self.assertIn(f"{name}.py", log)
                self.assertIn(sentence, job.said())
                self.assertIn(sentence, reason)


class Waiting(Scene):
    def hangs(self, name, *changes):
        job, reason, log = self.fails(name, *changes, options=("--part-limit=2s",))
        self.assertIn("taken to hang", reason)
        self.assertIn("--part-limit", reason)
        self.assertEqual({end for end in job.ends().values()} - {"left", "killed"}, {"crashed"},
                         job.account())
        return job, log

    def test_in_forward(self):
        job, log = self.hangs("forward", ("    time.sleep(0.01)",
                                          f"    if calls > {LATE}: gate.acquire()"))
        for told in (log, job.said()):
            self.assertIn("in forward", told)
        self.assertIn("forward.py", log)

    def test_in_the_data_set(self):
        job, _ = self.hangs("data", ("        return self.x[i]",
                                     "        if calls > 40: gate.acquire()\n"
                                     "        return self.x[i]"))
        self.assertIn("in __getitem__", job.said())

    def test_in_a_hook(self):
        job, _ = self.hangs("hook", ("epochs = 100\n", "epochs = 100\ndef on_step(params, done):\n"
                                     "    if done.progress.step > 9: gate.acquire()\n"))
        self.assertIn("in on_step", job.said())
        self.assertIn("at its update", job.events[-1]["reason"])

    def test_in_a_process_that_loads(self):
        _, log = self.hangs(
            "loader", ("import edl,", "import edl._loaders\nedl._loaders._LATE_S = 1\nimport edl,"),
            ("        return self.x[i]", "        if i == 700: gate.acquire()\n"
             "        return self.x[i]"),
            ("    return Digits()",
             "    return torch.utils.data.DataLoader(Digits(), num_workers=1)"))
        self.assertIn("has not answered for 1 s", log)
        self.assertIn("in __getitem__", log)

    def test_one_worker_alone_is_replaced_and_the_job_goes_on(self):
        """Who hangs because of where it is, and not of what it computes."""
        marker = Path(self.place.folder) / "hung"
        job = self.place.run(
            "once", "--workers=2", "--part-limit=2s", "--steps=200", "--checkpoint-every=off",
            program=self.program("once", (
                "    time.sleep(0.01)",
                f"    import os\n    if calls == {LATE} and edl.rank() == 1 and not "
                f"os.path.exists({str(marker)!r}):\n        open({str(marker)!r}, 'w').close()\n"
                "        gate.acquire()")))
        self.assertEqual(job.end(), 0, job.account())
        self.assertTrue(marker.exists())
        self.assertEqual(sorted(job.ends().values()).count("crashed"), 1, job.account())
        self.assertEqual(self.place.answer("verify", "once")["verdict"], "proven")


class CtrlC(Scene):
    def test_it_stops_with_a_checkpoint_and_goes_on_later(self):
        job = self.place.run("stopped", "--workers=2", program=self.program("stopped"))
        job.wait_step(20)
        os.killpg(job.process.pid, signal.SIGINT)  # as a terminal does
        self.assertEqual(job.end(), 0, job.account())
        self.assertEqual(job.events[-1]["state"], "stopped", job.account())
        self.assertNotIn("KeyboardInterrupt", job.said())
        step = job.events[-1]["steps"]
        self.assertEqual(self.place.answer("status", "stopped")["checkpoint"]["step"], step)
        again = self.place.resume("stopped", "--workers=1")
        again.wait_step(step + 5)
        self.assertTrue(send(again.process.pid, signal.SIGINT))
        self.assertEqual(again.end(), 0, again.account())

    def test_while_a_part_waits_for_ever(self):
        job = self.place.run("waits", "--workers=2", "--grace=3s", program=self.program(
            "waits", ("    time.sleep(0.01)", f"    if calls > {LATE}: gate.acquire()")))
        job.wait_for(lambda e: e["event"] == "step" and e["step"] * 4 > LATE // 2, "steps")
        os.killpg(job.process.pid, signal.SIGINT)
        job.wait_said("Ctrl-C again")  # two that come at once are one
        os.killpg(job.process.pid, signal.SIGINT)
        self.assertIn(job.end(), (0, 1), job.account())

    HANGS = "    time.sleep(0.01)", f"    if calls > {LATE}: gate.acquire()"
    HURRIED = "--workers=2", "--grace=2s", "--events=all"

    def test_a_program_that_hangs_ends_within_the_grace(self):
        """Its two workers; the job then is where its last checkpoint is."""
        for name, options in (("early", ("--checkpoint-every=off",)),
                              ("late", ("--checkpoint-every=5steps",))):
            with self.subTest(name=name):
                job = self.place.run(name, *self.HURRIED, *options,
                                     program=self.program(name, self.HANGS))
                job.wait_step(LATE - 4)
                time.sleep(1)  # it hangs now
                os.kill(job.process.pid, signal.SIGINT)
                self.assertEqual(job.end(30), 0, job.account())
                end = job.events[-1]
                self.assertEqual((end["event"], end["state"]), ("finished", "stopped"))
                self.assertIn("no checkpoint" if name == "early" else
                              f"at its newest checkpoint, of step {end['steps']}", job.said())
                self.assertEqual(set(job.ends().values()), {"crashed"}, job.account())
                log = self.place.directory(name) / "log/worker-w1.log"
                self.assertIn("in forward", log.read_text())

    def processes(self):
        """That work for a job of this place: its workers and its store."""
        out = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if self.place.folder in words:
                out.append(words)
        return out

    def test_without_an_agent_who_hangs_ends_too(self):
        job = self.place.run("alone", *self.HURRIED, program=self.program("alone", self.HANGS))
        job.wait_step(LATE - 4)
        time.sleep(1)  # it hangs now
        self.assertTrue(send(job.process.pid, signal.SIGKILL))
        deadline = time.monotonic() + 30
        while left := self.processes():
            self.assertLess(time.monotonic(), deadline, left)
            time.sleep(0.1)

    def test_a_script_that_runs_itself(self):
        (path,) = self.program("script", ("epochs = 100\n", "if __name__ == '__main__':\n"
                                          "    edl.train(model, forward, data, epochs=100)\n"))
        with subprocess.Popen([PYTHON, path], cwd=self.place.folder, stderr=subprocess.PIPE,
                              text=True, start_new_session=True,
                              env={**os.environ, "PYTHONPATH": str(ROOT / "python"),
                                   "EDL_PROGRAM": EDL}) as script:
            said = []
            for line in script.stderr:
                said.append(line)
                if line.startswith("step "):
                    os.killpg(script.pid, signal.SIGINT)
                    break
            said += script.stderr.readlines()
            code = script.wait(PATIENCE)
        self.assertIn(code, (1, 130, -signal.SIGINT), "".join(said))
        self.assertIn("KeyboardInterrupt", "".join(said))
        self.assertEqual(self.place.answer("status", "script-1")["state"], "stopped")

    def in_a_terminal(self, path, *moments):
        """A script there, and Ctrl-C whenever the next of these words is shown. What was shown,
        and its status."""
        script, terminal = pty.fork()
        if script == 0:
            os.chdir(self.place.folder)
            os.environ.update({"PYTHONPATH": str(ROOT / "python"), "EDL_PROGRAM": EDL})
            os.execv(PYTHON, [PYTHON, path])
        self.addCleanup(os.close, terminal)
        shown, waits_for = "", list(moments)
        while True:
            try:
                shown += os.read(terminal, 1 << 16).decode(errors="replace")
            except OSError:  # nobody has it open any more
                return shown, os.waitpid(script, 0)[1]
            if waits_for and waits_for[0] in shown:
                os.write(terminal, b"\x03")
                waits_for.pop(0)

    SCRIPT = ("epochs = 100\n", "if __name__ == '__main__':\n"
                                 "    edl.train(model, forward, data, epochs=100)\n")

    def test_a_script_in_a_terminal(self):
        (path,) = self.program("typed", self.SCRIPT)
        shown, status = self.in_a_terminal(path, "step 2")
        self.assertIn("KeyboardInterrupt", shown)
        self.assertNotIn("Killing the workers", shown)
        self.assertEqual(os.WTERMSIG(status), signal.SIGINT, shown)
        events = [json.loads(line) for line in
                  (self.place.directory("typed-1") / "events.jsonl").read_text().splitlines()]
        self.assertEqual((events[-1]["event"], events[-1].get("state")), ("finished", "stopped"))
        self.assertEqual(self.place.answer("status", "typed-1")["checkpoint"]["step"],
                         events[-1]["steps"])

    def test_twice_in_a_terminal(self):
        (path,) = self.program("waits", self.SCRIPT, (
            "    time.sleep(0.01)", f"    if calls > {LATE}: gate.acquire()"))
        shown, _ = self.in_a_terminal(path, "step ", "Ctrl-C again")
        self.assertIn("Killing the workers", shown)
        self.assertIn("KeyboardInterrupt", shown)


if __name__ == "__main__":
    EDL = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
