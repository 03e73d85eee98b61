"""Data to begin with, without any download, and records of files."""

from __future__ import annotations

import bisect
import ctypes
import operator
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Iterable, Union

from edl import _core, errors

if TYPE_CHECKING:
    import torch

File = Union[str, "os.PathLike[str]"]

_LEVELS = "0123456789abcdefg"
_TEST_EVERY = 5


def _digits_file() -> Path:
    package = Path(__file__).resolve().parent
    places = [package / "data/digits.txt", package.parents[1] / "edl/train/builtin/digits.txt"]
    for place in places:
        if place.exists():
            return place
    raise errors.NotFoundError(f"the digits are not at {' or '.join(map(str, places))}")


def digits(test: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    """UCI optical digits: 8x8 images as 64 numbers in [0, 1], and what they show.

    Every fifth image is held out: those are what ``test=True`` gives.

    >>> x, y = digits()
    >>> tuple(x.shape), tuple(digits(test=True)[0].shape)
    ((1437, 64), (360, 64))
    """
    import torch

    images, labels = [], []
    for line in _digits_file().read_text().splitlines():
        pixels, label = line.split()
        images.append([_LEVELS.index(pixel) for pixel in pixels])
        labels.append(int(label))
    chosen = [i for i in range(len(labels)) if (i % _TEST_EVERY == 0) == test]
    x = torch.tensor([images[i] for i in chosen], dtype=torch.float32) / 16
    return x, torch.tensor([labels[i] for i in chosen])


class Records:
    """Records of files by their numbers: sample i is the same bytes on every machine."""

    def __init__(self, files: list[tuple[str, int, int | None]],
                 parse: Callable[[bytes], Any] | None, format: str):  # noqa: A002
        self.parse = parse
        paths = sorted({os.fsencode(path) for path, _, _ in files})
        given = (ctypes.c_char_p * len(paths))(*paths)
        library = _core.library()
        self._handle = library.edl_records_open(given, len(paths), format.encode())
        if not self._handle:
            raise errors.InvalidError(library.edl_last_message().decode())
        self._count = int(library.edl_records_count(self._handle))
        self._ranges: list[range] = []
        self._ends: list[int] = []  # numbers of samples behind each range
        in_order = sorted(((os.fsencode(path), begin, end) for path, begin, end in files),
                          key=lambda one: one[:2])
        for path, begin, end in in_order:
            self._add(self._find(path, begin), self._find(path, end))

    def _add(self, first: int, behind: int) -> None:
        if self._ranges and first < self._ranges[-1].stop:
            raise errors.InvalidError("two of the ranges of files have the same records: each "
                                      "record is a sample once")
        self._ranges.append(range(first, behind))
        self._ends.append(behind - first + (self._ends[-1] if self._ends else 0))

    def _read(self, number: int) -> _core.Record:
        record = _core.Record()
        _core.check(_core.library().edl_records_read(self._handle, number, record))
        return record

    def _find(self, path: bytes, offset: int | None) -> int:
        """The first record of the file that begins at this byte or behind it; without one, what
        comes after the file."""
        low, high = 0, self._count
        while low < high:
            middle = (low + high) // 2
            record = self._read(middle)
            is_before = record.file < path or (record.file == path and (
                offset is None or record.begin < offset))
            low, high = (middle + 1, high) if is_before else (low, middle)
        return low

    def __len__(self) -> int:
        return self._ends[-1]

    def __getitem__(self, sample: int) -> Any:
        which = bisect.bisect_right(self._ends, sample)
        before = self._ends[which - 1] if which else 0
        record = self._read(self._ranges[which][sample - before])
        content = ctypes.string_at(record.bytes, record.length)
        if self.parse is None:
            return content
        try:
            return self.parse(content)
        except Exception:
            print(f"edl: of the record at bytes {record.begin} to {record.end} of "
                  f"{os.fsdecode(record.file)}:", file=sys.stderr, flush=True)
            raise


def is_file(one: Any) -> bool:
    """Whether this is a path, or a path with offsets."""
    if isinstance(one, (tuple, list)) and len(one) in (2, 3) and isinstance(
            one[0], (str, os.PathLike)):
        offsets = one[1] if len(one) == 2 and isinstance(one[1], (tuple, list)) else one[1:]
        return len(offsets) in (1, 2) and all(hasattr(each, "__index__") for each in offsets)
    return isinstance(one, (str, os.PathLike))


def _file_range(one: Any) -> tuple[str, int, int | None]:
    """A path, and the bytes in which its records begin."""
    if not is_file(one):
        raise errors.InvalidError(f"{one!r} is no file: give paths, (path, begin, end), or "
                                  "(path, begin) for all from there on")
    if not isinstance(one, (tuple, list)):
        return os.fspath(one), 0, None
    path = os.fspath(one[0])
    offsets = one[1] if isinstance(one[1], (tuple, list)) else one[1:]  # of dict.items()
    begin, *ends = map(operator.index, offsets)
    if begin < 0 or (ends and ends[0] < begin):
        raise errors.InvalidError(f"{path} from byte {begin} to {ends[0] if ends else 'its end'} "
                                  "is no range")
    return path, begin, ends[0] if ends else None


def records(files: Iterable[File | tuple[File, int] | tuple[File, int, int]],
            parse: Callable[[bytes], Any] | None = None,
            format: str = "lines") -> Records:  # noqa: A002
    """Records that lie one behind the other in files, as samples.

    `files` are paths, or ``(path, begin, end)``: the records of a file that begin in this range of
    its bytes; ``(path, begin)``: from there to its end. `parse` makes an item of a record's bytes,
    as a Dataset would; without it, `forward` gets a list of bytes. `format` is ``"lines"``,
    ``"fixed:BYTES"``, ``"tfrecord"`` or ``"length32"``. Samples are numbered by the bytes of
    the files' names, then as they lie there.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "numbers.txt")
    >>> with open(path, "w") as file:
    ...     _ = file.write("5\\n7\\n9\\n")
    >>> [records([path], parse=int)[i] for i in range(3)]
    [5, 7, 9]
    >>> len(records([(path, 2, 6)])), len(records([(path, 4)]))
    (2, 1)
    """
    listed = [_file_range(one) for one in files]
    if not listed:
        raise errors.InvalidError("there are no files with records")
    found = Records(listed, parse, format)
    if len(found) == 0:
        raise errors.InvalidError("the files have no records in these ranges")
    return found
