"""What a program trains on, as batches of the samples that EDL names.

The same sample in the same epoch always gives the same numbers, whoever asks for it and whatever
else is in the batch: random numbers are seeded for each sample.
"""

from __future__ import annotations

import random
import sys
from typing import Any, Callable, Sequence

import torch

from edl import errors

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
    """Batches by the numbers of their samples."""

    def __len__(self) -> int:
        raise NotImplementedError

    def batch(self, samples: Sequence[int], seed: int, epoch: int) -> tuple[Any, ...]:
        """What `forward` gets before its parameters."""
        raise NotImplementedError


class ArrayFeed(Feed):
    """Arrays of equal lengths: sample i is row i of each."""

    def __init__(self, arrays: Sequence[Any]):
        self.tensors = [_tensor(array) for array in arrays]
        lengths = [len(tensor) for tensor in self.tensors]
        if len(set(lengths)) != 1:
            raise errors.InvalidError(
                f"the arrays of the data have {', '.join(map(str, lengths))} rows: give as many "
                "of each, one a sample")

    def __len__(self) -> int:
        return len(self.tensors[0])

    def batch(self, samples: Sequence[int], seed: int, epoch: int) -> tuple[Any, ...]:
        index = torch.tensor(samples, dtype=torch.int64)
        return tuple(tensor.index_select(0, index) for tensor in self.tensors)


class DatasetFeed(Feed):
    """A torch.utils.data.Dataset with length and index, and how its items become a batch."""

    def __init__(self, dataset: Any, collate: Callable[[list[Any]], Any] | None = None):
        self.dataset = dataset
        self.collate = collate or torch.utils.data.default_collate

    def __len__(self) -> int:
        return len(self.dataset)

    def batch(self, samples: Sequence[int], seed: int, epoch: int) -> tuple[Any, ...]:
        items = []
        for sample in samples:
            seed_all(_mix(_mix(_mix(seed) ^ epoch) ^ sample))
            items.append(self.dataset[sample])
        whole = self.collate(items)
        return tuple(whole) if isinstance(whole, (tuple, list)) else (whole,)


def _tensor(array: Any) -> torch.Tensor:
    if isinstance(array, torch.Tensor):
        return array.detach().contiguous()
    try:
        return torch.as_tensor(array).contiguous()
    except (TypeError, ValueError, RuntimeError) as wrong:
        raise errors.InvalidError(
            f"the data have a {type(array).__name__}, which is no array of numbers: {wrong}") \
            from wrong


def feed_of(data: Any) -> Feed:
    """From what a program calls its data: arrays, a Dataset, a DataLoader, a function of these."""
    if isinstance(data, Feed):
        return data
    if isinstance(data, torch.utils.data.DataLoader):
        return DatasetFeed(data.dataset, data.collate_fn)
    if isinstance(data, torch.utils.data.IterableDataset):
        raise errors.InvalidError("the data have no length and no index, so that nobody can take a "
                                  "sample by its number: give a Dataset with both")
    if isinstance(data, torch.utils.data.Dataset):
        return DatasetFeed(data)
    if callable(data):
        return feed_of(data())
    if isinstance(data, (tuple, list)) and data:
        return ArrayFeed(data)
    if hasattr(data, "__len__") and hasattr(data, "__getitem__") and not isinstance(data, str):
        return DatasetFeed(data)
    raise errors.InvalidError(f"the data are a {type(data).__name__}: give (x, y) arrays, a "
                              "torch.utils.data.Dataset, or a function that returns one of them")
