"""Trains with the optimizer that its argument names. Groups of one optimizer keep different state;
some optimizers have state before their first step, and numbers beside the step."""

import sys

import edl
import torch

O = torch.optim


class Counting(O.SGD):
    """Keeps in its groups how far it is, as some optimizers do that need no schedule."""

    def step(self, closure=None):
        for group in self.param_groups:
            group["lr_sum"] = group.get("lr_sum", 1.0) + group["lr"]
            group["momentum"] = 1 - 1 / group["lr_sum"]
        return super().step(closure)


OPTIMIZERS = {
    "sgd": lambda a, b: O.SGD([*a, *b], lr=0.1),
    "nesterov": lambda a, b: O.SGD([*a, *b], lr=0.05, momentum=0.9, nesterov=True,
                                   weight_decay=0.01),
    "dampened": lambda a, b: O.SGD([*a, *b], lr=0.05, momentum=0.9, dampening=0.5),
    "sgd-groups": lambda a, b: O.SGD([{"params": a, "momentum": 0.0},
                                      {"params": b, "momentum": 0.9}], lr=0.1),
    "adam": lambda a, b: O.Adam([*a, *b], lr=0.01),
    "adam-groups": lambda a, b: O.Adam([{"params": a}, {"params": b, "amsgrad": True}], lr=0.01),
    "adamw": lambda a, b: O.AdamW([*a, *b], lr=0.01),
    "nadam": lambda a, b: O.NAdam([*a, *b], lr=0.01),
    "radam": lambda a, b: O.RAdam([*a, *b], lr=0.01),
    "adagrad": lambda a, b: O.Adagrad([*a, *b], lr=0.1, initial_accumulator_value=0.5,
                                      lr_decay=0.01),
    "rmsprop": lambda a, b: O.RMSprop([*a, *b], lr=0.01, centered=True, momentum=0.5),
    "rmsprop-groups": lambda a, b: O.RMSprop([{"params": a}, {"params": b, "centered": True,
                                                              "momentum": 0.5}], lr=0.01),
    "adadelta": lambda a, b: O.Adadelta([*a, *b], lr=0.5),
    "adamax": lambda a, b: O.Adamax([*a, *b]),
    "asgd": lambda a, b: O.ASGD([*a, *b], lr=0.1, lambd=0.01, t0=5),
    "rprop": lambda a, b: O.Rprop([*a, *b], lr=0.01)}


GROUPS_ARE_STATE = {"counting": lambda a, b: Counting([*a, *b], lr=0.05, momentum=0.1)}


def model():
    net = torch.nn.Sequential(torch.nn.Linear(64, 16), torch.nn.ReLU(), torch.nn.Linear(16, 10))
    parameters = list(net.parameters())
    made = {**OPTIMIZERS, **GROUPS_ARE_STATE}[sys.argv[1]]
    return {"net": net, "optimizer": made(parameters[:2], parameters[2:])}


def forward(x, y, params):
    return torch.nn.functional.cross_entropy(params["net"](x), y)


if __name__ == "__main__":
    edl.train(model, forward, edl.datasets.digits, epochs=2, logical_workers=4)
