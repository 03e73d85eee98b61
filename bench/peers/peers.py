#!/usr/bin/python3
"""EDL beside torchrun, torchft, Horovod Elastic, DLRover and Ray Train: one job, the same events.

  bench/peers/peers.py --into=DIR [--peers=edl,torchrun,torchft,...] [--events=kill,add,speed]
      [--settings=tuned,default] [--rounds=3] [--models=0.4M,11M] [--json=FILE] [--only-install]

DIR takes one virtual environment a peer (several GB: torch comes with what graphics cards need).
A peer that cannot be installed is told with the reason. Events: `none` nothing happens, `add` a
third worker comes, `kill` one of three workers gets kill -9, `speed` steps a second of two workers.
Rounds are interleaved: each goes through all peers. Rows are added to FILE as they come, so that a
long comparison can be made in pieces; the table is made of all rows of the file.
"""

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import measure  # noqa: E402
from install import RECIPES, Environments, NotInstalled  # noqa: E402
from launch import PEERS  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
STEP_S, BATCH, EVERY, LOGICAL = 0.05, 96, 20, 6
SPEED_BATCH, SPEED_STEPS = 64, {"0.4M": 1200, "11M": 120}
EVENT_AT, STEPS = 60, 300
PATIENCE_S, LIMIT_S = 75, 240
FIELDS = ("pause_s", "stall_s", "new_world_s", "steps_redone", "steps_per_second",
          "load")
ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
WITHOUT_SETTINGS = {"edl"}  # there is nothing to tune


class Run:
    """One job of one peer in a folder of its own, and the event that is caused."""

    def __init__(self, event, model, edl):
        is_speed = event == "speed"
        self.event, self.edl = event, edl
        self.workers = 2 if event in ("add", "speed") else 3
        self.steps = SPEED_STEPS[model] if is_speed else STEPS
        self.folder = Path(tempfile.mkdtemp(prefix="edl-peers-"))
        self.log = self.folder / "log"
        self.log.mkdir()
        self.environment = {
            **os.environ, **ONE_THREAD, "PYTHONPATH": str(Path(__file__).resolve().parent),
            "GLOO_SOCKET_IFNAME": "lo", "TORCH_CPP_LOG_LEVEL": "ERROR", "CUDA_VISIBLE_DEVICES": "",
            "PYTHONDONTWRITEBYTECODE": "1", "PEERS_JOB": json.dumps({
                "log": str(self.log), "steps": self.steps, "step_s": 0 if is_speed else STEP_S,
                "model": model, "batch": SPEED_BATCH if is_speed else BATCH, "every": EVERY,
                "logical": 2 if is_speed else LOGICAL, "together": self.workers,
                "checkpoint": str(self.folder / "checkpoint")})}

    def processes(self):
        """Those of this run: its folder is in their environment."""
        mine, found = str(self.log).encode(), []
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and mine in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
        return found

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def cause(launch, run, lines):
    if run.event == "add":
        launch.add()
    else:
        launch.kill(max(measure.newest(lines, run.workers),
                        key=lambda line: (line["rank"], line["pid"])))


def play(launch, run):
    """Starts the job, causes the event and waits for the end: (lines, when, what went wrong)."""
    launch.start()
    begun, at = time.monotonic(), None
    goal = EVENT_AT + random.randrange(20)
    while True:
        lines = measure.read(run.log)
        steps = measure.steps_of(lines)
        now = time.monotonic()
        if any(line["event"] == "done" for line in lines):
            time.sleep(1)  # for those who end a little later
            wrong = f"it never had {run.workers} workers"
            is_whole = at is not None or measure.newest(lines, run.workers)
            return measure.read(run.log), at, None if is_whole else wrong
        group = measure.newest(lines, run.workers)
        if at is None and run.event in ("add", "kill") and len(group) == run.workers and \
                max(line["step"] for line in group) >= goal:
            at = time.monotonic()
            cause(launch, run, lines)
        if launch.ended():
            return lines, at, "it ended"
        if steps and now - max(steps[-1]["time"], at or 0) > PATIENCE_S:
            return lines, at, f"no step for {PATIENCE_S} s"
        if now - begun > LIMIT_S:
            return lines, at, f"not done in {LIMIT_S} s"
        time.sleep(0.1)


def row_of(peer, settings, event, model, environments, edl):
    run = Run(event, model, edl)
    launch = PEERS[peer](run, environments.python(peer), settings)
    try:
        lines, at, wrong = play(launch, run)
        row = {"peer": peer, "settings": settings, "event": event, "model": model,
               "load": round(os.getloadavg()[0], 1), "digests": measure.digests(lines)}
        if wrong:
            row["wrong"] = wrong
        if at is not None:
            row.update(measure.event_costs(lines, at, run.workers))
        if event == "speed":
            row["steps_per_second"] = round(measure.speed(lines, run.workers) or 0, 2)
        if wrong and os.environ.get("PEERS_KEEP"):
            print(f"peers: kept {run.folder}", file=sys.stderr)
            run.close = lambda: None
        return row
    finally:
        launch.stop()
        run.close()


