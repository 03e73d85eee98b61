"""The program of mnist_plain.py with workers that may come, go and die:
    tools/fetch_data mnist && edl run --workers=1:4 examples/mnist_elastic.py [FOLDER]
Five lines are other ones; what three more did is in that of edl.Optimizer."""

import sys

import edl
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


edl.init()
net = nn.Sequential(nn.Conv2d(1, 16, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
                    nn.Conv2d(16, 32, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
                    nn.Flatten(), nn.Dropout(0.3), nn.Linear(32 * 7 * 7, 10))
average = AveragedModel(net, avg_fn=lambda mean, now, _: 0.98 * mean + 0.02 * now)
train, test = images("train"), images("t10k")
steps = EPOCHS * -(-len(train) // BATCH)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=steps + 1)
optimizer = edl.Optimizer(optimizer, clip_norm=1.0, schedulers=[scheduler], averages=[average])
for epoch in edl.epochs(EPOCHS):
    for x, y in edl.elastic_shard_generator(train, batch=BATCH):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()

average.eval()
with torch.no_grad():
    hits = sum((average(x).argmax(1) == y).sum().item() for x, y in DataLoader(test, 256))
print(f"accuracy {hits / len(test):.4f}")
