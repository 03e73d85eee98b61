"""Which kind of line is this? A classifier of lines of text with a trainer class, a collate
function for items of different lengths, and a schedule that warms up."""

from pathlib import Path

import edl
import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader

KINDS = {"#": 0, "|": 1, "-": 2}  # a heading, a row of a table, an item of a list; 3: prose
LENGTH_MAX = 64


def lines():
    """Each line as its bytes, without the sign that it begins with, and its kind."""
    text = (Path(__file__).resolve().parents[2] / "language/text.txt").read_text()
    return [{"bytes": list(line.lstrip("#|- ").encode())[:LENGTH_MAX],
             "label": KINDS.get(line[0], 3)}
            for line in text.splitlines() if line.lstrip("#|- ")]


def collate(items):
    """A batch: lines filled up to the longest of them."""
    longest = max(len(item["bytes"]) for item in items)
    rows = [item["bytes"] + [0] * (longest - len(item["bytes"])) for item in items]
    return {"input_ids": torch.tensor(rows),
            "attention_mask": torch.tensor(rows) != 0,
            "labels": torch.tensor([item["label"] for item in items])}


class Classifier(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.embedding = nn.Embedding(256, width)
        self.mix = nn.Conv1d(width, width, 5, padding=2)
        self.out = nn.Sequential(nn.Dropout(0.1), nn.Linear(width, 4))

    def forward(self, input_ids, attention_mask):
        mask = attention_mask.unsqueeze(-1)
        hidden = self.embedding(input_ids) * mask
        hidden = F.relu(self.mix(hidden.transpose(1, 2))).transpose(1, 2) * mask
        return self.out(hidden.sum(1) / mask.sum(1))


class Trainer:
    def __init__(self, model, dataset, epochs, batch_size=32, lr=5e-3, warmup=20):
        self.model, self.epochs, self.batch_size = model, epochs, batch_size
        self.loader = DataLoader(dataset, batch_size, shuffle=True, collate_fn=collate)
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(
            self.optimizer, lambda step: min(1.0, (step + 1) / warmup))
        self.optimizer = edl.Optimizer(self.optimizer, 1.0, [self.scheduler])

    def compute_loss(self, inputs):
        logits = self.model(inputs["input_ids"], inputs["attention_mask"])
        return F.cross_entropy(logits, inputs["labels"])

    def train(self):
        self.model.train()
        for epoch in edl.epochs(self.epochs):
            for inputs in edl.elastic_shard_generator(self.loader, self.batch_size):
                self.optimizer.zero_grad()
                loss = self.compute_loss(inputs)
                loss.backward()
                self.optimizer.step()

    def evaluate(self, dataset):
        self.model.eval()
        batch = collate(dataset)
        with torch.no_grad():
            logits = self.model(batch["input_ids"], batch["attention_mask"])
        return (logits.argmax(1) == batch["labels"]).float().mean().item()


edl.init()
everything = lines()
held_out = everything[::5]
trainer = Trainer(Classifier(), [one for i, one in enumerate(everything) if i % 5], epochs=4)
trainer.train()
print(f"accuracy {trainer.evaluate(held_out):.3f}")