def rows_of(options, installed, environments):
    """As they come. Without an event first: what the bits of the others are compared with."""
    work = [(event, model) for event in options.events.split(",")
            for model in (options.models.split(",") if event == "speed" else ["0.4M"])]
    for number in range(1, options.rounds + 1):
        for event, model in work:
            for peer in installed:
                for settings in options.settings.split(","):
                    if peer in WITHOUT_SETTINGS and settings != options.settings.split(",")[0]:
                        continue
                    row = row_of(peer, settings, event, model, environments, options.edl)
                    yield {**row, **installed[peer], "round": number}


def verdict(rows, calm):
    """What became of the weights, against runs of the same peer in which nothing happened."""
    if any("wrong" in row for row in rows):
        return "; ".join(sorted({row["wrong"] for row in rows if "wrong" in row}))
    if any(len(row["digests"]) > 1 for row in rows):
        return "replicas differ"
    want = {digest for row in calm for digest in row["digests"]}
    if not want or (rows[0] is calm[0] and len(calm) < 2):
        return "-"
    have = {digest for row in rows for digest in row["digests"]}
    return "same bits" if have == want and len(want) == 1 else "other bits"


def summed_up(rows):
    """One row a peer, its settings, event and model."""
    groups = {}
    for row in rows:
        key = (row["event"], row["model"], row["peer"], row["settings"])
        groups.setdefault(key, []).append(row)
    for (event, model, peer, settings), group in groups.items():
        calm = [row for row in rows if row["event"] == "none" and row["peer"] == peer]
        whole = [row for row in group if "wrong" not in row]
        yield {"event": event, "model": model, "peer": peer, "settings": settings,
               "version": group[0].get("version"), "torch": group[0].get("torch"),
               "runs": f"{len(whole)}/{len(group)}", **measure.medians(whole, FIELDS),
               "weights": verdict(group, calm) if event in ("none", "add", "kill") else ""}


def table(rows):
    names = {"pause_s": "pause s", "stall_s": "no new step s", "new_world_s": "to the new group s",
             "steps_redone": "redone", "steps_per_second": "steps/s", "load": "load"}
    print("| event | peer | settings | runs | " + " | ".join(names.values()) + " | weights |")
    print("|---|---|---|---|" + "---:|" * len(names) + "---|")
    order = ["kill", "add", "speed", "none"]
    for row in sorted(summed_up(rows), key=lambda row: order.index(row["event"])):
        event = row["event"] + (f" {row['model']}" if row["event"] == "speed" else "")
        settings = "-" if row["peer"] in WITHOUT_SETTINGS else row["settings"]
        print(f"| {event} | {row['peer']} | {settings} | {row['runs']} | " + " | ".join(
            str(row.get(name, "")) for name in names) + f" | {row['weights']} |")


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", required=True, help="folder of the environments")
    parser.add_argument("--peers", default=",".join(RECIPES))
    parser.add_argument("--events", default="none,kill,add,speed")
    parser.add_argument("--settings", default="tuned,default")
    parser.add_argument("--models", default="0.4M,11M")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--edl", type=Path, default=ROOT / "build/release/bin/edl")
    parser.add_argument("--torch", default="torch", help="as pip takes it: torch==2.5.1")
    parser.add_argument("--pip", action="append", default=[], help="an option for pip install")
    parser.add_argument("--only-install", action="store_true")
    options = parser.parse_args(arguments)
    for peer in options.peers.split(","):
        if peer not in RECIPES:
            parser.error(f"there is no peer {peer}: there are {' '.join(RECIPES)}")
    return options


def main(arguments):
    options = parse(arguments)
    environments = Environments(options.into, options.torch, options.pip)
    installed = {}
    for peer in options.peers.split(","):
        try:
            installed[peer] = environments.install(peer)
        except NotInstalled as wrong:
            print(f"peers: {peer} could not be installed: {wrong}", flush=True)
    if options.only_install:
        return 0
    rows = []
    if options.json and options.json.exists():
        rows = json.loads(options.json.read_text())
    for row in rows_of(options, installed, environments):
        rows.append(row)
        print(json.dumps(row), file=sys.stderr, flush=True)
        if options.json:
            options.json.write_text(json.dumps(rows, indent=1) + "\n")
    table(rows)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
