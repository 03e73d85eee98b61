"""A script for torchrun: sums with the others, step by step, and writes down how many they are.
Run as: torchrun_script.py LOG STEPS; the lines of all workers go to LOG."""

import os
import sys
import time

import torch
from torch import distributed

STEP_S = 0.02


def main(log, steps):
    distributed.init_process_group("gloo", init_method=(
        f"tcp://127.0.0.1:{os.environ['MASTER_PORT']}"), rank=int(os.environ["RANK"]),
        world_size=int(os.environ["WORLD_SIZE"]))
    for step in range(steps):
        total = torch.ones(1)
        distributed.all_reduce(total)
        with open(log, "a") as file:
            file.write(f"{os.getpid()} {os.getppid()} {int(total.item())} {step}\n")
        time.sleep(STEP_S)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
