#!/usr/bin/python3
"""libedl.so and the program edl carry what they need: they ask for nothing but the C library, show
nothing but their own names, and go with any torch in one process, whichever is loaded first.
Run as: library_test.py PATH_OF_EDL [unittest options]"""

import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

from train_job import Place

EDL = "edl"  # argv[1]
ROOT = Path(__file__).resolve().parents[2]
C_LIBRARY = re.compile(r"^(libc|libm|ld-linux-[\w-]+)\.so\.\d+$")
TORCH2 = ROOT / "build/torch2/bin/python"

LOAD_EDL = "from edl import _core; _core.library()\n"
LOAD_OTHERS = "import torch, hashlib, sqlite3, ssl, zlib\n"  # with the system's libraries
PROGRAM = """
import edl
open("loaded", "w").write(open("/proc/self/maps").read())
hashlib.sha256(b"with the system's").hexdigest(); ssl.create_default_context()
def data(): return edl.datasets.digits()
def model():
    net = torch.nn.Sequential(torch.nn.Linear(64, 30), torch.nn.Tanh(), torch.nn.Linear(30, 10))
    return {"net": net, "optimizer": torch.optim.Adam(net.parameters(), lr=0.01)}
def forward(x, y, params):
    return torch.nn.functional.cross_entropy(params["net"](x), y)
"""


def library():
    return Path(EDL).parents[1] / "lib/libedl.so"


def told(*words):
    return subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, text=True,
                          check=True).stdout


def dynamic_section(path):
    """(tag, what stands behind it) of each entry."""
    return re.findall(r"^ 0x[0-9a-f]+ \((\w+)\)\s+(.*)$", told("readelf", "-dW", path),
                      re.MULTILINE)


def dynamic_symbols(path):
    """(bind, section, name) of each one that the loader knows."""
    return re.findall(r"\b(GLOBAL|WEAK|UNIQUE) +[A-Z]+ +(\w+) +(\S+)",
                      told("readelf", "--dyn-syms", "-W", path))


class Inside(unittest.TestCase):
    """What the files say about themselves."""

    def test_nothing_but_the_c_library_is_needed(self):
        for path in (library(), Path(EDL)):
            with self.subTest(path=path.name):
                entries = dynamic_section(path)
                needed = [re.search(r"\[(.*)\]", what)[1] for tag, what in entries
                          if tag == "NEEDED"]
                self.assertTrue(needed)
                self.assertEqual([name for name in needed if not C_LIBRARY.match(name)], [])
                self.assertEqual([tag for tag, _ in entries
                                  if tag in ("RPATH", "RUNPATH", "TEXTREL")], [])

    def test_the_library_shows_what_its_header_declares(self):
        shown = {name for _, section, name in dynamic_symbols(library()) if section != "UND"}
        header = re.sub(r"/\*.*?\*/", "", (ROOT / "edl/capi/edl.h").read_text(), flags=re.DOTALL)
        self.assertEqual(shown, set(re.findall(r"\b(edl_\w+)\(", header)))

    def test_what_it_takes_from_others_is_the_c_library_s(self):
        for path in (library(), Path(EDL)):
            taken = [(bind, name) for bind, section, name in dynamic_symbols(path)
                     if section == "UND"]
            self.assertTrue(taken)
            self.assertEqual([name for bind, name in taken
                              if "@GLIBC_" not in name and bind != "WEAK"], [])


class Together(unittest.TestCase):
    """In one process with a torch, and with what the interpreter takes from the system."""

    def trains(self, python):
        place = Place(EDL)
        self.addCleanup(place.close)
        hashes = []
        for name, text in (("edl-first", LOAD_EDL + LOAD_OTHERS + PROGRAM),
                           ("edl-last", LOAD_OTHERS + LOAD_EDL + PROGRAM)):
            path = Path(place.folder) / f"{name}.py"
            path.write_text(text)
            job = place.run(name, f"--python={python}", "--workers=2", "--steps=30",
                            "--events=all", program=(str(path),))
            self.assertEqual(job.end(), 0, job.account())
            losses = [step["loss"] for step in job.kind("step")]
            self.assertLess(losses[-1], losses[0])
            hashes.append(job.events[-1]["state_hash"])
            loaded = (Path(place.folder) / "loaded").read_text()
            for name in ("libedl.so", "libcrypto.so", "libtorch_cpu.so"):
                self.assertIn(name, loaded)
        self.assertEqual(hashes[0], hashes[1])

    def test_with_the_torch_of_debian(self):
        self.trains("/usr/bin/python3")

    def test_with_a_torch_of_pip(self):
        if not os.access(TORCH2, os.X_OK):
            self.skipTest("there is no build/torch2; make test-torch2 installs it")
        self.trains(TORCH2)


if __name__ == "__main__":
    EDL = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
