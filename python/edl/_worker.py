"""The process of a worker in Python: `python3 .../edl/_worker.py PROGRAM.py [ARGUMENT]...`."""

from __future__ import annotations

import faulthandler
import os
import runpy
import sys
import traceback

# Started by its path: the package is found beside it, the program's own modules beside the program.
sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

from edl import errors, loop, training  # noqa: E402


def main() -> int:
    os.dup2(2, 1)  # what a program prints is talk: who asks for an answer gets nothing but that
    faulthandler.enable()  # a program that hangs is aborted, and says in its log where it was
    path = sys.argv[1]
    sys.argv = sys.argv[1:]
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    try:
        names = runpy.run_path(path, run_name="__main__")
    except BaseException as wrong:  # noqa: BLE001 - the program's own
        if loop.is_training():
            loop.end(wrong)
        raise
    if loop.is_training():
        loop.end(None)
    if loop.was_begun():
        return 0
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
    except SystemExit:
        raise
    except BaseException as wrong:  # noqa: BLE001 - the program's own; of KeyboardInterrupt, too,
        # Python would make a signal, as if somebody else had ended us
        frames = wrong.__traceback__
        while frames is not None and frames.tb_frame.f_code.co_filename in (
                __file__, runpy.__file__, "<frozen runpy>"):
            frames = frames.tb_next
        traceback.print_exception(type(wrong), wrong, frames)
        sys.exit(1)
