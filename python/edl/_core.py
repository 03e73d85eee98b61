"""EDL's library as ctypes sees it: edl/capi/edl.h, to the letter."""

from __future__ import annotations

import ctypes
import os
from ctypes import (CFUNCTYPE, POINTER, Structure, c_char_p, c_double, c_int, c_int32, c_int64,
                    c_uint8, c_uint16, c_uint32, c_uint64, c_void_p)
from pathlib import Path

from edl import errors

API_VERSION = 1
PARAMETER, BUFFER, STATE = 1, 2, 3
CPU = 1


class Device(Structure):
    _fields_ = [("device_type", c_int32), ("device_id", c_int32)]


class DataType(Structure):
    _fields_ = [("code", c_uint8), ("bits", c_uint8), ("lanes", c_uint16)]


class Tensor(Structure):
    """DLPack's DLTensor."""
    _fields_ = [("data", c_void_p), ("device", Device), ("ndim", c_int32), ("dtype", DataType),
                ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)),
                ("byte_offset", c_uint64)]


class Part(Structure):
    _fields_ = [(name, c_uint64) for name in ("step", "epoch", "logical_worker", "step_samples",
                                              "micro_batch", "seed", "random_seed", "samples")]
    _fields_.append(("indices", POINTER(c_uint64)))


class Measured(Structure):
    _fields_ = [("loss", c_double), ("metrics", POINTER(c_double)), ("found_inf", c_int32)]


class Step(Structure):
    _fields_ = [("step", c_uint64), ("epoch", c_uint64), ("samples", c_uint64), ("seen", c_uint64),
                ("loss", c_double), ("lr_factor", c_double), ("lr_rule", c_char_p),
                ("found_inf", c_int32), ("members", c_uint32), ("members_before", c_uint32),
                ("gradients", POINTER(c_void_p)), ("segments", c_uint32), ("flat", POINTER(Tensor)),
                ("evaluation", POINTER(c_double))]


class Applied(Structure):
    _fields_ = [("applied", c_int32), ("saves", c_int32), ("lr", c_double)]


class Facts(Structure):
    _fields_ = [("bytes", c_uint64), ("generation", c_uint64), ("step", c_uint64),
                ("rank", c_int32), ("size", c_uint32), ("local_rank", c_int32),
                ("local_size", c_uint32), ("logical_workers", c_uint32), ("end", c_int32),
                ("id", c_char_p), ("leader", c_char_p)]


class Record(Structure):
    _fields_ = [("bytes", c_void_p), ("length", c_uint64), ("file", c_char_p), ("begin", c_uint64),
                ("end", c_uint64)]


TRAINS, FINISHED, STOPPED = 0, 1, 2

INITIALISE = CFUNCTYPE(c_int, c_void_p, c_uint64)
LOADED = CFUNCTYPE(c_int, c_void_p)
COMPUTE = CFUNCTYPE(c_int, c_void_p, c_void_p, POINTER(Part), POINTER(Measured))
APPLY = CFUNCTYPE(c_int, c_void_p, POINTER(Step), POINTER(Applied))
EVALUATE = CFUNCTYPE(c_int, c_void_p, c_uint64, c_uint64, POINTER(c_double))
FORK = CFUNCTYPE(c_int, c_void_p)
UPCOMING = CFUNCTYPE(None, c_void_p, POINTER(Part))


class Calls(Structure):
    _fields_ = [("bytes", c_uint64), ("initialise", INITIALISE), ("loaded", LOADED),
                ("compute", COMPUTE), ("apply", APPLY), ("evaluate", EVALUATE), ("fork", FORK),
                ("upcoming", UPCOMING)]


def _candidates() -> list[Path]:
    package = Path(__file__).resolve().parent
    said = os.environ.get("EDL_LIBRARY")
    if said:
        return [Path(said)]
    return [package / "lib/libedl.so", package.parents[1] / "build/release/lib/libedl.so"]


