"""Imported before torch: this process computes with the BLAS kernels that EDL gives its programs. A
gradient that is nothing but rounding is another one with other kernels, and Adam takes its sign for
a direction."""

import os
from pathlib import Path

FLAGS = Path("/proc/cpuinfo").read_text().split("flags", 1)[-1].split("\n", 1)[0].split()
for feature, core in (("avx512f", "SkylakeX"), ("avx2", "Haswell")):
    if feature in FLAGS:
        os.environ.setdefault("OPENBLAS_CORETYPE", core)
        break
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
