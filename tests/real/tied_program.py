"""What real networks have: a shared parameter, one that is never used, an optimizer with numbers of
its own beside its tensors, and state of the program's."""

import edl
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(64, 64)
        self.second = torch.nn.Linear(64, 64)
        self.second.weight = self.first.weight
        self.last = torch.nn.Linear(64, 10)
        self.unused = torch.nn.Linear(3, 3)

    def forward(self, x):
        return self.last(torch.relu(self.second(torch.relu(self.first(x)))))


def data():
    return torch.utils.data.DataLoader(torch.utils.data.TensorDataset(*edl.datasets.digits()),
                                       num_workers=3, shuffle=True)


def model():
    net = Net()
    return {"net": net, "optimizer": torch.optim.NAdam(net.parameters(), lr=0.01),
            "steps": torch.zeros(1)}


def forward(x, y, params):
    return torch.nn.functional.cross_entropy(params["net"](x), y)


def on_step(params, step):
    params["steps"] += 1


epochs = 3
logical_workers = 4
