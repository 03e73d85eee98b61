"""Tells what its workers know: one line of JSON a question, in the log of each.
Arguments: loop | forward | early"""

import json
import os
import sys

import edl
import torch
from torch import nn


def tell(where, step=None):
    print(json.dumps({
        "where": where, "step": step, "rank": edl.rank(), "size": edl.size(),
        "generation": edl.generation(), "logical_workers": edl.logical_workers(),
        "leader": edl.leader(), "leads": edl.leads(), "state_hash": edl.state_hash(),
        "hints": {name: int(os.environ[name]) for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK")
                  if name in os.environ}}), flush=True)


def net_of():
    return nn.Sequential(nn.Linear(64, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 10))


def keep_loop():
    edl.init()
    net = net_of()
    optimizer = edl.Optimizer(torch.optim.Adam(net.parameters(), lr=0.01))

    @edl.on_step
    def told(done):
        if done.progress.step % 5 == 0:
            tell("hook", done.progress.step)

    parts = 0
    for _ in edl.epochs(4):
        for x, y in edl.elastic_shard_generator(edl.datasets.digits(), batch=64,
                                                logical_workers=4):
            parts += 1
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(x), y)
            if parts % 10 == 1:
                tell("body")
            loss.backward()
            optimizer.step()
    tell("behind")


def model():
    net = net_of()
    return {"net": net, "optimizer": torch.optim.Adam(net.parameters(), lr=0.01)}


def forward(x, y, params):
    return nn.functional.cross_entropy(params["net"](x), y)


def told(params, done):
    if done.progress.step % 5 == 0:
        tell("hook", done.progress.step)


if sys.argv[1] == "early":
    edl.init()
    edl.rank()
elif sys.argv[1] == "loop":
    keep_loop()
else:
    edl.train(model, forward, edl.datasets.digits, epochs=4, logical_workers=4, on_step=told)
