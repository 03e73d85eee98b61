"""The job with torchft: each process is a replica; a quorum at each step, newcomers heal from one
that is there."""

import os
import time
from datetime import timedelta

import job
from torch.distributed import TCPStore
from torch.nn import functional as F
from torchft import DistributedDataParallel, Manager, Optimizer, ProcessGroupGloo

log, share = job.Log(), job.Share()
net, plain = job.network()


def load(state):
    net.load_state_dict(state["net"])
    plain.load_state_dict(state["optimizer"])


store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
crew = Manager(
    pg=ProcessGroupGloo(timeout=timedelta(seconds=5)), min_replica_size=1, load_state_dict=load,
    state_dict=lambda: {"net": net.state_dict(), "optimizer": plain.state_dict()},
    quorum_retries=int(os.environ.get("PEERS_RETRIES", "0")), rank=0, world_size=1,
    store_addr="127.0.0.1", store_port=store.port, hostname="127.0.0.1",
    replica_id=os.environ["PEERS_REPLICA"], timeout=timedelta(seconds=30), init_sync=False)
parallel, optimizer = DistributedDataParallel(crew, net), Optimizer(crew, plain)
job.wait_for_the_others()
while crew.current_step() < job.STEPS:
    begun = time.monotonic()
    optimizer.zero_grad()  # asks for a quorum
    crew.wait_quorum()  # a share depends on it
    step, world, rank = crew.current_step(), crew.num_participants(), crew.participating_rank()
    x, y = share.of(step, rank or 0, world)
    F.cross_entropy(parallel(x), y).backward()
    step, world, rank = crew.current_step(), crew.num_participants(), crew.participating_rank()
    optimizer.step()
    job.pace(begun)
    if crew.current_step() > step:
        log.step(crew.current_step(), -1 if rank is None else rank, world)
log.done(net, crew.participating_rank() or 0)
os._exit(0)  # its threads may wait for each other at the end
