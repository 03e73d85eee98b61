"""Whether a tensor's memory is seen by nobody else, so that others may write there when it is given
to them. What this torch does not tell, or tells otherwise, is answered with no."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import torch

_storage_of: Any = getattr(torch.Tensor, "untyped_storage", None) or getattr(
    torch.Tensor, "_storage", None)
_uses_told: Any = getattr(torch._C, "_storage_Use_Count", None)
_USES_OFFSET = 8  # behind the table of functions, in torches that have no call for it
_read = ctypes.c_uint64.from_address


def _uses(tensor: torch.Tensor) -> int:
    """How many hold the memory, this question among them."""
    storage = _storage_of(tensor)
    if _uses_told is not None:
        return int(_uses_told(storage._cdata))
    return _read(storage._cdata + _USES_OFFSET).value


def _uses_when_own() -> int:
    """Found out with a tensor of ours; 0, which no tensor has, when uses cannot be counted."""
    try:
        tensor = torch.empty(4)
        alone = _uses(tensor)
        other = tensor.view(2, 2)
        shared = _uses(tensor)
        del other
        return alone if 0 < alone == shared - 1 == _uses(tensor) else 0
    except Exception:
        return 0


def _references_when_own() -> int:
    held = object()
    return sys.getrefcount(held)


_USES, _REFERENCES = _uses_when_own(), _references_when_own()


def is_own(references: int, tensor: torch.Tensor) -> bool:
    """`references`: sys.getrefcount of its only name. It comes first: else the call is one more."""
    return (references <= _REFERENCES and not tensor.requires_grad and not tensor._is_view()
            and _uses(tensor) == _USES)
