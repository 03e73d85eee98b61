"""EDL: training whose workers may come, go and die at any moment, always with the same result.

A program gives its data, its model with an optimizer, and a forward function; EDL does the rest::

    import edl, torch

    def data():
        return edl.datasets.digits()

    def model():
        net = torch.nn.Linear(64, 10)
        return {"net": net, "optimizer": torch.optim.SGD(net.parameters(), lr=0.1)}

    def forward(x, y, params):
        return torch.nn.functional.cross_entropy(params["net"](x), y)

``edl run --workers=1:4 digits.py`` trains it. Importing this package loads no framework.
"""

from edl import datasets
from edl._files import read_tensors
from edl.checkpoints import save_checkpoint
from edl.client import explain, jobs, scale, status, stop, verify
from edl.errors import (ConflictError, CorruptError, Error, ExhaustedError, InvalidError,
                        NotFoundError, TimeoutError, UnavailableError)
from edl.facts import generation, leader, leads, logical_workers, rank, size, state_hash
from edl.loop import (Optimizer, elastic_shard_generator, epochs, init, load_checkpoint,
                      notify_batch_end, on_resize, on_step, register)
from edl.training import AppliedStep, Progress, train

__all__ = ["AppliedStep", "ConflictError", "CorruptError", "Error", "ExhaustedError",
           "InvalidError", "NotFoundError", "Optimizer", "Progress", "TimeoutError",
           "UnavailableError", "datasets", "elastic_shard_generator", "epochs", "explain",
           "generation", "init", "jobs", "leader", "leads", "load_checkpoint", "logical_workers",
           "notify_batch_end", "on_resize", "on_step", "rank", "read_tensors", "register",
           "save_checkpoint", "scale", "size", "state_hash", "status", "stop", "train", "verify"]
