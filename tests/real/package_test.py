#!/usr/bin/python3
"""The wheel and the Debian package, each in a place that knows nothing of this tree: what is
inside, what it asks for, and that programs train with it.
Run as: package_test.py PATH_OF_EDL [unittest options]"""

import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

EDL = "edl"  # argv[1]
ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted(path.name for path in (ROOT / "python/edl").glob("*.py"))
RUN = ("run", "--workers=2", "--logical-workers=8", "--steps=30", "--name=digits", "digits.py")
SCRIPT = """
import edl, torch
from edl import _core, _files
def data(): return edl.datasets.digits()
def model():
    net = torch.nn.Linear(64, 10)
    return {"net": net, "optimizer": torch.optim.SGD(net.parameters(), lr=0.1)}
def forward(x, y, params): return torch.nn.functional.cross_entropy(params["net"](x), y)
if __name__ == "__main__":
    edl.train(model, forward, data, workers=1)
    print(edl.__file__, _core.library()._name, _files.edl_program(), sep="\\n")
    print(edl.status("script-1")["state"])
"""


def outside(**more):
    """An environment in which no path leads to this tree."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("EDL_", "PYTHON", "VIRTUAL_ENV"))}
    return {**kept, "PATH": "/usr/bin:/bin", **more}


def run(folder, *words, environment=None):
    done = subprocess.run([str(word) for word in words], cwd=folder, env=environment or outside(),
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=240, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{words} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


class Scene(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="edl-package-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)

    def fresh(self, name):
        """A folder to work in, with the example."""
        folder = self.folder / name
        folder.mkdir()
        shutil.copy(ROOT / "examples/digits.py", folder)
        return folder

    def hash_of(self, *command, where, environment=None):
        """The example is trained there; its state."""
        folder = self.fresh(where)
        run(folder, *command, *RUN, environment=environment)
        return run(folder, EDL, "hash", "edl-jobs/digits")

    def here(self):
        """The same with what is built in this tree."""
        return self.hash_of(EDL, where="here")


class Wheel(Scene):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        run(ROOT, "tools/package", "--wheel", cls.folder)
        (cls.wheel,) = cls.folder.glob("*.whl")
        run(cls.folder, "/usr/bin/python3", "-m", "venv", "--system-site-packages",
            "--without-pip", "venv")
        cls.python = cls.folder / "venv/bin/python"
        run(cls.folder, cls.python, "-m", "pip", "install", "--no-index", "--no-deps", cls.wheel)

    def test_it_is_for_every_python_on_this_machine(self):
        version = run(self.folder, EDL, "--version").split()[-1]
        self.assertRegex(self.wheel.name, rf"^edl-{version}-py3-none-linux_\w+\.whl$")
        for name in MODULES:
            ast.parse((ROOT / "python/edl" / name).read_text(), feature_version=(3, 9))

    def test_everything_is_inside(self):
        with zipfile.ZipFile(self.wheel) as wheel:
            names = {name for name in wheel.namelist() if name.startswith("edl/")}
            executable = wheel.getinfo("edl/bin/edl").external_attr >> 16 & 0o111
            notices = wheel.read("edl/NOTICES").decode()
        self.assertEqual(names, {f"edl/{name}" for name in (
            *MODULES, "py.typed", "LICENSE", "NOTICES", "bin/edl", "lib/libedl.so",
            "data/digits.txt")})
        self.assertTrue(executable)
        self.assertIn("OpenSSL", notices)

    def test_the_command_trains_with_the_bits_of_this_tree(self):
        command = self.folder / "venv/bin/edl"
        self.assertEqual(self.hash_of(command, where="wheel"), self.here())
        said = run(self.folder / "wheel", self.python, "-m", "edl", "status", "digits")
        self.assertIn("finished", said)

    def test_a_script_finds_all_of_it_in_its_environment(self):
        folder = self.fresh("script")
        (folder / "script.py").write_text(SCRIPT)
        said = run(folder, self.python, "script.py").splitlines()
        self.assertEqual(said[-1], "finished")
        for path in said[-4:-1]:
            self.assertTrue(path.startswith(str(self.folder / "venv/")), path)


class Debian(Scene):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        run(ROOT, "tools/package", "--deb", cls.folder)
        (cls.package,) = cls.folder.glob("*.deb")
        run(cls.folder, "dpkg-deb", "-x", cls.package, "root")
        cls.usr = cls.folder / "root/usr"
        cls.module = cls.usr / "lib/python3/dist-packages/edl"

    def field(self, name):
        return run(self.folder, "dpkg-deb", "-f", self.package, name).strip()

    def test_what_it_says_of_itself(self):
        self.assertEqual(self.field("Package"), "edl")
        self.assertEqual(self.field("Version"), run(self.folder, EDL, "--version").split()[-1])
        self.assertEqual(self.field("Architecture"),
                         run(self.folder, "dpkg", "--print-architecture").strip())
        needed = {word.split()[0] for word in self.field("Depends").split(",")}
        self.assertEqual(needed, {"libc6", "python3"})
        self.assertRegex(self.field("Depends"), r"libc6 \(>= 2\.\d+\)")

    def test_everything_is_where_debian_has_it(self):
        files = {str(path.relative_to(self.usr)) for path in self.usr.rglob("*")
                 if not path.is_dir()}
        files = {re.sub(r"^lib/\w+-linux-gnu/", "lib/ARCHITECTURE/", name) for name in files}
        module = "lib/python3/dist-packages/edl"
        self.assertEqual(files, {
            "bin/edl", "include/edl/capi/edl.h", "lib/ARCHITECTURE/libedl.so",
            "share/doc/edl/copyright",
            *(f"{module}/{name}" for name in (*MODULES, "py.typed", "bin/edl", "lib/libedl.so",
                                              "data/digits.txt"))})
        for name in ("bin/edl", "lib/libedl.so"):
            self.assertTrue((self.module / name).resolve(strict=True).is_relative_to(self.usr))

    def test_the_program_trains_with_the_bits_of_this_tree(self):
        self.assertEqual(self.hash_of(self.usr / "bin/edl", where="debian"), self.here())
        said = run(self.folder / "debian", "/usr/bin/python3", "-c",
                   "import edl; print(edl.__file__, edl.status('digits')['state'])",
                   environment=outside(PYTHONPATH=str(self.module.parent)))
        self.assertEqual(said.split(), [str(self.module / "__init__.py"), "finished"])

    def test_a_program_in_c_links_the_library(self):
        source = self.folder / "version.c"
        source.write_text("#include <edl/capi/edl.h>\n"
                          "int main(void) { return edl_api_version() != EDL_API_VERSION; }\n")
        (library,) = self.usr.glob("lib/*/libedl.so")
        run(self.folder, "gcc", "-Wall", "-Werror", "-I", self.usr / "include", source, "-o",
            "version", library)
        run(self.folder, "./version", environment=outside(LD_LIBRARY_PATH=str(library.parent)))


if __name__ == "__main__":
    EDL = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
