"""A network that torch.compile has turned into code of its own. Its argument says what is compiled:
the network, the network in place, or the forward function. Parts have 12 or 13 samples, and 4 or 5
at the end of an epoch."""

import sys

import edl
import torch
from torch.nn import functional as F

WHAT = sys.argv[1]


def data():
    return edl.datasets.digits()


def model():
    net = torch.nn.Sequential(torch.nn.Linear(64, 96), torch.nn.GELU(), torch.nn.LayerNorm(96),
                              torch.nn.Dropout(0.1), torch.nn.Linear(96, 10))
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.003)
    if WHAT == "network":
        net = torch.compile(net)
    elif WHAT == "in-place":
        net.compile()
    return {"net": net, "optimizer": optimizer}


def forward(x, y, params):
    return F.cross_entropy(params["net"](x), y)


def on_step(params, step):
    print("codes", torch._dynamo.utils.counters["stats"]["unique_graphs"])


if WHAT == "function":
    forward = torch.compile(forward)

edl.train(model, forward, data, batch=100, logical_workers=8, epochs=1, clip_norm=1.0,
          on_step=on_step)
