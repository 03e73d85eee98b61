"""The program of bits_program.cc in Python: a convolution, BatchNorm, dropout, samples that are
changed at random, several micro batches in a part. Its argument names the optimizer."""

import sys

import edl
import torch
from torch.nn import functional as F

OPTIMIZERS = {
    "sgd": lambda parameters: torch.optim.SGD(parameters, lr=0.05, momentum=0.9),
    "adam": lambda parameters: torch.optim.Adam(parameters, lr=0.003),
    "adamw": lambda parameters: torch.optim.AdamW(parameters, lr=0.003)}


class Moved(torch.utils.data.Dataset):
    """Digits, moved by up to one pixel in each direction."""

    def __init__(self):
        self.x, self.y = edl.datasets.digits()

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        by = torch.randint(-1, 2, (2,)).tolist()
        return self.x[i].view(8, 8).roll(by, (0, 1)), self.y[i]


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Conv2d(1, 6, 3, padding=1), torch.nn.BatchNorm2d(6), torch.nn.ReLU(),
            torch.nn.Dropout(0.3), torch.nn.Flatten(), torch.nn.Linear(6 * 8 * 8, 10))

    def forward(self, x):
        return self.layers(x.unsqueeze(1))


def model():
    net = Net()
    return {"net": net, "optimizer": OPTIMIZERS[sys.argv[1]](net.parameters())}


def forward(x, y, params):
    return F.cross_entropy(params["net"](x), y)


edl.train(model, forward, Moved, batch=96, logical_workers=8, micro_batch=7, epochs=8)
