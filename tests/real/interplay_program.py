"""What programs of PyTorch do, one thing an argument: groups | amp | mixed |
accumulate | schedule NAME | averages | clip-part | two-nets | two-nets-in-a-list |
unsaved | unsaved-changed"""

import gc
import os
import sys

import edl
import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel

from interplay_schedules import SCHEDULES

HOW = sys.argv[1]
EPOCHS, BATCH = 3, 64


class Odd(nn.Module):
    """A parameter that is stored across, one of double precision, gradients with gaps, one that two
    layers share, one that only some parts use, one that nobody uses."""

    def __init__(self):
        super().__init__()
        self.across = nn.Parameter(torch.randn(64, 32).t() / 8)
        self.fine = nn.Parameter(torch.randn(32, 32, dtype=torch.float64) / 6)
        self.first = nn.Linear(32, 32)
        self.second = nn.Linear(32, 32)
        self.second.weight = self.first.weight
        self.sometimes = nn.Parameter(torch.zeros(32))
        self.never = nn.Parameter(torch.zeros(5))
        self.scale = nn.Parameter(torch.ones(1))
        self.last = nn.Linear(32, 10)

    def forward(self, x):
        x = torch.relu(x @ self.across.t())
        x = (x.double() @ self.fine).float()
        x = self.second(torch.relu(self.first(x)))
        if x[0, 0] > 0:
            x = x + self.sometimes
        return self.last(x * self.scale.expand(32))  # its gradient is summed


class Unsaved(nn.Module):
    """Buffers that are in no state_dict: one that is drawn at random, and a mask with gaps."""

    def __init__(self):
        super().__init__()
        self.last = nn.Linear(64, 10)
        self.register_buffer("drawn", torch.randn(64), persistent=False)
        self.register_buffer("mask", torch.ones(2, 10).t()[:, 0], persistent=False)
        self.register_buffer("counted", torch.zeros(1))

    def forward(self, x):
        if HOW == "unsaved-changed" and x[0, 0] >= 0:
            self.drawn += 1
        return self.last(x * self.drawn) * self.mask


def plain_net():
    norm = nn.Identity() if HOW in ("groups", "accumulate") else nn.BatchNorm1d(64)
    return nn.Sequential(nn.Linear(64, 64), norm, nn.ReLU(), nn.Linear(64, 10))


def optimizer_of(net):
    parameters = list(net.parameters())
    return torch.optim.SGD([{"params": parameters[:2], "lr": 0.1},
                            {"params": parameters[2:], "lr": 0.05, "weight_decay": 1e-3}],
                           lr=0.1, momentum=0.9, nesterov=True)


def loss_of(net, x, y):
    return nn.functional.cross_entropy(net(x), y)


def model():
    net = {"mixed": Odd, "unsaved": Unsaved, "unsaved-changed": Unsaved}.get(HOW, plain_net)()
    return {"net": net, "optimizer": optimizer_of(net)}


def forward(x, y, params):
    return loss_of(params["net"], x, y)


def train_part(net, optimizer, x, y):
    if HOW == "amp":
        with torch.autocast("cpu", torch.bfloat16):
            loss = loss_of(net, x, y)
        loss.backward()
    elif HOW == "accumulate":
        for some_x, some_y in zip(x.chunk(3), y.chunk(3)):
            (loss_of(net, some_x, some_y) * len(some_y) / len(y)).backward()
    else:
        loss_of(net, x, y).backward()
    if HOW == "clip-part":
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()


def keep_loop():
    edl.init()
    net = plain_net()
    optimizer = optimizer_of(net)
    schedulers = [SCHEDULES[sys.argv[2]](optimizer)] if HOW == "schedule" else []
    averages = [AveragedModel(net)] if HOW == "averages" else []
    optimizer = edl.Optimizer(optimizer, clip_norm=2.0, schedulers=schedulers, averages=averages)
    for _ in edl.epochs(EPOCHS):
        for x, y in edl.elastic_shard_generator(edl.datasets.digits(), batch=BATCH,
                                                logical_workers=4):
            optimizer.zero_grad()
            train_part(net, optimizer, x, y)


def keep_loop_of_two(first, second):
    optimizer = edl.Optimizer(torch.optim.SGD([*second.parameters(), *first.parameters()], lr=0.1,
                                              momentum=0.9))
    for _ in edl.epochs(EPOCHS):
        for x, y in edl.elastic_shard_generator(edl.datasets.digits(), batch=BATCH,
                                                logical_workers=4):
            optimizer.zero_grad()
            nn.functional.cross_entropy(second(torch.relu(first(x))), y).backward()
            optimizer.step()


if HOW.startswith("two-nets"):
    edl.init()
    body = nn.Linear(64, 64)
    if os.path.exists("collect"):  # Python's own list of objects is in another order then
        gc.collect()
    head = nn.Linear(64, 64)
    if HOW == "two-nets-in-a-list":
        nets = [body, head]
        del body, head
        keep_loop_of_two(*nets)
    else:
        keep_loop_of_two(body, head)
elif HOW in ("groups", "mixed", "unsaved", "unsaved-changed"):
    edl.train(model, forward, edl.datasets.digits, epochs=EPOCHS, batch=BATCH, logical_workers=4,
              micro_batch=7 if HOW == "groups" else None, clip_norm=1.0,
              schedule=lambda progress: 0.99 ** progress.step)
else:
    keep_loop()
