#!/usr/bin/python3
"""The examples that docstrings and the guide give run as they stand, and every public name of the
package is in one of them.
Run as: python_docs_test.py PATH_OF_EDL [unittest options]"""

import doctest
import importlib
import inspect
import os
import pkgutil
import re
import subprocess
import sys
import textwrap
import unittest
from pathlib import Path
from unittest import mock

from train_job import PATIENCE, Place

EDL = "edl"  # argv[1]
ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))
BLOCK = re.compile(r"::\n\n((?:(?: {4}.*)?\n)+)")
# Told in words: what they are is seen where they come up.
IN_WORDS = {"AppliedStep", "Progress", "datasets", "Error", "InvalidError", "NotFoundError",
            "ConflictError", "UnavailableError", "TimeoutError", "CorruptError", "ExhaustedError"}


def modules():
    import edl

    names = [name for _, name, _ in pkgutil.iter_modules(edl.__path__) if name != "_worker"]
    return [edl, *(importlib.import_module(f"edl.{name}") for name in names)]


def docstrings():
    for module in modules():
        yield module.__name__, inspect.getdoc(module) or ""
        for name, value in vars(module).items():
            if getattr(value, "__module__", None) == module.__name__:
                yield f"{module.__name__}.{name}", inspect.getdoc(value) or ""


def programs():
    """Name and text of each example that is a whole program."""
    for name, text in docstrings():
        for block in BLOCK.findall(text + "\n"):
            code = textwrap.dedent(block)
            if "import edl" in code:
                yield "example-" + name.replace(".", "-").replace("_", ""), code


class Examples(unittest.TestCase):
    def setUp(self):
        self.place = Place(EDL)
        self.addCleanup(self.place.close)

    def test_docstrings_with_prompts(self):
        tried = 0
        with mock.patch.dict(os.environ, {"EDL_PROGRAM": EDL}):
            before = os.getcwd()
            os.chdir(self.place.folder)
            self.addCleanup(os.chdir, before)
            for module in modules():
                failed, count = doctest.testmod(module)
                self.assertEqual(failed, 0, module.__name__)
                tried += count
        self.assertGreater(tried, 8)

    def test_whole_programs(self):
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "EDL_PROGRAM": EDL}
        ran = []
        for name, text in programs():
            path = Path(self.place.folder) / f"{name}.py"
            path.write_text(text)
            trains = "edl.train(" not in text and "edl.jobs()" not in text
            command = [EDL, "run", "--workers=2", path] if trains else ["/usr/bin/python3", path]
            with self.subTest(name=name):
                done = subprocess.run(command, cwd=self.place.folder, env=environment, text=True,
                                      capture_output=True, timeout=PATIENCE, check=False)
                self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
            ran.append(name)
        self.assertGreaterEqual(len(ran), 6, ran)
        self.place.wait_until_empty()

    def test_every_public_name_is_in_an_example(self):
        import edl

        texts = [text for _, text in programs()]
        for _, text in docstrings():
            texts += re.findall(r"(?:>>>|\.\.\.) .*", text)
        shown = "\n".join(texts)
        missing = [name for name in edl.__all__ if name not in IN_WORDS
                   and not re.search(rf"\b{name}\(|@edl\.{name}\b", shown)]
        self.assertEqual(missing, [])


if __name__ == "__main__":
    EDL = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
