"""Handwritten digits with a small residual network: BatchNorm, random shifts, a rate that falls in
steps, and a look at the held-out images after each epoch."""

from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
epochs, batch_size = 5, 64


class Digits(Dataset):
    """8x8 images; those to train on are shifted by up to a pixel."""

    def __init__(self, train):
        path = Path(__file__).resolve().parents[3] / "edl/train/builtin/digits.txt"
        rows = [line.split() for line in path.read_text().splitlines()]
        rows = [row for i, row in enumerate(rows) if (i % 5 != 0) == train]
        levels = "0123456789abcdefg"
        self.images = torch.tensor([[levels.index(pixel) / 16 for pixel in pixels]
                                    for pixels, _ in rows]).view(-1, 1, 8, 8)
        self.labels = torch.tensor([int(label) for _, label in rows])
        self.train = train

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        image = self.images[i]
        if self.train:
            down, right = torch.randint(0, 3, (2,)).tolist()
            image = F.pad(image, (1, 1, 1, 1))[:, down:down + 8, right:right + 8]
        return image, self.labels[i]


class Residual(nn.Module):
    def __init__(self, inside, outside, stride):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(inside, outside, 3, stride, 1, bias=False), nn.BatchNorm2d(outside),
            nn.ReLU(), nn.Conv2d(outside, outside, 3, 1, 1, bias=False), nn.BatchNorm2d(outside))
        self.shortcut = nn.Sequential(nn.Conv2d(inside, outside, 1, stride, bias=False),
                                      nn.BatchNorm2d(outside))

    def forward(self, x):
        return F.relu(self.body(x) + self.shortcut(x))


def evaluate(net, loader):
    net.eval()
    with torch.no_grad():
        right = sum((net(x).argmax(1) == y).sum().item() for x, y in loader)
    return right / len(loader.dataset)


net = nn.Sequential(nn.Conv2d(1, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
                    Residual(16, 16, 1), Residual(16, 32, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                    nn.Linear(32, 10))
train_loader = DataLoader(Digits(train=True), batch_size, shuffle=True)
test_loader = DataLoader(Digits(train=False), batch_size)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 3 * len(train_loader), gamma=0.1)
for epoch in range(epochs):
    net.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        scheduler.step()
    print(f"epoch {epoch} accuracy {evaluate(net, test_loader):.3f}")
