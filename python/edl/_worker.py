"""The process of a worker in Python: `python3 .../edl/_worker.py PROGRAM.py [ARGUMENT]...`."""

from __future__ import annotations

import os
import runpy
import sys
import traceback

# Started by its path: the package is found beside it, the program's own modules beside the program.
sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

from edl import errors, training  # noqa: E402


def main() -> int:
    path = sys.argv[1]
    sys.argv = sys.argv[1:]
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    names = runpy.run_path(path, run_name="__main__")
    missing = [name for name in ("model", "forward", "data") if name not in names]
    if missing:
        raise errors.InvalidError(
            f"{path} neither calls edl.train or edl.init nor defines {missing[0]}: a program "
            "defines model, forward and data")
    training.train(**{name: names[name] for name in training.NAMES if name in names})
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except errors.Error as wrong:
        print(f"{sys.argv[0]}: {wrong}", file=sys.stderr)
        sys.exit(1)
    except Exception:  # noqa: BLE001 - the program's own
        traceback.print_exc()
        sys.exit(1)
