"""Changes learning rates while it trains: rates_program.py forward|loop WHERE. WHERE is a hook of
each step (hook), a hook of another crowd (resize), a scheduler that a hook steps (stepped), or what
computes a part (body)."""

import sys
import time

import edl
import torch

HOW, WHERE = sys.argv[1:3]
F = torch.nn.functional
LAST = 180  # the step whose state each worker tells


def made():
    net = torch.nn.Linear(64, 10)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    return net, optimizer, torch.optim.lr_scheduler.StepLR(optimizer, 10, 0.5)


def change(optimizer, scheduler, done):
    if WHERE == "hook" and done.progress.step in (3, 40):
        for group in optimizer.param_groups:
            group["lr"] *= 0.5
            group["momentum"] -= 0.1
    if WHERE == "stepped":
        scheduler.step()
    if done.progress.step == LAST:
        print("HASH", edl.state_hash(), flush=True)


def change_at_resize(optimizer, before, now):
    if WHERE == "resize":
        for group in optimizer.param_groups:
            group["lr"] *= now / before


def loss_of(net, optimizer, x, y):
    time.sleep(0.003)
    if WHERE == "body" and edl.rank() == 0:
        optimizer.param_groups[0]["lr"] *= 0.9
    return F.cross_entropy(net(x), y)


def keep_loop():
    edl.init()
    net, inner, _ = made()
    optimizer = edl.Optimizer(inner)
    edl.on_step(lambda done: change(inner, None, done))
    edl.on_resize(lambda before, now: change_at_resize(inner, before, now))
    for _ in edl.epochs(10):
        for x, y in edl.elastic_shard_generator(edl.datasets.digits(), logical_workers=4):
            optimizer.zero_grad()
            loss_of(net, inner, x, y).backward()
            optimizer.step()


def model():
    return dict(zip(("net", "optimizer", "scheduler"), made()))


if HOW == "loop":
    keep_loop()
else:
    edl.train(model, lambda x, y, params: loss_of(params["net"], params["optimizer"], x, y),
              edl.datasets.digits, epochs=10, logical_workers=4,
              schedule=lambda progress: 0.5 if progress.step > 100 else 1.0,
              on_step=lambda params, done: change(params["optimizer"], params["scheduler"], done),
              on_resize=lambda params, *sizes: change_at_resize(params["optimizer"], *sizes))
