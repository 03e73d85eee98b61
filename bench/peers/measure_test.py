#!/usr/bin/python3
"""What is made of the lines of a run."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import measure  # noqa: E402


def step(number, time, pid=1, world=2):
    return {"event": "step", "step": number, "time": time, "pid": pid, "world": world, "rank": 0}


class Measure(unittest.TestCase):
    def test_a_pause_without_steps_that_are_made_again(self):
        lines = [step(1, 1.0), step(2, 2.0), step(3, 5.0, world=1), step(4, 6.0, world=1)]
        self.assertEqual(measure.event_costs(lines, 2.5, 2), {
            "pause_s": 3.0, "stall_s": 3.0, "steps_redone": 0, "new_world_s": 2.5,
            "world_after": 1})

    def test_steps_that_are_made_again_are_no_progress(self):
        lines = [step(4, 4.0), step(5, 5.0), step(3, 9.0, 7), step(4, 10.0, 7), step(5, 11.0, 7),
                 step(6, 12.0, 7)]
        costs = measure.event_costs(lines, 5.5, 2)
        self.assertEqual((costs["pause_s"], costs["stall_s"], costs["steps_redone"]),
                         (4.0, 7.0, 3))
        self.assertIsNone(costs["new_world_s"])

    def test_a_worker_that_is_a_little_later_makes_no_step_again(self):
        lines = [step(1, 1.0), step(2, 2.0), step(2, 2.1, 7), step(3, 4.0), step(3, 4.1, 7)]
        self.assertEqual(measure.event_costs(lines, 2.05, 2)["steps_redone"], 0)

    def test_nothing_happened_yet(self):
        self.assertEqual(measure.event_costs([step(1, 1.0)], 2.0, 2), {})

    def test_those_who_go_on_now(self):
        lines = [step(1, 1.0, 1), step(1, 1.0, 2), step(9, 9.0, 1), step(8, 9.0, 3)]
        self.assertEqual(sorted(line["pid"] for line in measure.newest(lines, 2)), [1, 3])
        self.assertEqual(measure.newest(lines, 3), [])

    def test_speed_is_of_the_later_steps(self):
        lines = [step(1, 0.0), step(2, 9.0), *(step(i, 8.0 + i / 2) for i in range(3, 11))]
        self.assertAlmostEqual(measure.speed(lines, 2), 2.0)

    def test_lines_are_read_but_not_halves(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "1.jsonl").write_text('{"event":"step","time":2}\n{"event":"st')
            Path(folder, "2.jsonl").write_text('{"event":"done","time":1,"digest":"x"}\n')
            lines = measure.read(Path(folder))
        self.assertEqual([line["event"] for line in lines], ["done", "step"])
        self.assertEqual(measure.digests(lines), ["x"])


if __name__ == "__main__":
    unittest.main()
