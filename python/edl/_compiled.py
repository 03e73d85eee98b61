"""Networks that torch.compile has compiled, where the torch has it."""

from __future__ import annotations

import sys
import threading

_SHAPES_MAX = 1 << 20  # for which there may be code
_told = threading.local()  # torch keeps these settings for each thread


def compile_each_shape() -> None:
    """In the thread that computes. torch.compile makes code for the first shape, and for the second
    one that fits any other: which of them computes a part would depend on what a worker saw before,
    and with it the bits. Here each shape has its own code, however many there are."""
    dynamo = sys.modules.get("torch._dynamo")
    if dynamo is None or hasattr(_told, "once"):
        return
    dynamo.config.automatic_dynamic_shapes = False
    for name in ("recompile_limit", "accumulated_recompile_limit"):
        if hasattr(dynamo.config, name):
            setattr(dynamo.config, name, _SHAPES_MAX)
    _told.once = True


def plain_name(name: str) -> str:
    """Of a module, without what torch.compile wraps around it."""
    return ".".join(word for word in name.split(".") if word != "_orig_mod")
