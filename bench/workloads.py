#!/usr/bin/env python3
"""Other workloads of Pollux's kind, out of a seed: arrivals of Philly's jobs, and programs by the
device time of the job that came. What a policy was tuned on, and what it was confirmed on, are made
with this; nothing of it is kept.

--days=all takes jobs of all days at the same hours, as Pollux's own workloads are mixed. --days=one
takes them of one day, where a user's many equal jobs come together.

    bench/workloads.py --philly=philly.csv.gz --out=/tmp/w --seeds=1-8 --load=1.5
"""

import argparse
import csv
import datetime
import gzip
import os
import random

HOURS = 8
FROM_HOUR = 2  # of all days: there the rush is where Pollux's workloads have it
JOBS = 160  # of load 1
HOUR_S = 3600

# Device hours below which a job is one of these, with the sizes that a user would ask for.
PROGRAMS = [
    (1, [("cifar10", [(6, 2048), (8, 2048), (12, 4096), (16, 4096)]), ("ncf", [(1, 32768)])]),
    (10, [("deepspeech2", [(6, 320), (8, 320), (12, 640)]),
          ("bert", [(6, 384), (8, 384), (12, 384), (16, 384)])]),
    (100, [("yolov3", [(4, 64)])]),
    (1000, [("imagenet", [(24, 3200), (32, 6400), (48, 6400)])]),
]


def read_jobs(path):
    """When each job came, and its device hours; very short and endless ones are no training."""
    jobs = []
    with gzip.open(path, "rt") as file:
        for row in csv.DictReader(file):
            hours = float(row["gpu_time"] or 0) / HOUR_S
            if float(row["duration"] or 0) < 60 or not 0 < hours < PROGRAMS[-1][0]:
                continue
            jobs.append((datetime.datetime.fromisoformat(row["timestamp"]), hours))
    return sorted(jobs)


def window(jobs, need, chance):
    """The jobs of eight hours of a day that has enough of them."""
    first = jobs[0][0].replace(hour=0, minute=0, second=0)
    days = (jobs[-1][0] - first).days
    while True:
        start = first + datetime.timedelta(days=chance.randrange(days), hours=chance.randrange(16))
        end = start + datetime.timedelta(hours=HOURS)
        inside = [(at - start, hours) for at, hours in jobs if start <= at < end]
        if len(inside) >= need:
            return inside


def of_all_days(jobs):
    """Those of the same eight hours of each day, as if they had come on one."""
    out = []
    for at, hours in jobs:
        since = at - at.replace(hour=FROM_HOUR, minute=0, second=0)
        if datetime.timedelta() <= since < datetime.timedelta(hours=HOURS):
            out.append((since, hours))
    return out


def workload(jobs, load, seed, days):
    chance = random.Random(seed * 1000 + round(load * 100))
    count = round(JOBS * load)
    rows = []
    come = of_all_days(jobs) if days == "all" else window(jobs, count, chance)
    for at, hours in sorted(chance.sample(come, count)):
        programs = next(programs for below, programs in PROGRAMS if hours < below)
        name, sizes = chance.choice(programs)
        workers, batch = chance.choice(sizes)
        rows.append([f"{name}-{len(rows)}", round(at.total_seconds()), name, workers, batch])
    return rows


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--philly", default="../shared/data/pollux/profiles/philly.csv.gz")
    parser.add_argument("--out", required=True, help="folder, made when it is not there")
    parser.add_argument("--seeds", default="1-8", help="FIRST-LAST")
    parser.add_argument("--load", type=float, default=1.0, help="1: 160 jobs in 8 hours")
    parser.add_argument("--days", choices=["all", "one"], default="all")
    words = parser.parse_args()
    first, last = (int(word) for word in words.seeds.split("-"))
    jobs = read_jobs(words.philly)
    os.makedirs(words.out, exist_ok=True)
    for seed in range(first, last + 1):
        with open(f"{words.out}/workload-{words.load}-{seed}.csv", "w", newline="") as file:
            out = csv.writer(file, lineterminator="\n")
            out.writerow(["name", "time", "application", "num_replicas", "batch_size"])
            out.writerows(workload(jobs, words.load, seed, words.days))


if __name__ == "__main__":
    main()
