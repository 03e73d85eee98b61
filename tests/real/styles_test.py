#!/usr/bin/python3
"""Training scripts in the styles that people have, before and after they were made elastic: few
lines differ, the first needs no EDL, and the second has the bits of one worker when one of two is
killed. Run as: styles_test.py PATH_OF_EDL [unittest options]"""

import difflib
import os
import re
import signal
import subprocess
import sys
import unittest
from pathlib import Path

from train_job import Place, check_finished, send

EDL = "edl"  # argv[1]
ROOT = Path(__file__).resolve().parents[2]
STYLES = ROOT / "examples/styles"
WRITTEN_MAX = 5
DROPPED_MAX = 2  # clipping and stepping a schedule, which edl.Optimizer does


def changed_lines(before, after):
    """(written, dropped): lines of `after` that are new or another, and lines of `before` that are
    gone without a successor."""
    written = dropped = 0
    matcher = difflib.SequenceMatcher(None, before.splitlines(), after.splitlines(), autojunk=False)
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind != "equal":
            written += d - c
            dropped += max(0, (b - a) - (d - c))
    return written, dropped


def result_in(text):
    """The last number that a script has printed: a loss or an accuracy."""
    return float(re.findall(r"(?:loss|accuracy) ([0-9.]+)", text)[-1])


class Styles(unittest.TestCase):
    def setUp(self):
        self.place = Place(EDL)

    def tearDown(self):
        self.place.close()

    def plain(self, style):
        done = subprocess.run(
            ["/usr/bin/python3", STYLES / style / "before.py"], cwd=self.place.folder, text=True,
            capture_output=True, timeout=240, check=False,
            env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"})
        self.assertEqual(done.returncode, 0, done.stderr)
        return result_in(done.stdout)

    def elastic(self, style):
        """The result of `after.py` with a worker killed, which one worker alone has, too."""
        program = (str(STYLES / style / "after.py"),)
        alone = self.place.run("alone", "--workers=1", "--logical-workers=4", program=program)
        self.assertEqual(alone.end(), 0, alone.account())
        job = self.place.run("two", "--workers=2", "--logical-workers=4", "--events=all",
                             program=program)
        job.wait_members(2)
        before = len(job.events)
        job.wait_step(8)
        victim, pid = sorted(job.members().items())[0]
        self.assertTrue(send(pid, signal.SIGKILL))
        job.wait_for(lambda e: e["event"] == "view" and victim not in
                     [m["id"] for m in e["members"]], f"the end of {victim}", before)
        self.assertEqual(job.end(), 0, job.account())
        check_finished(self.place, "two", self.place.model("alone"))
        self.assertEqual(job.events[-1]["state_hash"], alone.events[-1]["state_hash"])
        logs = [path.read_text() for name in ("alone", "two")
                for path in (self.place.directory(name) / "log").glob("worker-*.log")]
        results = {result_in(text) for text in logs if re.search("(loss|accuracy) ", text)}
        self.assertEqual(len(results), 1, logs)
        return results.pop()

    def check(self, style, is_good):
        before = (STYLES / style / "before.py").read_text()
        self.assertNotIn("edl.", before.replace("edl/train", ""))
        self.assertNotIn("import edl", before)
        written, dropped = changed_lines(before, (STYLES / style / "after.py").read_text())
        self.assertLessEqual(written, WRITTEN_MAX)
        self.assertLessEqual(dropped, DROPPED_MAX)
        for result in (self.plain(style), self.elastic(style)):
            self.assertTrue(is_good(result), result)
        said = (ROOT / "docs/reference/python.md").read_text()
        row = rf"\| \[{style}\]\(\S+\) \|.*\| {written} \+ {dropped} \|"
        self.assertRegex(said, row, "docs/reference/python.md tells another number of lines")

    def test_gpt(self):
        self.check("gpt", lambda loss: 2.0 < loss < 3.5)

    def test_trainer(self):
        self.check("trainer", lambda accuracy: accuracy > 0.8)

    def test_images(self):
        self.check("images", lambda accuracy: accuracy > 0.9)


if __name__ == "__main__":
    EDL = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
