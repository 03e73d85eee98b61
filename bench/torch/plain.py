"""The plain loop of PyTorch in one process: it accumulates V parts and steps once.

  plain.py MODEL BATCH V SECONDS [V tell]

Prints steps a second; with `tell` also the time and the number of a step ten times a second.
"""

import statistics
import sys
import time

import ddp
import torch
from torch.nn import functional as F


def main(model, batch, logical, seconds, *more):
    torch.set_num_threads(1)
    logical = int(logical)
    net, shape = ddp.MODELS[model]()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    torch.manual_seed(1)
    x, y = torch.randn((ddp.SAMPLES, *shape)), torch.randint(10, (ddp.SAMPLES,))
    size, at, times = int(batch) // logical, 0, []
    begin = told = time.monotonic()
    while time.monotonic() - begin < float(seconds):
        start = time.monotonic()
        optimizer.zero_grad(set_to_none=False)
        for _ in range(logical):
            index = torch.arange(at, at + size) % ddp.SAMPLES
            at += size
            (F.cross_entropy(net(x[index]), y[index]) / logical).backward()
        optimizer.step()
        times.append(time.monotonic() - start)
        if more and time.monotonic() - told > 0.1:
            told = time.monotonic()
            print(f"{time.time():.6f} {len(times)}", flush=True)
    print(1 / statistics.median(times[len(times) // 5:]), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
