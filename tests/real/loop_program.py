"""A program that keeps its loop: a schedule, clipping, dropout and an average of the weights."""

import edl
import torch
from torch import nn

edl.init()
net = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Dropout(0.1), nn.Linear(128, 10))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 100, 0.5)
averages = [parameter.detach().clone() for parameter in net.parameters()]
for number, average in enumerate(averages):
    edl.register(f"average{number}", average)
optimizer = edl.Optimizer(optimizer, clip_norm=1.0, schedulers=[scheduler])


@edl.on_step
def follow(done):
    for average, parameter in zip(averages, net.parameters()):
        average.lerp_(parameter.detach(), 0.1)


data = torch.utils.data.TensorDataset(*edl.datasets.digits())
for epoch in edl.epochs(10):
    for x, y in edl.elastic_shard_generator(data, batch=64, logical_workers=8):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
x, y = edl.datasets.digits(test=True)
net.eval()
print("accuracy", (net(x).argmax(1) == y).float().mean().item())
