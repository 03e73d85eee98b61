"""The job with Ray Train, elastic: all workers start again after an event, from the last checkpoint
that was reported. Run as: ray_job.py ADDRESS SETTINGS FOLDER"""

import json
import os
import sys
import tempfile
import time


def train(_):
    import job
    import ray.train
    import torch
    from ray.train.torch import prepare_model
    from torch.nn import functional as F

    log, share = job.Log(), job.Share()
    context = ray.train.get_context()
    rank, world = context.get_world_rank(), context.get_world_size()
    net, optimizer = job.network()
    step = 0
    kept = ray.train.get_checkpoint()
    if kept:
        with kept.as_directory() as folder:
            step = job.take(net, optimizer, f"{folder}/kept")
    parallel = prepare_model(net)
    while step < job.STEPS:
        begun = time.monotonic()
        x, y = share.of(step, rank, world)
        optimizer.zero_grad()
        F.cross_entropy(parallel(x), y).backward()
        optimizer.step()
        step += 1
        job.pace(begun)
        log.step(step, rank, world)
        if job.is_due(step):
            report(ray.train, torch, rank, net, optimizer, step)
    log.done(net, rank)


def report(train_module, torch, rank, net, optimizer, step):
    """All report; the first one brings the state."""
    kept = None
    if rank == 0:
        folder = tempfile.mkdtemp()
        torch.save({"net": net.state_dict(), "optimizer": optimizer.state_dict(), "step": step},
                   f"{folder}/kept")
        kept = train_module.Checkpoint.from_directory(folder)
    train_module.report({"step": step}, checkpoint=kept)


def main(address, settings, folder):
    import ray
    from ray.train import CheckpointConfig, FailureConfig, RunConfig, ScalingConfig
    from ray.train.torch import TorchConfig, TorchTrainer

    ray.init(address=address, log_to_driver=False)
    wanted = json.loads(os.environ["PEERS_JOB"])["together"]
    while sum(node["Alive"] for node in ray.nodes()) < wanted:
        time.sleep(0.1)
    watch = {"elastic_resize_monitor_interval_s": 1} if settings == "tuned" else {}
    TorchTrainer(
        train, train_loop_config={}, torch_config=TorchConfig(backend="gloo"),
        scaling_config=ScalingConfig(num_workers=(1, 4), resources_per_worker={"CPU": 1}, **watch),
        run_config=RunConfig(name="job", storage_path=folder,
                             failure_config=FailureConfig(max_failures=100),
                             checkpoint_config=CheckpointConfig(num_to_keep=2))).fit()


if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    main(*sys.argv[1:])
