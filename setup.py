"""The wheel: the package `edl` with the program and the library inside. Python reaches the library
by ctypes, so one wheel serves every Python.

A tree that is built (`make build`) is used as it is. Otherwise just these two are built, into
build/package; `tools/setup package` installs what that needs.
"""

import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
VERSION = re.search(r"project\(edl VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
BUILD = ROOT / "build"  # all that is made goes there
BUILD.mkdir(exist_ok=True)


class WithProgram(build_py):
    """Modules from python/edl, the rest from CMake's component `wheel`."""

    def run(self):
        shutil.rmtree(self.build_lib, ignore_errors=True)  # modules that are no more
        super().run()
        if getattr(self, "editable_mode", False):
            return  # the package finds what is in build/release
        preset = "release" if (BUILD / "release/build.ninja").exists() else "package"
        subprocess.run([ROOT / "tools/build", preset, "edl", "libedl"], check=True)
        subprocess.run(["cmake", "--install", BUILD / preset, "--component", "wheel", "--prefix",
                        Path(self.build_lib).resolve(), "--strip"], check=True,
                       stdout=subprocess.DEVNULL)


setup(
    name="edl",
    version=VERSION,
    description="Training whose workers come, go and die, always with the same result",
    long_description=(ROOT / "README.md").read_text(),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    python_requires=">=3.9",
    packages=["edl"],
    package_dir={"edl": "python/edl"},
    package_data={"edl": ["py.typed"]},
    entry_points={"console_scripts": ["edl = edl.__main__:main"],
                  "torchrun.handlers": ["edl = edl.rendezvous:torchrun_backend"]},
    cmdclass={"build_py": WithProgram},
    options={
        "build": {"build_base": "build/wheel"},
        "egg_info": {"egg_base": "build"},
        "bdist_wheel": {"plat_name": re.sub(r"[-.]", "_", sysconfig.get_platform())},
    },
)
