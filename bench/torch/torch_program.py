"""A measured model as a program of EDL in Python:  edl run torch_program.py MODEL BATCH V"""

import sys
from pathlib import Path

import edl
import torch
from torch.nn import functional as F

sys.path.insert(0, str(Path(__file__).resolve().parent))
import ddp  # noqa: E402

MODEL, BATCH, LOGICAL = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])


def model():
    net, _ = ddp.MODELS[MODEL]()
    return {"net": net, "optimizer": torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)}


def data():
    _, shape = ddp.MODELS[MODEL]()
    torch.manual_seed(1)
    return torch.randn((ddp.SAMPLES, *shape)), torch.randint(10, (ddp.SAMPLES,))


def forward(x, y, params):
    return F.cross_entropy(params["net"](x), y)


edl.train(model, forward, data, batch=BATCH, logical_workers=LOGICAL, epochs=1_000_000)
