#!/usr/bin/python3
"""Optimizers of torch, also those whose groups keep different state or that have state before their
first step: what they keep goes to another process as bytes, and they go on there.
Run as: python_optimizer_test.py PATH_OF_EDL [unittest options]"""

import sys
import unittest
from pathlib import Path

import same_kernels  # noqa: F401  before torch
import torch

from train_job import Place, check_told

EDL = "edl"  # argv[1]
ROOT = Path(__file__).resolve().parents[2]
PROGRAM = str(ROOT / "tests/real/optimizer_program.py")
sys.path.insert(0, str(ROOT / "python"))
STEPS = 46  # two epochs


def trained(made, steps):
    """The parameters after these steps, with gradients that follow from the step."""
    net, optimizer, state = made
    for step in steps:
        torch.manual_seed(step)
        for parameter in net.parameters():
            parameter.grad = torch.randn_like(parameter)
        optimizer.step()
        if state is not None:
            state.take()
    return [parameter.detach().clone() for parameter in net.parameters()]


class States(unittest.TestCase):
    """Without processes: each optimizer goes on in another one that got its bytes."""

    def made(self, name, with_state=True):
        from edl._optimizer_state import OptimizerState
        from optimizer_program import OPTIMIZERS

        torch.manual_seed(0)
        net = torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.Linear(5, 3))
        parameters = list(net.named_parameters())
        only = [parameter for _, parameter in parameters]
        optimizer = OPTIMIZERS[name](only[:2], only[2:])
        return net, optimizer, OptimizerState(optimizer, parameters) if with_state else None

    def move(self, before, after):
        for (name, old), (other_name, new) in zip(before[2].tensors(), after[2].tensors()):
            self.assertEqual(name, other_name)
            new.copy_(old)
        with torch.no_grad():
            for old, new in zip(before[0].parameters(), after[0].parameters()):
                new.copy_(old)
        after[2].loaded()

    def test_each_goes_on_where_it_was(self):
        from optimizer_program import OPTIMIZERS

        for name in OPTIMIZERS:
            for moved_at in (0, 1, 9):
                with self.subTest(name=name, moved_at=moved_at):
                    plain = trained(self.made(name, with_state=False), range(20))
                    one, two = self.made(name), self.made(name)
                    trained(two, range(3))  # what it has kept itself does not stay
                    trained(one, range(moved_at))
                    self.move(one, two)
                    after = trained(two, range(moved_at, 20))
                    for expected, number in zip(plain, after):
                        self.assertTrue(torch.equal(expected, number))

    def test_each_begins_anew_as_one_that_is_new(self):
        from optimizer_program import OPTIMIZERS

        for name in OPTIMIZERS:
            with self.subTest(name=name):
                used, fresh = self.made(name), self.made(name)
                trained(used, range(5))
                with torch.no_grad():
                    for old, new in zip(fresh[0].parameters(), used[0].parameters()):
                        new.copy_(old)
                used[2].begin_as(fresh[2])
                for one, other in zip(trained(used, range(9)), trained(fresh, range(9))):
                    self.assertTrue(torch.equal(one, other))

    def test_what_a_group_begins_to_keep_later_is_refused(self):
        from edl import errors

        made = self.made("sgd-groups")
        trained(made, range(2))
        made[1].param_groups[0]["momentum"] = 0.9
        with self.assertRaisesRegex(errors.InvalidError, "keeps momentum_buffer now"):
            trained(made, range(2))


class Jobs(unittest.TestCase):
    def setUp(self):
        self.place = Place(EDL)
        self.addCleanup(self.place.close)

    def ends_well(self, job):
        self.assertEqual(job.end(), 0, job.account())
        return job.events[-1]

    def test_workers_that_come_and_die_and_another_beginning_change_no_bit(self):
        for kind in ("sgd-groups", "adam-groups", "adagrad", "counting"):
            with self.subTest(kind=kind):
                program = (PROGRAM, kind)
                alone = self.place.run(f"{kind}-1", "--workers=1", program=program)
                end = self.ends_well(alone)
                self.assertEqual(end["steps"], STEPS)
                crowd = self.place.run(f"{kind}-3", "--workers=1:3", "--start=3",
                                       "--fault=compute@10=kill", "--fault=apply@25=kill",
                                       program=program)
                self.assertEqual(self.ends_well(crowd)["state_hash"], end["state_hash"])
                self.assertEqual(len(self.place.fired(f"{kind}-3")), 2)
                check_told(self.place, f"{kind}-3")
                self.ends_well(self.place.run(f"{kind}-half", "--workers=1", "--steps=20",
                                              program=program))
                again = self.place.run(f"{kind}-again", "--workers=2", "--epochs=2",
                                       f"--from=edl-jobs/{kind}-half", program=program)
                self.assertEqual(self.ends_well(again)["state_hash"], end["state_hash"])


if __name__ == "__main__":
    EDL = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
