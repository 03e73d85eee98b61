#!/usr/bin/python3
"""Machines that compute other bits: their workers are refused while the job trains on, and a job
that goes on among them says so. Other libraries and instructions come from variables and copies.
Run as: fingerprint_test.py PATH_OF_EDL PATH_OF_THE_EXAMPLES [unittest options]"""

import json
import os
import shutil
import signal
import sys
import unittest
from pathlib import Path

from train_job import Place, Wrong, check_fields

EDL = "edl"  # argv[1]
EXAMPLES = Path("examples")  # argv[2]
SHAPE = ("--logical-workers=4", "--checkpoint-every=off")
BLAS = Path("/usr/lib/x86_64-linux-gnu/libblas.so.3")
VARIABLES = ("ATEN_CPU_CAPABILITY", "OPENBLAS_CORETYPE", "DNNL_MAX_CPU_ISA", "LD_LIBRARY_PATH")
OTHER = {"OPENBLAS_CORETYPE": "Nehalem"}


class Scene(unittest.TestCase):
    def setUp(self):
        for name in VARIABLES:
            os.environ.pop(name, None)
        self.place = Place(EDL)
        self.addCleanup(self.place.close)
        self.program = (str(EXAMPLES / "digits"),)

    def blas_in(self, folder):
        """The environment of a program that finds its BLAS in a folder of this name."""
        path = Path(self.place.folder) / folder
        path.mkdir()
        shutil.copy(BLAS.resolve(), path / "libblas.so.3")
        return {"LD_LIBRARY_PATH": str(path)}

    def run_job(self, name, *options, environment=None):
        return self.place.run(name, *SHAPE, *options, program=self.program,
                              environment=environment)

    def join_words(self, name, program):
        run = json.loads((self.place.directory(name) / "run.json").read_text())
        return ["join", f"--store={','.join(run['store'])}", f"--job={name}", "--workers=1",
                f"--secret-file={self.place.directory(name) / 'secret'}", "--address=127.0.0.1",
                "--dir=guest", *program]

    def stopped(self, job, name):
        """The step and the model that it ended with."""
        self.place.answer("stop", name)
        self.assertEqual(job.end(), 0, job.account())
        check_fields(job.events)
        step = job.events[-1]["steps"]
        kept = self.place.directory(name) / f"checkpoints/{step}/model.safetensors"
        return step, kept.read_bytes()

    def trained(self, name, steps, environment=None, options=()):
        job = self.run_job(name, "--workers=1", f"--steps={steps}", *options,
                           environment=environment)
        self.assertEqual(job.end(), 0, job.account())
        return self.place.model(name)


