"""The job with Horovod Elastic: those who are left go back to the last commit, one a step."""

import time

import horovod.torch as hvd
import job
from torch.nn import functional as F

hvd.init()
log, share = job.Log(), job.Share()
net, plain = job.network()
optimizer = hvd.DistributedOptimizer(plain, named_parameters=net.named_parameters())


@hvd.elastic.run
def train(state):
    while state.step < job.STEPS:
        begun = time.monotonic()
        x, y = share.of(state.step, hvd.rank(), hvd.size())
        optimizer.zero_grad()
        F.cross_entropy(net(x), y).backward()
        optimizer.step()
        state.step += 1
        job.pace(begun)
        log.step(state.step, hvd.rank(), hvd.size())
        if job.STEP_S:
            state.commit()


train(hvd.elastic.TorchState(model=net, optimizer=optimizer, step=0))
log.done(net, hvd.rank())
