"""Training that torchrun restarts on every change: it loads what was saved last, and goes on.

  torchrun ... ddp_elastic.py MODEL BATCH FOLDER EVERY

Rank 0 saves all EVERY steps and writes the time and number of each step that it has completed.
"""

import os
import sys
import time
from pathlib import Path

import ddp
import torch
from torch import nn
from torch.nn import functional as F


def main(model, batch, folder, every):
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo")
    rank, procs = torch.distributed.get_rank(), torch.distributed.get_world_size()
    net, shape = ddp.MODELS[model]()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
    saved = Path(folder) / "saved.pt"
    step = 0
    if saved.exists():
        state = torch.load(saved)
        net.load_state_dict(state["net"])
        optimizer.load_state_dict(state["optimizer"])
        step = state["step"]
    net = nn.parallel.DistributedDataParallel(net)
    torch.manual_seed(1)
    x, y = torch.randn((ddp.SAMPLES, *shape)), torch.randint(10, (ddp.SAMPLES,))
    size = int(batch) // procs
    with open(Path(folder) / "steps", "a", buffering=1) as steps:
        while True:
            index = (torch.arange(size) + step * int(batch) + rank * size) % ddp.SAMPLES
            optimizer.zero_grad(set_to_none=False)
            F.cross_entropy(net(x[index]), y[index]).backward()
            optimizer.step()
            step += 1
            if rank != 0:
                continue
            steps.write(f"{time.time():.6f} {step} {procs}\n")
            if step % int(every) == 0:
                fresh = saved.with_suffix(f".{os.getpid()}")
                torch.save({"net": net.module.state_dict(), "step": step,
                            "optimizer": optimizer.state_dict()}, fresh)
                fresh.rename(saved)


if __name__ == "__main__":
    main(*sys.argv[1:])
