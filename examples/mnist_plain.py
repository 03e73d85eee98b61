"""MNIST in plain PyTorch, with a schedule, clipping and an average of the weights:
    tools/fetch_data mnist && python3 examples/mnist_plain.py [FOLDER]
mnist_elastic.py is the same program, five lines later."""

import sys

import numpy
import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel
from torch.utils.data import DataLoader, TensorDataset

FOLDER = sys.argv[1] if len(sys.argv) > 1 else "build/data/mnist"
EPOCHS, BATCH = 4, 64


def images(part):
    x = numpy.fromfile(f"{FOLDER}/{part}-images-idx3-ubyte", numpy.uint8)[16:]
    y = numpy.fromfile(f"{FOLDER}/{part}-labels-idx1-ubyte", numpy.uint8)[8:]
    x = torch.from_numpy(x).reshape(-1, 1, 28, 28).float() / 255
    return TensorDataset(x, torch.from_numpy(y).long())


torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(1, 16, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
                    nn.Conv2d(16, 32, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
                    nn.Flatten(), nn.Dropout(0.3), nn.Linear(32 * 7 * 7, 10))
average = AveragedModel(net, avg_fn=lambda mean, now, _: 0.98 * mean + 0.02 * now)
train, test = images("train"), images("t10k")
steps = EPOCHS * -(-len(train) // BATCH)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=steps + 1)
for epoch in range(EPOCHS):
    for x, y in DataLoader(train, batch_size=BATCH, shuffle=True):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        average.update_parameters(net)

average.eval()
with torch.no_grad():
    hits = sum((average(x).argmax(1) == y).sum().item() for x, y in DataLoader(test, 256))
print(f"accuracy {hits / len(test):.4f}")
