"""The job with DistributedDataParallel on gloo, for torchrun and for DLRover: all processes start
again after an event, and go on from the last checkpoint."""

import time

import job
from torch import distributed
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

log, share = job.Log(), job.Share()
distributed.init_process_group("gloo")
rank, world = distributed.get_rank(), distributed.get_world_size()
net, optimizer = job.network()
step = job.take(net, optimizer)
parallel = DistributedDataParallel(net)
while step < job.STEPS:
    begun = time.monotonic()
    x, y = share.of(step, rank, world)
    optimizer.zero_grad()
    F.cross_entropy(parallel(x), y).backward()
    optimizer.step()
    step += 1
    job.pace(begun)
    log.step(step, rank, world)
    if rank == 0 and job.is_due(step):
        job.keep(net, optimizer, step)
log.done(net, rank)
distributed.destroy_process_group()
