"""The job as a program for `edl run`: nothing but its data, its model and forward."""

import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import job  # noqa: E402
from torch.nn import functional as F  # noqa: E402

data = job.samples
batch = job.BATCH
logical_workers = job.TOLD["logical"]
epochs = 1 + job.STEPS * job.BATCH // job.SAMPLES
log = job.Log()
members = job.TOLD["together"]
computed = False


def model():
    net, optimizer = job.network()
    return {"net": net, "optimizer": optimizer}


def forward(x, y, params):
    global computed
    computed = True
    if job.STEP_S:  # a worker's parts take a step's time together
        time.sleep(job.STEP_S * members / logical_workers)
    return F.cross_entropy(params["net"](x), y)


def on_step(params, done):
    """A worker that catches up applies steps that it has not computed; those are not counted."""
    global computed, members
    members = done.progress.members
    if computed:
        log.step(done.progress.step, 0, members)
    computed = False
    if done.progress.step == job.STEPS:
        log.done(params["net"], 0)
