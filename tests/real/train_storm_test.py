#!/usr/bin/python3
"""Twenty schedules of a storm over real training jobs (train_storm.py); long runs are tools/storm.
Run as: [EDL_SEED=N] train_storm_test.py PATH_OF_EDL"""

import os
import sys

from train_job import Place, Wrong
from train_storm import Schedule, Storm

SCHEDULES = 20


def main():
    place = Place(sys.argv[1])
    seed = int(os.environ.get("EDL_SEED", "1"))
    storm = Storm(place)
    failed = 0
    for number in range(SCHEDULES):
        schedule = Schedule(seed, number)
        try:
            storm.run(schedule)
        except Wrong as wrong:
            failed += 1
            print(f"FAILED: {schedule}\nagain: tools/storm --seed={seed} --only={number}\n{wrong}",
                  flush=True)
        place.end_jobs()
    print(storm.table(), flush=True)
    place.close()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
