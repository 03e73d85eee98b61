"""The peers, each in a virtual environment below one folder. They share the first one's torch,
which is large."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

HOROVOD = "horovod==0.28.1"
HOROVOD_BUILD = {"HOROVOD_WITH_PYTORCH": "1", "HOROVOD_WITH_GLOO": "1", "HOROVOD_WITHOUT_MPI": "1",
                 "HOROVOD_WITHOUT_TENSORFLOW": "1", "HOROVOD_WITHOUT_MXNET": "1",
                 "HOROVOD_CPU_OPERATIONS": "GLOO"}
# Peer -> (environment, packages, whose version is told)
RECIPES = {
    "edl": ("torch", [], "torch"),
    "torchrun": ("torch", [], "torch"),
    "torchft": ("torchft", ["torchft-nightly"], "torchft-nightly"),
    "horovod": ("horovod", ["setuptools<70", "wheel", "cloudpickle", "psutil", "pyyaml",
                            "packaging", "cffi"], "horovod"),
    "dlrover": ("dlrover", ["dlrover[k8s,torch]", "protobuf"], "dlrover"),
    "ray": ("ray", ["ray[train]"], "ray"),
}


class NotInstalled(Exception):
    """Why a peer cannot take part."""


class Environments:
    def __init__(self, folder, torch="torch", pip=()):
        self.folder = Path(folder).resolve()
        self._torch = torch
        self._pip = list(pip)

    def python(self, peer):
        return str(self.folder / RECIPES[peer][0] / "bin/python")

    def install(self, peer):
        """Once; answers {version torch}."""
        name, packages, told = RECIPES[peer]
        self._make("torch", [self._torch, "numpy"])
        if name != "torch":
            self._make(name, packages)
        if peer == "horovod":
            self._build_horovod()
        words = ("import importlib.metadata as m, json, torch; print(json.dumps({'version': "
                 f"m.version('{told}'), 'torch': torch.__version__}}))")
        return json.loads(self._run([self.python(peer), "-c", words]).splitlines()[-1])

    def _make(self, name, packages):
        place = self.folder / name
        if (place / "installed").exists():
            return
        shutil.rmtree(place, ignore_errors=True)
        self._run([sys.executable, "-m", "venv", str(place)])
        if name != "torch":
            inside = next(place.glob("lib/python3*/site-packages"))
            torch = next((self.folder / "torch").glob("lib/python3*/site-packages"))
            (inside / "torch.pth").write_text(f"{torch}\n")
        self._run([str(place / "bin/pip"), "install", "--quiet", *self._pip, *packages])
        (place / "installed").touch()

    def _build_horovod(self):
        """From its source, which is older than today's torch: that wants C++20, and calls the list
        of its libraries by another name."""
        place = self.folder / "horovod"
        if (place / "built").exists():
            return
        pip, source = str(place / "bin/pip"), place / "source"
        self._run([pip, "download", "--quiet", *self._pip, "--no-deps", "--no-binary", ":all:",
                   "--no-build-isolation", "--dest", str(source), HOROVOD])
        with tarfile.open(next(source.glob("*.tar.gz"))) as packed:
            packed.extractall(source)
        root = next(path for path in source.iterdir() if path.is_dir())
        for path in (root / "CMakeLists.txt", root / "horovod/torch/CMakeLists.txt"):
            path.write_text(re.sub(r"(CMAKE_CXX_STANDARD) 1[47]", r"\1 20", path.read_text()))
        find = root / "cmake/Modules/FindPytorch.cmake"
        find.write_text(find.read_text().replace("torch.torch.compiled", "torch.compiled"))
        self._run([pip, "install", "--quiet", *self._pip, "--no-build-isolation", "--no-deps",
                   str(root)], HOROVOD_BUILD)
        (place / "built").touch()

    def _run(self, words, environment=None):
        print(f"peers: {' '.join(map(str, words))[:150]}", file=sys.stderr, flush=True)
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env={**os.environ, **(environment or {})}, check=False)
        if done.returncode != 0:
            said = [line for line in done.stderr.splitlines() if line.strip()]
            wrong = [line for line in said if re.search("error", line, re.IGNORECASE)]
            raise NotInstalled((wrong or said or ["it said nothing"])[-1].strip()[:300])
        return done.stdout
