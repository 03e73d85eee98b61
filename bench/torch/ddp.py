"""The same training by PyTorch's DistributedDataParallel over gloo, as its users write it.

  ddp.py MODEL BATCH V SECONDS RANK PROCS PORT      rank 0 prints steps a second

Each process computes V / PROCS parts; all but the last under no_sync, so that gradients are
exchanged once a step, while the last backward runs.
"""

import contextlib
import os
import statistics
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

SAMPLES = 2048


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.first = self.conv(inputs, outputs, 3, stride)
        self.first_norm = nn.BatchNorm2d(outputs)
        self.second = self.conv(outputs, outputs, 3, 1)
        self.second_norm = nn.BatchNorm2d(outputs)
        self.around = None
        if stride != 1 or inputs != outputs:
            self.around = nn.Sequential(self.conv(inputs, outputs, 1, stride),
                                        nn.BatchNorm2d(outputs))

    @staticmethod
    def conv(inputs, outputs, size, stride):
        return nn.Conv2d(inputs, outputs, size, stride, size // 2, bias=False)

    def forward(self, x):
        y = self.second_norm(self.second(torch.relu(self.first_norm(self.first(x)))))
        return torch.relu(y + (x if self.around is None else self.around(x)))


def mlp(first, second):
    return nn.Sequential(nn.Linear(784, first), nn.ReLU(), nn.Linear(first, second), nn.ReLU(),
                         nn.Linear(second, 10)), (784,)


def resnet18():
    layers = [Block.conv(3, 64, 3, 1), nn.BatchNorm2d(64), nn.ReLU()]
    inputs = 64
    for outputs in (64, 128, 256, 512):
        layers += [Block(inputs, outputs, 1 if outputs == 64 else 2), Block(outputs, outputs, 1)]
        inputs = outputs
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10)]
    return nn.Sequential(*layers), (3, 32, 32)


MODELS = {"0.4M": lambda: mlp(400, 200), "11M": lambda: mlp(2800, 3000),
          "25M": lambda: mlp(4400, 4700), "resnet18": resnet18}


def main(model, batch, logical, seconds, rank, procs, port):
    torch.set_num_threads(1)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=port, RANK=rank, WORLD_SIZE=procs)
    torch.distributed.init_process_group("gloo")
    rank, procs, logical = int(rank), int(procs), int(logical)
    net, shape = MODELS[model]()
    net = nn.parallel.DistributedDataParallel(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    torch.manual_seed(1)
    x, y = torch.randn((SAMPLES, *shape)), torch.randint(10, (SAMPLES,))
    size, parts = int(batch) // logical, logical // procs
    times, at = [], 0
    going = torch.ones(1)
    begin = time.monotonic()
    while going.item():
        for _ in range(5):
            start = time.monotonic()
            optimizer.zero_grad(set_to_none=False)
            for part in range(parts):
                index = torch.arange(at, at + size) % SAMPLES
                at += size
                with contextlib.ExitStack() as stack:
                    if part + 1 < parts:
                        stack.enter_context(net.no_sync())
                    (F.cross_entropy(net(x[index]), y[index]) / parts).backward()
            optimizer.step()
            times.append(time.monotonic() - start)
        going.fill_(time.monotonic() - begin < float(seconds))
        torch.distributed.broadcast(going, 0)  # all end together; not measured
    if rank == 0:
        print(1 / statistics.median(times[len(times) // 5:]), flush=True)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
