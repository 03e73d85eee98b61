"""What a program trains on, as batches of the samples that EDL names.

The same sample in the same epoch always gives the same numbers, whoever asks for it and whatever
else is in the batch: random numbers are seeded for each sample. So a batch may be loaded by another
process, and ahead of its time.
"""

from __future__ import annotations

import os
import random
import sys
from typing import Any, Callable, Sequence

import torch

from edl import datasets, errors

_MASK = (1 << 64) - 1


def _mix(value: int) -> int:
    """A good 64-bit hash of a number (splitmix64's end)."""
    value = (value + 0x9E3779B97F4A7C15) & _MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
    return value ^ (value >> 31)


def seed_all(seed: int) -> None:
    """Every generator that a program is likely to draw from."""
    torch.default_generator.manual_seed(seed)
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed & 0xFFFFFFFF)


class Feed:
    """Batches by the numbers of their samples, in two steps: what is loaded, and what is made of it
    where it is computed."""

    # What is loaded is the numbers themselves; `batch` takes them as a tensor, too.
    takes_index = False
    loaders = 0  # processes of each worker that load ahead

    def __len__(self) -> int:
        raise NotImplementedError

    def load(self, samples: Sequence[int], seed: int, epoch: int) -> Sequence[Any]:
        """Something for each sample; a slice of it makes a batch."""
        raise NotImplementedError

    def batch(self, loaded: Sequence[Any]) -> tuple[Any, ...]:
        """What `forward` gets before its parameters."""
        raise NotImplementedError

    def begin_loader(self, number: int) -> None:
        """In a process that only loads."""


class ArrayFeed(Feed):
    """Arrays of equal lengths: sample i is row i of each. Those of numpy are read where they lie,
    row by row, so that a memory map stays one."""

    takes_index = True

    def __init__(self, arrays: Sequence[Any]):
        self.arrays = [_array(array) for array in arrays]
        lengths = [len(array) for array in self.arrays]
        if len(set(lengths)) != 1:
            raise errors.InvalidError(
                f"the arrays of the data have {', '.join(map(str, lengths))} rows: give as many "
                "of each, one a sample")

    def __len__(self) -> int:
        return len(self.arrays[0])

    def load(self, samples: Sequence[int], seed: int, epoch: int) -> Sequence[Any]:
        return samples

    def batch(self, loaded: Sequence[Any]) -> tuple[Any, ...]:
        index = torch.as_tensor(loaded, dtype=torch.int64)
        return tuple([array.index_select(0, index) if isinstance(array, torch.Tensor)
                      else _rows(array, index) for array in self.arrays])


class DatasetFeed(Feed):
    """A torch.utils.data.Dataset with length and index, and how its items become a batch."""

    def __init__(self, dataset: Any, collate: Callable[[list[Any]], Any] | None = None):
        self.dataset = dataset
        self.collate = collate or torch.utils.data.default_collate

    def __len__(self) -> int:
        return len(self.dataset)

    def load(self, samples: Sequence[int], seed: int, epoch: int) -> Sequence[Any]:
        items = []
        for sample in samples:
            seed_all(_mix(_mix(_mix(seed) ^ epoch) ^ sample))
            items.append(self.dataset[sample])
        return items

    def batch(self, loaded: Sequence[Any]) -> tuple[Any, ...]:
        whole = self.collate(list(loaded))
        return tuple(whole) if isinstance(whole, (tuple, list)) else (whole,)


class RecordFeed(DatasetFeed):
    """Records that nobody parses: `forward` gets a list of their bytes."""

    def batch(self, loaded: Sequence[Any]) -> tuple[Any, ...]:
        return (list(loaded),)


class LoaderFeed(DatasetFeed):
    """A DataLoader, as a recipe: its data set, how a batch is made, and how many processes load.
    Which samples are in a batch, and when, is EDL's."""

    def __init__(self, loader: torch.utils.data.DataLoader[Any]):
        super().__init__(loader.dataset, loader.collate_fn)
        self.loaders = int(loader.num_workers)
        self._begin = loader.worker_init_fn

    def begin_loader(self, number: int) -> None:
        # As in a loader of torch; what is drawn is seeded before each item all the same.
        worker = torch.utils.data._utils.worker
        worker._worker_info = worker.WorkerInfo(  # type: ignore[attr-defined]
            id=number, num_workers=self.loaders, seed=(torch.initial_seed() + number) & _MASK,
            dataset=self.dataset)
        if self._begin is not None:
            self._begin(number)


