#!/usr/bin/python3
"""`edl verify`, `ledger`, `hash`, `explain` and `data step` on directories that were written by
another implementation of the formats, honest and tampered with.
Run as: job_files_test.py PATH_OF_EDL [unittest options]"""

import json
import os
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import job_files
from job_files import RECORD, Job, Record

EDL = "edl"  # argv[1]
MODEL = {"w": ("F32", [2, 2], struct.pack("<4f", 1, 2, 3, 4)),
         "n": ("I64", [], struct.pack("<q", 7))}
OPTIMIZER = {"w/momentum": ("F32", [2, 2], bytes(16)), "w/step": ("F32", [], bytes(4))}


def edl(*arguments, **options):
    return subprocess.run([EDL, *map(str, arguments)], capture_output=True, text=True, check=False,
                          **options)


class JobTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="edl-job-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.job = Job(self.folder / "job")

    def answers(self, *arguments):
        """The objects that a command answers, one a line."""
        done = edl(*arguments, "--json")
        self.assertEqual((done.returncode, done.stderr), (0, ""), arguments)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def verify(self, exit_code, *options):
        done = edl("verify", self.job.path, "--json", *options)
        self.assertEqual(done.returncode, exit_code, done.stdout + done.stderr)
        self.assertEqual(done.stderr.count("\n"), 0 if exit_code == 0 else 1, done.stderr)
        return json.loads(done.stdout)

    def violated(self, kind, step, *options):
        answer = self.verify(1, *options)
        self.assertEqual(answer["verdict"], "violated")
        self.assertIn((kind, step), [(v["kind"], v["step"]) for v in answer["violations"]], answer)
        return answer

    def refused(self, exit_code, sentence, *arguments, **options):
        done = edl(*arguments, **options)
        self.assertEqual((done.returncode, done.stdout), (exit_code, ""), done.stderr)
        self.assertIn(sentence, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def edit(self, name, change):
        """Rewrites a file of the job as `change` says."""
        path = self.job.path / name
        data = bytearray(path.read_bytes())
        path.write_bytes(change(data) or data)


class VerifyTest(JobTest):
    def test_an_honest_job_is_proven(self):
        answer = self.verify(0)
        self.assertEqual(list(answer), ["verdict", "steps", "epochs", "samples", "missing",
                                        "repeated", "conflicting", "violations"])
        self.assertEqual(answer, {"verdict": "proven", "steps": 19, "epochs": 1, "samples": 152,
                                  "missing": 0, "repeated": 0, "conflicting": 0, "violations": []})
        self.assertRegex(edl("verify", self.job.path).stdout, r"^proven: 19 steps, 1 whole epochs")

    def test_steps_that_were_lost_and_trained_again_count_once(self):
        again = [Record(r.step, r.epoch, r.position, r.samples, generation=3)
                 for r in self.job.records[14:]]
        self.job.ledger("w-3", self.job.records + again)
        self.assertEqual(self.verify(0)["steps"], 19)

    def test_a_missing_sample(self):
        self.job.records[9].samples -= 1
        self.job.ledger("w-2", self.job.records)
        self.assertEqual(self.violated("missing_sample", 11)["missing"], 1)

    def test_a_step_that_was_cut_out_and_chained_anew(self):
        rest = self.job.records[12:]
        for record in rest:
            record.step -= 1
        self.job.ledger("w-2", self.job.records[:11] + rest)
        self.assertEqual(self.violated("missing_sample", 12)["missing"], 5)

    def test_a_repeated_sample(self):
        self.job.records[9].position -= 2
        self.job.ledger("w-2", self.job.records)
        self.assertEqual(self.violated("repeated_sample", 10)["repeated"], 2)

    def test_a_step_beyond_the_end_of_its_epoch(self):
        self.assertEqual(self.job.records[11].samples, 5)  # the rest of the first epoch
        self.job.records[11].samples = 7
        self.job.ledger("w-2", self.job.records)
        self.assertEqual(self.violated("repeated_sample", 12)["repeated"], 2)

    def test_members_that_disagree(self):
        other = Job(self.folder / "other").records
        other[3].digest = bytes(32)
        self.job.ledger("w-1", other[:7])
        self.assertEqual(self.violated("conflicting_step", 4)["conflicting"], 1)

    def test_a_changed_line_whose_checksum_was_made_to_fit(self):
        def change(data):
            line = data[8 * RECORD:9 * RECORD]
            line[50] ^= 1
            line[116:] = struct.pack("<I", job_files.crc32c(line[:116]))
            data[8 * RECORD:9 * RECORD] = line
        self.edit("ledger/w-2.ledger", change)
        self.violated("broken_chain", 9)

    def test_lines_in_another_order(self):
        def change(data):
            one, two = data[3 * RECORD:4 * RECORD], data[4 * RECORD:5 * RECORD]
            data[3 * RECORD:5 * RECORD] = two + one
        self.edit("ledger/w-2.ledger", change)
        self.violated("broken_chain", 5)

    def test_every_damaged_byte(self):
        whole = (self.job.path / "ledger/w-2.ledger").read_bytes()
        for at in range(5, len(whole), 101):
            def change(_, at=at):
                return whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1:]
            self.edit("ledger/w-2.ledger", change)
            self.violated("unreadable", at // RECORD + 1)

    def test_views_that_cannot_be_read(self):
        self.edit("ledger/w-2.views", lambda data: data.replace(b"rank", b"bank", 1) + b"{}\n")
        self.violated("unreadable", 0)

    def test_a_torn_end_is_no_damage(self):
        self.edit("ledger/w-2.ledger", lambda data: data + data[:70])
        self.verify(0)

    def test_what_the_job_finished_must_be_there(self):
        self.job.lines("events.jsonl", [{"event": "finished", "time": 1.5, "steps": 20}])
        self.violated("missing_sample", 20)
        self.job.lines("events.jsonl", [{"event": "finished", "time": 1.5, "steps": 19}])
        self.verify(0)

    def test_missing_files(self):
        (self.job.path / "ledger/w-2.ledger").unlink()
        self.assertIn("generation 2", self.verify(1)["reason"])
        (self.job.path / "ledger/w-1.ledger").unlink()
        answer = self.verify(1)
        self.assertEqual((answer["verdict"], answer["steps"]), ("incomplete", 0))


class TraceTest(JobTest):
    def joined(self, change):
        lines = self.job.trace()
        change(lines)
        self.job.lines("trace.jsonl", lines)
        return f"--trace={self.job.path}/trace.jsonl"

    def test_an_honest_trace_in_any_order_with_repetitions(self):
        def change(lines):
            lines.reverse()
            lines += lines[5:9]
            lines.append({**lines[0], "step": 20, "indices": [1]})  # never became stable
            at_8 = next(line for line in lines if line["step"] == 8)
            lines.append({**at_8, "generation": 1, "indices": [1, 2, 3]})  # of a replaced view
        self.verify(0, self.joined(change))

    def test_other_indices(self):
        def change(lines):
            lines[21]["indices"].reverse()
        answer = self.violated("conflicting_step", 6, self.joined(change))
        self.assertEqual((answer["conflicting"], answer["missing"]), (1, 3))

    def test_a_part_that_nobody_saw(self):
        def change(lines):
            del lines[21]
        self.assertEqual(self.violated("missing_sample", 6, self.joined(change))["missing"], 3)

    def test_a_wrong_line_besides_a_right_one(self):
        def change(lines):
            lines.append({**lines[3], "indices": lines[3]["indices"] + [0]})
        self.violated("conflicting_step", 1, self.joined(change))

    def test_a_line_that_is_none(self):
        def change(lines):
            lines.insert(2, {"step": 1})
        self.violated("unreadable", 0, self.joined(change))

    def test_no_such_file(self):
        self.refused(1, "No such file or directory", "verify", self.job.path, "--trace=/no/trace")


class ReadTest(JobTest):
    def test_the_ledger_with_its_members(self):
        lines = self.answers("ledger", self.job.path)
        self.assertEqual(len(lines), 19)
        for line, record in zip(lines, self.job.records):
            self.assertEqual(line, {"generation": record.generation, "step": record.step,
                                    "epoch": record.epoch, "position": record.position,
                                    "samples": record.samples, "applied": True,
                                    "digest": record.digest.hex(),
                                    "members": ["w-1", "w-2"] if record.step < 8 else ["w-2"]})
        self.assertEqual(edl("ledger", self.job.path).stdout.count("\n"), 19)

    def test_a_damaged_ledger_is_shown_as_far_as_it_goes(self):
        self.edit("ledger/w-2.ledger", lambda data: data[:8 * RECORD + 9] + b"!" +
                  data[8 * RECORD + 10:])
        done = edl("ledger", self.job.path, "--json")
        self.assertEqual((done.returncode, done.stdout.count("\n")), (1, 8))
        self.assertIn("edl verify", done.stderr)

    def test_the_samples_of_each_step(self):
        for record in self.job.records:
            answer, = self.answers("data", "step", self.job.path, f"--step={record.step}")
            parts = [{"v": v, "indices": x} for v, x in enumerate(self.job.part_lists(record))]
            self.assertEqual(answer, {"step": record.step, "epoch": record.epoch, "parts": parts})
        self.refused(1, "its batch is not known before", "data", "step", self.job.path, "--step=20")
        self.refused(1, "steps count from 1", "data", "step", self.job.path, "--step=0")

    def test_the_samples_of_steps_to_come_when_the_batch_never_changes(self):
        self.job.job["batch"] = {"policy": "fixed", "global": 10, "micro": 3, "accumulate": 1}
        self.job.write_job()
        record = job_files.train(Job.samples, [10] * 33)[32]
        answer, = self.answers("data", "step", self.job.path, "--step=33")
        self.assertEqual([part["indices"] for part in answer["parts"]],
                         self.job.part_lists(record))
        self.refused(1, "has no step 34", "data", "step", self.job.path, "--step=34")

    def test_a_job_by_its_name(self):
        (self.folder / "edl-jobs").mkdir()
        os.rename(self.job.path, self.folder / "edl-jobs" / "honest")
        done = edl("verify", "honest", cwd=self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_what_is_no_job_is_refused(self):
        (self.folder / "empty").mkdir()
        for command in (["verify"], ["ledger"], ["explain"], ["data", "step", "--step=1"]):
            self.refused(1, "it has no job.json", *command, self.folder / "empty")
            self.refused(1, 'there is no job "nobody"', *command, "nobody", cwd=self.folder)
            self.refused(1, "there is no directory", *command, "/no/body")
            self.refused(2, "JOB is required", *command)
        for wrong, sentence in ((b"", "not valid JSON"), (b"[]", "expected an object"),
                                (b"{}", '"name" is missing')):
            (self.job.path / "job.json").write_bytes(wrong)
            self.refused(1, sentence, "verify", self.job.path)
        self.job.job["samples"] = 0
        self.job.write_job()
        self.refused(1, "cannot have 0 samples", "ledger", self.job.path)


class HashTest(JobTest):
    def test_of_a_checkpoint_and_of_a_job(self):
        self.job.checkpoint(3, MODEL, OPTIMIZER)
        folder, wanted = self.job.checkpoint(10, MODEL, OPTIMIZER)
        self.assertEqual(edl("hash", folder).stdout, wanted + "\n")
        answer, = self.answers("hash", self.job.path)
        self.assertEqual(answer, {"state_hash": wanted, "step": 10, "path": str(folder)})
        (self.job.path / "checkpoints/11").mkdir()  # half written: does not count
        self.assertEqual(edl("hash", self.job.path).stdout, wanted + "\n")

    def test_damage_is_told(self):
        folder, _ = self.job.checkpoint(3, MODEL, OPTIMIZER)
        for name in ("model.safetensors", "optimizer.safetensors", "state.json"):
            whole = (folder / name).read_bytes()
            self.edit(f"checkpoints/3/{name}", lambda data: data[:-1] + bytes([data[-1] ^ 1]))
            self.refused(1, "does not have the hash", "hash", folder)
            self.edit(f"checkpoints/3/{name}", lambda data: data + b" ")
            self.refused(1, "bytes instead of", "hash", self.job.path)
            (folder / name).write_bytes(whole)
        (folder / "state.json").unlink()
        self.refused(1, "state.json is missing", "hash", folder)

    def test_what_is_neither_is_refused(self):
        self.refused(1, "has no checkpoint", "hash", self.job.path)
        self.refused(1, "is neither a checkpoint nor", "hash", self.folder)
        self.refused(1, "there is no directory", "hash", "/no/where")
        self.refused(2, "PATH is required", "hash")


class ExplainTest(JobTest):
    COST = {"pause_ms": 42.5, "detect_ms": 5, "agree_ms": 10, "transfer_ms": 3, "resume_ms": 27.5,
            "steps_redone": 0, "parts_redone": 2, "steps_lost": 0}

    def setUp(self):
        super().setUp()
        first, second = ({"event": "view", "time": 1.25, **one} for one in self.job.views)
        self.completed = {**second, "time": 2.5, **self.COST}
        self.first = first
        self.job.lines("events.jsonl", [
            {"event": "started", "time": 1, "job": "honest"}, first,
            {"event": "metric", "time": 1.5, "name": "view", "value": 1}, second, self.completed,
            {"event": "finished", "time": 3, "steps": 19}])

    def test_one_object_for_each_change(self):
        self.assertEqual(self.answers("explain", self.job.path), [self.first, self.completed])

    def test_one_line_for_people(self):
        lines = edl("explain", self.job.path).stdout.splitlines()
        self.assertEqual(len(lines), 2)
        self.assertEqual(lines[0], "view 1 from step 1 (epoch 0, position 0) with 2 members, w-1 "
                                   "and w-2. Cause: start, by w-1. the job begins.")
        self.assertEqual(lines[1], "view 2 from step 8 (epoch 0, position 70) with 1 member, w-2. "
                                   "Cause: death, by w-2. a member died. It paused training for "
                                   "42.5 ms: 5 ms to detect, 10 ms to agree (3 ms of it handing "
                                   "over), 27.5 ms to resume. Computed again: 0 steps and 2 parts.")

    def test_no_events_and_wrong_ones(self):
        self.job.lines("events.jsonl", [{"event": "view", "generation": "x"}])
        self.refused(1, '"generation" must be', "explain", self.job.path)
        (self.job.path / "events.jsonl").unlink()
        self.refused(1, "has no events yet", "explain", self.job.path)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: job_files_test.py PATH_OF_EDL [unittest options]")
    EDL = str(Path(sys.argv.pop(1)).resolve())
    unittest.main(verbosity=2)
