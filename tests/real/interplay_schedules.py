"""Schedulers that interplay_program.py trains with, by name; two groups of parameters."""

from torch.optim import lr_scheduler

SCHEDULES = {
    "one-cycle": lambda o: lr_scheduler.OneCycleLR(o, [0.2, 0.1], total_steps=100),
    "restarts": lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 7, 2),
    "sequential": lambda o: lr_scheduler.SequentialLR(
        o, [lr_scheduler.LinearLR(o, 0.1, total_iters=20), lr_scheduler.ExponentialLR(o, 0.97)],
        [20]),
    "steps": lambda o: lr_scheduler.MultiStepLR(o, [3, 9, 20], 0.3),
    "lambda": lambda o: lr_scheduler.LambdaLR(o, lambda step: 1 / (1 + step)),
    "cyclic": lambda o: lr_scheduler.CyclicLR(o, 0.01, 0.1, step_size_up=5),
    "chained": lambda o: lr_scheduler.ChainedScheduler(
        [lr_scheduler.ConstantLR(o, 0.1, 3), lr_scheduler.ExponentialLR(o, 0.9)]),
    "plateau": lambda o: lr_scheduler.ReduceLROnPlateau(o, factor=0.7, patience=3)}