def _array(array: Any) -> Any:
    """A tensor, or an array of numpy that torch does not have to hold in memory."""
    if isinstance(array, torch.Tensor):
        if array.ndim == 0 or array.layout is not torch.strided:
            raise errors.InvalidError(f"the data have a tensor of layout {array.layout} with "
                                      f"{array.ndim} dimensions: give a dense one, a row for each "
                                      "sample")
        return array.detach().contiguous()
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(array, numpy.ndarray):
        if array.ndim == 0 or array.dtype.kind not in "fiub":
            raise errors.InvalidError(f"the data have an array of {array.dtype} with {array.ndim} "
                                      "dimensions: give numbers, a row for each sample")
        _check_type(array)
        if isinstance(array, numpy.memmap) or not array.flags.writeable:
            return array
    try:
        return torch.as_tensor(array).contiguous()
    except (TypeError, ValueError, RuntimeError) as wrong:
        if numpy is not None and isinstance(array, numpy.ndarray):
            return array  # of a type that torch lacks: rows are converted
        raise errors.InvalidError(
            f"the data have a {type(array).__name__}, which is no array of numbers: {wrong}") \
            from wrong


# Types that torch lacks, and the next that hold the same numbers.
_WIDER = {"uint16": "int32", "uint32": "int64"}


def _converted(rows: Any) -> torch.Tensor:
    native = _WIDER.get(rows.dtype.name, rows.dtype.newbyteorder("="))
    return torch.from_numpy(rows.astype(native, order="C", copy=False))


def _rows(array: Any, index: torch.Tensor) -> torch.Tensor:
    """A copy of these rows, and of nothing else."""
    return _converted(array[index.numpy()])


def _check_type(array: Any) -> None:
    try:
        _converted(array[:0].copy())
    except TypeError as wrong:
        raise errors.InvalidError(f"the data have an array of {array.dtype}, and no type of torch "
                                  "holds all its numbers: give another, as by array.astype("
                                  f"'{'float64' if array.dtype.kind == 'f' else 'int64'}')") \
            from wrong


def _files(data: Any) -> list[Any] | None:
    """Paths, or paths with offsets, when this is an iterable of them; nothing else is taken out of
    an iterator."""
    if isinstance(data, (str, bytes, dict)) or not hasattr(data, "__iter__"):
        return None
    if not isinstance(data, (tuple, list)) and hasattr(data, "__getitem__"):
        return None
    items = iter(data)
    first = next(items, None)
    return [first, *items] if datasets.is_file(first) else None


def _is_array(data: Any) -> bool:
    return isinstance(data, torch.Tensor) or hasattr(data, "__array_interface__")


def feed_of(data: Any) -> Feed:
    """From what a program calls its data: arrays, a Dataset, a DataLoader, files with offsets, a
    function of these."""
    feed = _feed_of(data)
    try:
        samples = len(feed)
    except (TypeError, NotImplementedError) as wrong:
        raise errors.InvalidError(_NO_INDEX) from wrong
    if samples == 0:
        raise errors.InvalidError("the data have no samples")
    return feed


_NO_INDEX = ("the data have no length and no index, so that nobody can take a sample by its "
             "number: give a Dataset with both")


def _feed_of(data: Any) -> Feed:
    if isinstance(data, Feed):
        return data
    recipe = data.dataset if isinstance(data, torch.utils.data.DataLoader) else data
    if isinstance(recipe, torch.utils.data.IterableDataset):
        raise errors.InvalidError(_NO_INDEX)
    if isinstance(data, torch.utils.data.DataLoader):
        return LoaderFeed(data)
    if isinstance(data, datasets.Records):
        return DatasetFeed(data) if data.parse else RecordFeed(data)
    if isinstance(data, torch.utils.data.Dataset):
        return DatasetFeed(data)
    files = None if _is_array(data) or callable(data) else _files(data)
    if files is not None:
        return _feed_of(datasets.records(files))
    if callable(data):
        return _feed_of(data())
    if _is_array(data):
        return ArrayFeed([data])
    if isinstance(data, (tuple, list)) and data:
        return ArrayFeed(data)
    is_indexed = hasattr(data, "__len__") and hasattr(data, "__getitem__")
    if is_indexed and not isinstance(data, (str, bytes, dict)):
        return DatasetFeed(data)
    raise errors.InvalidError(f"the data are a {type(data).__name__}: give (x, y) arrays, a "
                              "torch.utils.data.Dataset, an iterable of files, or a function that "
                              "returns one of them")
