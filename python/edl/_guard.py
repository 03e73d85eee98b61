"""Calls of the core into the program: nothing that is raised may pass through the core."""

from __future__ import annotations

import os
import traceback
from typing import Any, Callable

from edl import _core, errors

_PACKAGE = os.path.dirname(__file__)


def _own_frames(trace: Any) -> Any:
    """The program's part of a traceback: what is below EDL's own calls."""
    inner = trace
    while inner is not None and os.path.dirname(inner.tb_frame.f_code.co_filename) == _PACKAGE:
        inner = inner.tb_next
    return trace if inner is None else inner


def guarded(function: Callable[..., None]) -> Callable[..., int]:
    """A call of the core: what the program raises is shown in its own words, then told as one
    sentence."""
    def call(*arguments: Any) -> int:
        try:
            function(*arguments)
            return 0
        except BaseException as wrong:  # noqa: BLE001 - nothing may pass through the core
            sentence = str(wrong)
            if not isinstance(wrong, errors.Error):
                trace = _own_frames(wrong.__traceback__)
                traceback.print_exception(type(wrong), wrong, trace)
                place = traceback.extract_tb(trace)[-1]
                sentence = (f"{type(wrong).__name__}: {wrong} "
                            f"({os.path.basename(place.filename)}:{place.lineno})")
            _core.library().edl_fail(sentence.replace("\n", " ").encode(errors="replace"))
            return 1
    return call