def _load() -> ctypes.CDLL:
    places = _candidates()
    for place in places:
        if place.exists():
            break
    else:
        raise errors.NotFoundError(
            f"EDL's library is not at {' or '.join(map(str, places))}: build it with `make build`, "
            "or say where it is in EDL_LIBRARY")
    library = ctypes.CDLL(str(place))
    declare(library)
    if library.edl_api_version() != API_VERSION:
        raise errors.InvalidError(f"{place} has version {library.edl_api_version()} of EDL's "
                                  f"interface; this package needs {API_VERSION}")
    return library


def declare(library: ctypes.CDLL) -> None:
    for name, answer, arguments in (
            ("edl_api_version", c_uint32, []),
            ("edl_last_message", c_char_p, []),
            ("edl_fail", None, [c_char_p]),
            ("edl_gradient", c_int, [c_void_p, c_uint32, c_void_p, c_uint64]),
            ("edl_gradient_given", c_int, [c_void_p, c_uint32, c_void_p, c_uint64]),
            ("edl_gradients", c_int, [c_void_p, c_void_p, c_void_p, c_void_p, c_uint64]),
            ("edl_trainee_new", c_void_p, [POINTER(Calls), c_void_p, c_char_p]),
            ("edl_trainee_free", None, [c_void_p]),
            ("edl_trainee_add", c_int, [c_void_p, c_int, c_char_p, POINTER(Tensor)]),
            ("edl_facts_of", c_int, [c_void_p, POINTER(Facts)]),
            ("edl_copy_state", c_void_p, [c_void_p]),
            ("edl_copy_free", None, [c_void_p]),
            ("edl_copy_hash", c_char_p, [c_void_p]),
            ("edl_copy_write", c_int, [c_void_p, c_char_p]),
            ("edl_records_open", c_void_p, [POINTER(c_char_p), c_uint64, c_char_p]),
            ("edl_records_free", None, [c_void_p]),
            ("edl_records_count", c_uint64, [c_void_p]),
            ("edl_records_read", c_int, [c_void_p, c_uint64, POINTER(Record)]),
            ("edl_is_worker", c_int, []),
            ("edl_begin", c_int, [c_void_p]),
            ("edl_work", c_int, [c_void_p])):
        function = getattr(library, name)
        function.restype, function.argtypes = answer, arguments


_library: ctypes.CDLL | None = None


def library() -> ctypes.CDLL:
    """Loaded when it is first needed."""
    global _library
    if _library is None:
        _library = _load()
    return _library


def check(code: int) -> None:
    if code != 0:
        raise errors.BY_CODE.get(code, errors.Error)(library().edl_last_message().decode())


def is_worker() -> bool:
    """Whether an agent has started this process to train."""
    return bool(os.environ.get("EDL_PARENT_FD"))


_trainee: int | None = None  # of this process, once it is to work


def set_trainee(handle: int) -> None:
    global _trainee
    _trainee = handle


def trainee() -> int:
    if _trainee is None:
        raise errors.InvalidError("this is known while a job trains: ask in the loop or behind it, "
                                  "in forward, or in a hook")
    return _trainee


def facts() -> Facts:
    """What this worker knows of its job now."""
    told = Facts(bytes=ctypes.sizeof(Facts))
    check(library().edl_facts_of(trainee(), told))
    return told


class StateCopy:
    """The state after the last step that was applied."""

    def __init__(self) -> None:
        self._handle = library().edl_copy_state(trainee())
        if not self._handle:
            raise errors.ExhaustedError(library().edl_last_message().decode())

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            library().edl_copy_free(self._handle)

    def hash(self) -> str:
        return library().edl_copy_hash(self._handle).decode()

    def write(self, folder: str) -> None:
        """folder/checkpoints/STEP, whole or not at all."""
        check(library().edl_copy_write(self._handle, folder.encode()))
