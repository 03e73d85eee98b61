"""The command `edl`, as pip installs it and as `python3 -m edl`."""

from __future__ import annotations

import os
import sys

from edl import errors
from edl._files import edl_program


def main() -> None:
    if "VIRTUAL_ENV" not in os.environ:  # else the program takes the one of the environment
        os.environ.setdefault("EDL_PYTHON", sys.executable)
    try:
        program = edl_program()
    except errors.Error as wrong:
        sys.exit(f"edl: {wrong}")
    os.execv(program, ["edl", *sys.argv[1:]])


if __name__ == "__main__":
    main()
