"""The job that every peer trains: a small network on samples in a fixed order, with a global batch
that does not depend on the number of workers. Each worker writes down when it has completed a step.

What it is told comes in PEERS_JOB: {log steps step_s model batch checkpoint every together}."""

import hashlib
import json
import os
import time

import torch
from torch import nn

TOLD = json.loads(os.environ["PEERS_JOB"])
STEPS, BATCH, STEP_S = TOLD["steps"], TOLD["batch"], TOLD["step_s"]
SAMPLES = 9600  # a multiple of every batch
WIDTHS = {"0.4M": (784, 400, 200, 10), "11M": (784, 3072, 2816, 10)}[TOLD["model"]]
torch.set_num_threads(1)


def network():
    """Always the same one, and its optimizer. Tanh: rounding is not blown up by kinks."""
    torch.manual_seed(0)
    layers = [layer for one, next_one in zip(WIDTHS, WIDTHS[1:])
              for layer in (nn.Linear(one, next_one), nn.Tanh())][:-1]
    net = nn.Sequential(*layers)
    return net, torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)


def samples():
    draw = torch.Generator().manual_seed(1)
    x = torch.randn(SAMPLES, 784, generator=draw)
    return x, (x[:, :10] + 0.3 * x[:, 10:20]).argmax(1)


class Share:
    """Each worker's part of a step's batch, by the number of the step (from 0)."""

    def __init__(self):
        self._x, self._y = samples()
        self._epoch, self._order = -1, None

    def of(self, step, rank, world):
        epoch, place = divmod(step * BATCH, SAMPLES)
        if epoch != self._epoch:
            self._epoch = epoch
            self._order = torch.randperm(SAMPLES, generator=torch.Generator().manual_seed(epoch))
        begin, end = (place + BATCH * one // world for one in (rank, rank + 1))
        index = self._order[begin:end]
        return self._x.index_select(0, index), self._y.index_select(0, index)


class Log:
    """One file a process; begun anew in a process that was forked."""

    def __init__(self):
        self._file, self._pid = None, None

    def write(self, event, **fields):
        if self._pid != os.getpid():
            self._pid = os.getpid()
            self._file = open(f"{TOLD['log']}/{self._pid}.jsonl", "a", buffering=1)
        self._file.write(json.dumps({"event": event, "time": time.monotonic(), "pid": self._pid,
                                     "parent": os.getppid(), **fields}) + "\n")

    def step(self, step, rank, world):
        """`step` counts from 1."""
        self.write("step", step=step, rank=rank, world=world)

    def done(self, net, rank):
        digest = hashlib.sha256()
        for parameter in net.parameters():
            digest.update(parameter.detach().numpy().tobytes())
        self.write("done", rank=rank, digest=digest.hexdigest()[:16])


def pace(begun):
    """A step takes so long, whoever is quick."""
    left = STEP_S - (time.monotonic() - begun)
    if left > 0:
        time.sleep(left)


def keep(net, optimizer, step):
    """For peers that go on from a file."""
    whole = {"net": net.state_dict(), "optimizer": optimizer.state_dict(), "step": step}
    torch.save(whole, TOLD["checkpoint"] + ".new")
    os.replace(TOLD["checkpoint"] + ".new", TOLD["checkpoint"])


def take(net, optimizer, path=None):
    path = path or TOLD["checkpoint"]
    if not os.path.exists(path):
        return 0
    kept = torch.load(path)
    net.load_state_dict(kept["net"])
    optimizer.load_state_dict(kept["optimizer"])
    return kept["step"]


def is_due(step):
    """Whether a checkpoint is written behind this step: not where speed is measured."""
    return STEP_S > 0 and step % TOLD["every"] == 0


def wait_for_the_others():
    """For a peer that begins with whoever is there."""
    open(f"{TOLD['log']}/ready-{os.getpid()}", "w").close()
    while sum(name.startswith("ready-") for name in os.listdir(TOLD["log"])) < TOLD["together"]:
        time.sleep(0.02)
