#!/usr/bin/python3
"""tools/fuzz and tools/bench, with shell scripts in the place of the programs that they run."""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

TOOLS = Path(__file__).resolve().parent.parent


class RunnerTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="runners_test.")
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        (self.root / "tools").mkdir()
        for name in ("fuzz", "bench"):
            shutil.copy(TOOLS / name, self.root / "tools")

    def program(self, path, body):
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(f"#!/bin/sh\n{body}\n")
        target.chmod(0o755)

    def run_tool(self, name, *arguments, **environment):
        done = subprocess.run([self.root / "tools" / name, *arguments], capture_output=True,
                              text=True, check=False, stdin=subprocess.DEVNULL,
                              env={**os.environ, "SECONDS": "", **environment})
        return done.returncode, done.stdout, done.stderr


class Fuzz(RunnerTest):
    STATS = ("echo '#99 DONE cov: 42 ft: 7' >&2; echo 'stat::number_of_executed_units: 1234' >&2; "
             "echo 'stat::average_exec_per_sec: 617' >&2; ")

    def test_none(self):
        status, _, err = self.run_tool("fuzz")
        self.assertEqual((status, "there are no programs" in err), (1, True))

    def test_reports_and_passes_the_corpus(self):
        self.program("build/asan/fuzz/frame", self.STATS + 'echo "$@" > arguments')
        (self.root / "build/asan/fuzz/notes.txt").write_text("not a program")
        (self.root / "tests/fuzz/corpus/frame").mkdir(parents=True)
        status, out, _ = self.run_tool("fuzz", SECONDS="3")
        self.assertEqual(status, 0, out)
        self.assertRegex(out, r"(?m)^frame +1234 +617 +42 +nothing$")
        self.assertIn("fuzz: 1 programs, 3 s each, 0 with findings", out)
        arguments = (self.root / "arguments").read_text()
        for word in ("-max_total_time=3", "-timeout=10", "-rss_limit_mb=2048", "-max_len=",
                     "build/fuzz/corpus/frame ", "tests/fuzz/corpus/frame"):
            self.assertIn(word, arguments)

    def test_a_finding_fails_and_names_its_input(self):
        self.program("build/asan/fuzz/frame", self.STATS)
        self.program("build/asan/fuzz/json", "echo 'SUMMARY: AddressSanitizer: overflow' >&2; "
                     "for a; do case $a in -artifact_prefix=*) p=${a#*=};; esac; done; "
                     'echo "Test unit written to ${p}crash-1" >&2; exit 77')
        status, out, _ = self.run_tool("fuzz")
        self.assertEqual(status, 1)
        self.assertRegex(out, r"(?m)^json .*AddressSanitizer: overflow; input: "
                         r"build/fuzz/artifacts/json/crash-1; log: build/fuzz/artifacts/json/log$")
        self.assertIn("SUMMARY", (self.root / "build/fuzz/artifacts/json/log").read_text())
        self.assertEqual(self.run_tool("fuzz", "frame")[0], 0)

    def test_wrong_usage(self):
        self.program("build/asan/fuzz/frame", self.STATS)
        status, _, err = self.run_tool("fuzz", SECONDS="soon")
        self.assertEqual((status, "SECONDS=soon" in err), (2, True))
        status, _, err = self.run_tool("fuzz", "nonsense")
        self.assertEqual((status, "there are: frame" in err), (2, True))


class Bench(RunnerTest):
    ROWS = 'echo table; echo "[]" > "${1#--json=}"'

    def test_none(self):
        status, out, _ = self.run_tool("bench")
        self.assertEqual((status, "there are no benchmarks" in out), (0, True))

    def test_tables_are_printed_and_rows_kept(self):
        self.program("build/release/bench/allreduce", self.ROWS)
        (self.root / "build/release/bench/CMakeFiles").mkdir()
        status, out, _ = self.run_tool("bench")
        self.assertEqual(status, 0, out)
        self.assertIn("== allreduce\ntable\n", out)
        self.assertTrue((self.root / "build/bench/allreduce.json").is_file())

    def test_one_failure_does_not_hide_the_others(self):
        self.program("build/release/bench/a", "exit 3")
        self.program("build/release/bench/b", "echo no rows")
        self.program("build/release/bench/c", self.ROWS)
        status, out, _ = self.run_tool("bench")
        self.assertEqual(status, 1)
        for words in ("a ended with status 3", "b wrote no JSON array of rows to "
                      "build/bench/b.json", "c done", "3 benchmarks, 2 failed"):
            self.assertIn(words, out)
        status, _, err = self.run_tool("bench", "nonsense")
        self.assertEqual((status, "there are: a b c" in err), (2, True))


if __name__ == "__main__":
    unittest.main()
