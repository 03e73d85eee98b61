"""Handwritten digits: edl run --workers=1:4 examples/digits.py"""

import edl
import torch
from torch.nn import functional as F


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = torch.nn.Linear(64, 128)
        self.output = torch.nn.Linear(128, 10)

    def forward(self, x):
        return self.output(torch.relu(self.hidden(x)))


def data():
    return edl.datasets.digits()


def evaluate():
    return edl.datasets.digits(test=True)


def model():
    net = Net()
    return {"net": net, "optimizer": torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)}


def forward(x, y, params):
    scores = params["net"](x)
    return F.cross_entropy(scores, y), {"accuracy": (scores.argmax(1) == y).float().mean()}


metrics = ["accuracy"]
epochs = 20
