"""A small GPT that learns the text in examples/language: random pieces of the text, a schedule by
hand, clipping, decay for matrices only."""

import math
from pathlib import Path

import edl
import torch
from torch import nn
from torch.nn import functional as F

batch_size, block_size, width, heads, layers = 16, 32, 48, 4, 2
iterations, warmup, learning_rate, weight_decay, clip = 60, 10, 3e-3, 0.1, 1.0
edl.init(seed=1337)

text = (Path(__file__).resolve().parents[2] / "language/text.txt").read_bytes()
data = torch.tensor(list(text))
train, held_out = data[:-len(data) // 10], data[-len(data) // 10:]


def pieces(data, starts):
    """What is read, and what is to be said: the same, one byte later."""
    whole = torch.stack([data[i:i + block_size + 1] for i in starts.tolist()])
    return whole[:, :-1], whole[:, 1:]


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.before_attention, self.before_mlp = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = nn.Linear(width, 3 * width, bias=False)
        self.join = nn.Linear(width, width, bias=False)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(),
                                 nn.Linear(4 * width, width), nn.Dropout(0.1))
        self.register_buffer("mask", torch.ones(block_size, block_size).tril() == 0)

    def forward(self, x):
        count, length, _ = x.shape
        q, k, v = (part.view(count, length, heads, -1).transpose(1, 2)
                   for part in self.attention(self.before_attention(x)).split(width, dim=2))
        scores = q @ k.transpose(-2, -1) / math.sqrt(width // heads)
        seen = scores.masked_fill(self.mask[:length, :length], float("-inf")).softmax(-1) @ v
        x = x + self.join(seen.transpose(1, 2).reshape(count, length, width))
        return x + self.mlp(self.before_mlp(x))


class Gpt(nn.Module):
    def __init__(self):
        super().__init__()
        self.bytes, self.places = nn.Embedding(256, width), nn.Embedding(block_size, width)
        self.blocks = nn.Sequential(*[Block() for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 256, bias=False)
        self.head.weight = self.bytes.weight  # one table for what comes in and goes out
        nn.init.normal_(self.head.weight, std=0.02)

    def forward(self, x, y):
        hidden = self.blocks(self.bytes(x) + self.places(torch.arange(x.shape[1])))
        return F.cross_entropy(self.head(self.norm(hidden)).flatten(0, 1), y.flatten())


def factor(iteration):
    """What the learning rate is multiplied by: up for a while, then down as a cosine."""
    if iteration < warmup:
        return (iteration + 1) / (warmup + 1)
    return 0.1 + 0.45 * (1 + math.cos(math.pi * (iteration - warmup) / (iterations - warmup)))


model = Gpt()
matrices = [p for p in model.parameters() if p.dim() >= 2]
others = [p for p in model.parameters() if p.dim() < 2]
optimizer = torch.optim.AdamW([{"params": matrices, "weight_decay": weight_decay},
                               {"params": others, "weight_decay": 0.0}],
                              lr=learning_rate, betas=(0.9, 0.95))
optimizer = edl.Optimizer(optimizer, clip, [torch.optim.lr_scheduler.LambdaLR(optimizer, factor)])
drawn = torch.randint(len(train) - block_size, (iterations * batch_size,))
for starts in edl.elastic_shard_generator([drawn], batch=batch_size):
    loss = model(*pieces(train, starts))
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()

model.eval()
with torch.no_grad():
    starts = torch.arange(0, len(held_out) - block_size, block_size)
    print(f"held-out loss {model(*pieces(held_out, starts)).item():.3f}")
