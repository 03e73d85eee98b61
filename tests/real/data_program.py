"""Trains on digits that are changed at random, in any form that data may have.
Arguments: loader N | memmap | memory | fortran | huge | lines | ranges | bad | loop N"""

import os
import random
import resource
import sys

import edl
import numpy
import torch

HOW, NUMBER = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0
ROWS = 2048  # of what does not fit into memory: 2 MiB each


class Changed(torch.utils.data.Dataset):
    """By each of the three generators that programs draw from."""

    def __init__(self):
        self.x, self.y = edl.datasets.digits()

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        if HOW == "bad" and i == 700:
            raise ValueError("my own words")
        x = self.x[i] * random.uniform(0.9, 1.1) + torch.rand(64) / 16
        return x, numpy.float32(numpy.random.rand()), self.y[i]


def begin_loader(number):
    print("loader", number, os.getpid(), flush=True)


def mixed(items):
    """A collate function that draws, as those who mix samples have it."""
    x, noise, y = torch.utils.data.default_collate(items)
    return x + torch.rand(1) / 16, noise, y


def parse(record):
    words = record.split(b",")
    return torch.tensor([float(word) for word in words[:-1]]), torch.zeros(()), int(words[-1])


def arrays():
    folder = os.environ["DATA_FOLDER"]
    x = numpy.load(f"{folder}/x.npy", mmap_mode=None if HOW == "memory" else "r")
    y = numpy.load(f"{folder}/y.npy", mmap_mode=None if HOW == "memory" else "r")
    if HOW == "fortran":
        x = numpy.asfortranarray(x)
        x.flags.writeable = False
    return x, numpy.zeros(len(y), numpy.float32), y


def data():
    if HOW in ("loader", "bad", "loop"):
        return torch.utils.data.DataLoader(Changed(), num_workers=NUMBER, shuffle=True,
                                           collate_fn=mixed, worker_init_fn=begin_loader)
    if HOW == "huge":
        big = numpy.memmap(f"{os.environ['DATA_FOLDER']}/huge", numpy.float32, "r",
                           shape=(ROWS, 1 << 19))
        return big, numpy.zeros(ROWS, numpy.float32), numpy.zeros(ROWS, numpy.int64)
    if HOW == "lines":
        return edl.datasets.records([f"{os.environ['DATA_FOLDER']}/digits.csv"], parse)
    if HOW == "ranges":  # the same lines in three ranges, not in their order
        path = f"{os.environ['DATA_FOLDER']}/digits.csv"
        end = os.path.getsize(path)
        cuts = [0, end // 5, end // 2, end]
        return edl.datasets.records([(path, a, b) for a, b in zip(cuts, cuts[1:])][::-1], parse)
    return arrays()


def make_net():
    return torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Dropout(0.2),
                               torch.nn.Linear(32, 10))


def model():
    net = make_net()
    return {"net": net, "optimizer": torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)}


def forward(x, noise, y, params):
    # Several micro batches draw one behind the other, whoever loaded their samples.
    out = params["net"](x[:, :64] + noise[:, None] / 16)
    return torch.nn.functional.cross_entropy(out, y)


def on_step(params, step):
    if HOW == "huge":
        print("peak", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10, flush=True)


if HOW == "loop":
    edl.init()
    net = make_net()
    optimizer = edl.Optimizer(torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9))
    for _ in edl.epochs(3):
        for x, noise, y in edl.elastic_shard_generator(data(), batch=64, logical_workers=4):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(net(x + noise[:, None] / 16), y)
            loss.backward()
            optimizer.step()
else:
    edl.train(model, forward, data, epochs=3, batch=64, logical_workers=4, micro_batch=6,
              on_step=on_step)
