"""What a worker knows of its job.

Facts are those of the view that computed the last step which was applied here, so they change only
when a step is applied, and after the same step all members are told the same but for their ranks.
Before a worker's own first step they are those of the view that it computes in. A worker that
catches up with steps of others (`on_step` is called for these, too) has no rank yet: -1.

For example, in a program of nothing but forward::

    import edl, torch

    def data():
        return edl.datasets.digits()

    def model():
        net = torch.nn.Linear(64, 10)
        return {"net": net, "optimizer": torch.optim.SGD(net.parameters(), lr=0.1)}

    def forward(x, y, params):
        return torch.nn.functional.cross_entropy(params["net"](x), y)

    def on_step(params, step):
        print(f"step {step.progress.step}: {edl.rank()} of {edl.size()}, view {edl.generation()} "
              f"by {edl.leader()}, {edl.logical_workers()} parts")
        if edl.leads() and step.progress.step % 5 == 0:
            print(edl.state_hash())

They are asked in the loop and behind it, in `forward` and in hooks; not before the loop, which also
runs where no worker is. What a program trains must not depend on them: the same part may be
computed by anybody.
"""

from __future__ import annotations

import os

from edl import _core


def rank() -> int:
    """This worker's place among the members, from 0 on; survivors of a change keep their order.

    ``if edl.rank() == 0: print(loss)`` prints once. -1: it is no member of the view.
    """
    return int(_core.facts().rank)


def size() -> int:
    """How many workers computed the last step."""
    return int(_core.facts().size)


def generation() -> int:
    """The number of the view; each change of the members makes a higher one."""
    return int(_core.facts().generation)


def logical_workers() -> int:
    """Into how many parts a step is divided, whoever computes them. The same in the whole job."""
    return int(_core.facts().logical_workers)


def leader() -> str:
    """The id of the worker that made the view, as `edl leader` tells it; empty without a rank."""
    told = _core.facts().leader
    return told.decode() if told else ""


def leads() -> bool:
    """Whether that is this one."""
    now = _core.facts()
    return bool(now.id) and now.id == now.leader


def state_hash() -> str:
    """The hash of parameters, buffers, optimizer and position after the last step.

    The same on every worker after the same step, and behind the loops the one that the event
    `finished` tells. It reads the whole state: ask now and then, not with every part.
    """
    return _core.StateCopy().hash()


def set_hints(now: _core.Facts) -> None:
    """torchrun's variables, as they are when this worker begins; they are not kept up."""
    for name, value in (("RANK", now.rank), ("WORLD_SIZE", now.size),
                        ("LOCAL_RANK", now.local_rank), ("LOCAL_WORLD_SIZE", now.local_size),
                        ("EDL_RANK", now.rank), ("EDL_SIZE", now.size),
                        ("EDL_GENERATION", now.generation), ("EDL_WORKER", now.id.decode())):
        os.environ[name] = str(value)
