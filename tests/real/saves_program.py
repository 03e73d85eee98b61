"""Keeps its loop and saves checkpoints of its own: after each epoch, in a hook, and at the end.
Its argument, if there is one, is a checkpoint or a file of weights to begin with."""

import sys

import edl
import torch
from torch import nn

edl.init()
net = nn.Sequential(nn.Linear(64, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Dropout(0.1),
                    nn.Linear(48, 10))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 40, 0.5)
average = torch.zeros(10)
edl.register("average", average)
optimizer = edl.Optimizer(optimizer, schedulers=[scheduler])
if len(sys.argv) > 1:
    print("began with", edl.load_checkpoint(sys.argv[1]).get("step"), flush=True)


@edl.on_step
def follow(done):
    average.lerp_(net[4].bias.detach(), 0.1)
    if done.progress.step % 10 == 0:
        edl.save_checkpoint("latest")


for epoch in edl.epochs(4):
    for x, y in edl.elastic_shard_generator(edl.datasets.digits(), batch=64, logical_workers=4):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
    edl.save_checkpoint(f"epoch-{epoch}")
edl.save_checkpoint("last")
print("accuracy", (net.eval()(edl.datasets.digits(test=True)[0]).argmax(1)
                   == edl.datasets.digits(test=True)[1]).float().mean().item())
