#!/usr/bin/python3
"""Fifty processes on one machine for a minute, one killed every 15 seconds; longer with
tools/storm.
Run as: train_crowd_test.py PATH_OF_EDL"""

import sys

from train_crowd import Crowd
from train_job import Place

if __name__ == "__main__":
    place = Place(sys.argv[1])
    try:
        print(Crowd(place, workers=50, seed=1).run(seconds=60, kill_every=15), flush=True)
    finally:
        place.close()