class Joining(Scene):
    def test_other_bits_are_refused_and_the_job_trains_on(self):
        job = self.run_job("j", "--workers=1:4", "--start=1", "--steps=1000000")
        job.wait_step(10)
        for words, environment in (("blas is OpenBLAS", OTHER),
                                   ("isa is", {"ATEN_CPU_CAPABILITY": "default"}),
                                   ("blas is reference", self.blas_in("blas"))):
            with self.subTest(words):
                done = self.place.edl(*self.join_words("j", self.program), code=1,
                                      environment=environment)
                self.assertIn("cannot join job j: numbers have other bits here", done.stderr)
                self.assertIn(words, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertEqual(self.place.answer("status", "j")["wanted"], 1)
        self.assertEqual(len(job.kind("view")), 2, "nobody came, and nobody noticed")
        guest = self.place.start(*self.join_words("j", self.program))  # the control
        joined = job.wait_members(2)
        job.wait_step(joined["first_step"] + 20)
        guest.process.send_signal(signal.SIGINT)
        self.assertEqual(guest.end(), 0, guest.account())
        step, model = self.stopped(job, "j")
        self.assertEqual(model, self.trained("alone", step))

    def test_a_worker_that_differs_from_what_was_asked_goes_without_harm(self):
        """The library is replaced after `edl join` asked the program."""
        script = Path(self.place.folder) / "program"
        script.write_text("#!/bin/sh\n"
                          f'[ "$EDL_ROLE" = describe ] || export OPENBLAS_CORETYPE=Nehalem\n'
                          f"exec {self.program[0]}\n")
        script.chmod(0o755)
        job = self.run_job("j", "--workers=1:4", "--start=1", "--steps=1000000")
        job.wait_step(10)
        done = self.place.edl(*self.join_words("j", (str(script),)), code=1)
        self.assertIn("cannot join job j: numbers have other bits here: blas is", done.stderr)
        self.assertEqual(self.place.answer("status", "j")["wanted"], 1)
        before = job.events[-1]
        job.wait_step(job.kind("step")[-1]["step"] + 20)
        self.assertEqual(set(job.ends().values()), set(), before)
        step, model = self.stopped(job, "j")
        self.assertEqual(model, self.trained("alone", step))


class Resuming(Scene):
    def test_other_bits_are_refused_unless_any_will_do(self):
        job = self.run_job("j", "--workers=1", "--steps=1000000")
        job.wait_step(5)
        self.stopped(job, "j")
        status = self.place.answer("status", "j")
        self.assertTrue(status["reproducible"])
        with self.assertRaisesRegex(Wrong, "cannot resume job j: numbers have other bits here: "
                                           "blas is.*--any-fingerprint"):
            self.place.edl("resume", "j", environment=OTHER)
        go_on = self.place.resume("j", "--any-fingerprint", environment=OTHER)
        go_on.wait_step(status["step"] + 5)
        self.assertFalse(self.place.answer("status", "j")["reproducible"])
        self.stopped(go_on, "j")
        self.assertFalse(go_on.kind("started")[0]["reproducible"])
        self.assertFalse(go_on.events[-1]["reproducible"])
        with self.assertRaisesRegex(Wrong, "cannot resume job j"):
            self.place.edl("resume", "j")  # the last run was another one than this
        again = self.place.resume("j", environment=OTHER)
        again.wait_step(self.place.answer("status", "j")["step"] + 1)
        self.stopped(again, "j")
        self.assertFalse(self.place.answer("status", "j")["reproducible"], "it stays so")


class Running(Scene):
    def test_a_pinned_instruction_set_gives_its_bits_in_any_environment(self):
        pinned = ("--isa=avx2",)
        here = self.trained("here", 30, options=pinned)
        told = {**OTHER, "ATEN_CPU_CAPABILITY": "default", "DNNL_MAX_CPU_ISA": "SSE41"}
        self.assertEqual(self.trained("there", 30, told, pinned), here)
        self.assertNotEqual(self.trained("native", 30, told), here, "the control")
        kept = json.loads((self.place.directory("here") / "job.json").read_text())
        self.assertEqual(kept["spec"]["isa"], "avx2")
        self.assertEqual(kept["fingerprint"]["isa"], "AVX2")
        self.assertEqual(kept["fingerprint"]["threads"], "1")
        step = self.place.answer("replay", "there", "--step=7")
        self.assertTrue(step["equal"], "its environment is made for it, too")
        done = self.place.edl("replay", "native", "--step=7", code=1)
        self.assertIn("has another digest", done.stderr)
        self.assertIn("numbers have other bits here: blas is", done.stderr)

    def test_workers_are_forked_with_one_thread_and_a_known_core(self):
        job = self.run_job("j", "--workers=1", "--steps=1000000")
        job.wait_step(2)
        pid = next(iter(job.members().values()))
        words = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        self.assertIn(b"EDL_ROLE=parent", words, "it was executed, not forked")
        self.assertIn(b"OPENBLAS_NUM_THREADS=1", words)
        self.assertTrue([w for w in words if w.startswith(b"OPENBLAS_CORETYPE=")], words)
        self.stopped(job, "j")

    def test_a_blas_that_should_not_be_used_is_told(self):
        for folder, words in (("blas", "reference BLAS"),
                              ("openblas-serial", "wrong numbers when several threads")):
            with self.subTest(folder):
                job = self.run_job(folder, "--workers=1", "--steps=3",
                                   environment=self.blas_in(folder))
                self.assertEqual(job.end(), 0, job.account())
                told = [e["reason"] for e in job.kind("warning")]
                self.assertEqual(len(told), 1, told)
                self.assertIn(words, told[0])
                self.assertIn("install libopenblas0-pthread", told[0])
                self.assertIn(told[0], job.said())
        job = self.run_job("good", "--workers=1", "--steps=3")
        self.assertEqual(job.end(), 0, job.account())
        self.assertEqual(job.kind("warning"), [])


if __name__ == "__main__":
    EDL = str(Path(sys.argv.pop(1)).resolve())
    EXAMPLES = Path(sys.argv.pop(1)).resolve()
    unittest.main()
