#!/usr/bin/python3
"""`edl sim` as people and programs use it: what it answers, that a fresh process answers the same,
and what it says of wrong words.
Run as: sim_test.py PATH_OF_EDL [unittest options]"""

import json
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

EDL = "edl"  # argv[1]
TRACE = Path(__file__).resolve().parents[2] / "examples/cluster/jobs.csv"
POLICIES = ["fifo", "srtf", "tiresias", "tiresias-elastic", "optimus", "afs", "edl", "wfs",
            "pollux", "ours"]
FIELDS = {"policy", "trace", "jobs", "avg_jct_s", "p50_jct_s", "p95_jct_s", "p99_jct_s",
          "makespan_s", "avg_wait_s", "max_wait_s", "avg_queue", "utilisation", "changes_per_job",
          "worst_ftf", "plan_ms_p50", "plan_ms_max"}
SNAPSHOT = {
    "now": 1000.0,
    "nodes": [{"node": f"n{i}", "slots": 4} for i in range(6)],
    "tenants": [{"tenant": "small", "quota": 3}],
    "jobs": [{"job": "grows", "min": 1, "max": 16, "current": [{"node": "n0", "count": 2}],
              "throughput": [{"workers": 1, "nodes": 1, "per_s": 10.0},
                             {"workers": 2, "nodes": 1, "per_s": 19.0}]},
             {"job": "gang", "min": 12, "max": 12, "submitted": 10.0},
             {"job": "too-large", "min": 30, "max": 40},
             {"job": "limited", "min": 1, "max": 8, "tenant": "small"},
             {"job": "frozen", "min": 1, "max": 8, "frozen_until": 2000.0,
              "current": [{"node": "n1", "count": 1}]}]}


def edl(*words, code=0):
    done = subprocess.run([EDL, "sim", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=120)
    if done.returncode != code:
        raise AssertionError(f"{words}: ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done


def answers(*words):
    return [json.loads(line) for line in edl(*words, "--json").stdout.splitlines()]


class Sim(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.snapshot = Path(self.folder.name) / "snapshot.json"
        self.snapshot.write_text(json.dumps(SNAPSHOT))

    def tearDown(self):
        self.folder.cleanup()

    def test_every_policy_completes_the_trace_that_ships(self):
        listed = [line.split()[0] for line in edl("policies").stdout.splitlines()]
        self.assertEqual(listed, POLICIES)
        jobs = len(TRACE.read_text().splitlines()) - 1
        rows = answers("compare", f"--trace={TRACE}", f"--policies={','.join(POLICIES)}",
                       "--nodes=8x4")
        self.assertEqual([row["policy"] for row in rows], POLICIES)
        for row in rows:
            self.assertEqual(set(row), FIELDS)
            self.assertEqual(row["jobs"], jobs)
            self.assertLessEqual(row["p50_jct_s"], row["p99_jct_s"])
            self.assertTrue(0 < row["utilisation"] <= 1, row)
        mean = {row["policy"]: row["avg_jct_s"] for row in rows}
        self.assertLess(mean["ours"], mean["fifo"])

    def test_profiles_as_tables_say_how_long_a_job_takes(self):
        """200 steps: as measured for 2 and 4 workers, between these for 3."""
        folder = Path(self.folder.name)
        (folder / "toy").mkdir()
        for batch in (32, 64):
            (folder / f"toy/validation-{batch}.csv").write_text(
                "epoch,progress,iteration,metric,grad_sqr,grad_var\n"
                "0,100,100,0,1,0\n1,200,200,0,1,0\n")
        measured = {"1": (0.4, 0), "2": (0.5, 0.1), "11": (0.9, 0.5), "4": (0.7, 0.3)}
        (folder / "toy/placements.csv").write_text(
            "placement,local_bsz,step_time,sync_time\n" + "".join(
                f"{place},{local},{step},{sync}\n" for place, (step, sync) in measured.items()
                for local in (16, 64)))
        (folder / "toy/scalability.csv").write_text(
            "num_nodes,num_replicas,local_bsz,step_time,sync_time\n"
            "16,64,16,2.0,1.6\n16,64,64,2.0,1.6\n")
        trace = folder / "toy.csv"
        for workers, step in ((2, 0.5), (3, 0.6), (4, 0.7)):
            trace.write_text("name,time,application,num_replicas,batch_size\n"
                             f"toy-0,0,toy,{workers},64\n")
            job = answers("run", f"--trace={trace}", f"--profiles={folder}", "--policy=fifo",
                          "--nodes=4x4", "--jobs")[1]
            self.assertEqual(job["finish_s"] - job["start_s"], 30 + 200 * step, workers)
        (folder / "toy/placements.csv").write_text(
            "placement,local_bsz,step_time,sync_time\n20,16,1,0\n")
        wrong = edl("run", f"--trace={trace}", f"--profiles={folder}", "--policy=fifo",
                    "--nodes=4x4", code=1)
        self.assertIn('"20" is no placement', wrong.stdout + wrong.stderr)

    def test_jobs_are_told_and_the_same_seed_gives_the_same(self):
        words = ("run", f"--trace={TRACE}", "--policy=ours", "--nodes=8x4", "--jobs", "--noise=0.1",
                 "--failures=2", "--seed=3")
        first, second = answers(*words), answers(*words)
        self.assertEqual(first[1:], second[1:])
        other = answers(*words[:-1], "--seed=4")
        self.assertNotEqual(first[1:], other[1:], "the control: another seed is another world")
        for job in first[1:]:
            self.assertEqual(set(job), {"name", "submit_s", "start_s", "finish_s"})
            self.assertLessEqual(job["submit_s"], job["start_s"])
            self.assertLess(job["start_s"], job["finish_s"])

    def test_nobody_waits_while_the_minimums_fit(self):
        row = answers("run", f"--trace={TRACE}", "--policy=ours", "--nodes=16x4", "--interval=0")[0]
        self.assertEqual(row["max_wait_s"], 0)

    def test_a_fresh_process_plans_the_same_and_keeps_the_rules(self):
        for policy in POLICIES:
            words = ("plan", f"--snapshot={self.snapshot}", f"--policy={policy}", "--json")
            said = edl(*words).stdout
            self.assertEqual(said, edl(*words).stdout, policy)
            plan = {a["job"]: a["workers"] for a in json.loads(said)["allocations"]}
            self.assertEqual(set(plan), {job["job"] for job in SNAPSHOT["jobs"]}, policy)
            used = {}
            for job in SNAPSHOT["jobs"]:
                count = sum(place["count"] for place in plan[job["job"]])
                self.assertTrue(count == 0 or job["min"] <= count <= job["max"], (policy, plan))
                for place in plan[job["job"]]:
                    used[place["node"]] = used.get(place["node"], 0) + place["count"]
            self.assertTrue(all(count <= 4 for count in used.values()), (policy, used))
            self.assertEqual(plan["too-large"], [], policy)
            self.assertLessEqual(sum(place["count"] for place in plan["limited"]), 3, policy)
        self.assertEqual(plan["frozen"], [{"node": "n1", "count": 1}])

    def test_a_trace_out_of_a_seed_runs_and_a_report_stands_alone(self):
        trace = Path(self.folder.name) / "made.csv"
        made = edl("generate", "--jobs=30", "--seed=9", "--bursty").stdout
        self.assertEqual(made, edl("generate", "--jobs=30", "--seed=9", "--bursty").stdout)
        trace.write_text(made)
        page = Path(self.folder.name) / "report.html"
        edl("compare", f"--trace={trace}", "--policies=edl,ours", "--nodes=4x4", f"--report={page}")
        text = page.read_text()
        self.assertIn("<svg", text)
        for outside in ("http://", "https://", "src="):
            self.assertNotIn(outside, text.replace("http://www.w3.org", ""))

    def test_the_two_experiments_show_what_they_are_for(self):
        without, elastic = answers("experiment", "pending")
        self.assertGreater(without["avg_wait_s"], 0)
        self.assertLess(elastic["avg_wait_s"], without["avg_wait_s"])
        without, elastic = answers("experiment", "harvest")
        self.assertGreater(elastic["cluster_utilisation"], without["cluster_utilisation"])
        page = Path(self.folder.name) / "report.html"
        for name, title in (("pending", "Pending time"), ("harvest", "Use of a cluster")):
            said = edl("experiment", name, f"--report={page}").stdout
            text = page.read_text()
            self.assertIn(f"<h1>{title}", text)
            for line in said.splitlines():
                self.assertIn(line, text, "what the command says is on the page")

    def test_all_policies_are_compared_when_none_is_named(self):
        rows = answers("compare", f"--trace={TRACE}", "--nodes=8x4", "--policies=")
        self.assertEqual([row["policy"] for row in rows], POLICIES)

    def test_a_change_may_cost_each_policy_its_own(self):
        def mean(seconds):
            rows = answers("compare", f"--trace={TRACE}", "--policies=ours,afs", "--nodes=8x4",
                           *([f"--change-seconds={seconds}"] if seconds else []))
            return {row["policy"]: row["avg_jct_s"] for row in rows}
        usual, cheap = mean("30"), mean("0.1")
        self.assertEqual(mean(None), usual)
        self.assertLess(cheap["ours"], usual["ours"])
        self.assertEqual(mean("ours=0.1,30"), {"ours": cheap["ours"], "afs": usual["afs"]})
        for wrong in ("ours=0.1", "none=1,30", "ours=x,30", "-1"):
            edl("compare", f"--trace={TRACE}", f"--change-seconds={wrong}", code=2)

    def test_traces_of_the_same_name_are_told_apart(self):
        for load in ("one", "two"):
            (Path(self.folder.name) / load).mkdir()
            (Path(self.folder.name) / load / "jobs.csv").write_text(
                edl("generate", f"--jobs={10 if load == 'one' else 20}").stdout)
        (Path(self.folder.name) / "alone.csv").write_text(edl("generate", "--jobs=5").stdout)
        page = Path(self.folder.name) / "report.html"
        rows = answers("compare", "--policies=ours", f"--report={page}",
                       *(f"--trace={self.folder.name}/{name}"
                         for name in ("one/jobs.csv", "two/jobs.csv", "alone.csv")))
        self.assertEqual([(row["trace"], row["jobs"]) for row in rows],
                         [("one/jobs.csv", 10), ("two/jobs.csv", 20), ("alone.csv", 5)])
        self.assertIn("one/jobs.csv", page.read_text())
        self.assertIn("two/jobs.csv", page.read_text())

    def test_what_is_stopped_leaves_no_files_behind(self):
        trace = Path(self.folder.name) / "long.csv"
        trace.write_text(edl("generate", "--jobs=20000", "--mean-gap=10").stdout)
        run = subprocess.Popen([EDL, "sim", "compare", f"--trace={trace}", "--nodes=1000x8"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        mine = f"edl-sim-{run.pid}-*.json"
        until = time.monotonic() + 60
        while not list(Path("/tmp").glob(mine)) and time.monotonic() < until:
            time.sleep(0.01)
        self.assertTrue(list(Path("/tmp").glob(mine)), "the control: it has begun")
        run.terminate()
        self.assertIn("stopped", run.communicate(timeout=60)[1])
        self.assertEqual(run.returncode, 1)
        self.assertEqual(list(Path("/tmp").glob(mine)), [])

    def test_one_job_alone_comes_to_rest_from_both_sides(self):
        """With a share c that does not scale, a worker beside k adds (1 - c) / (1 + c k)."""
        trace = Path(self.folder.name) / "one.csv"
        trace.write_text("job,submit_s,wanted,min,max,seconds,serial_share,tenant,priority\n"
                         "alone,0,4,1,16,40000,0.1,,0\n")
        words = ("autoscale", f"--trace={trace}", "--job=alone", "--every=10", "--noise=0.001")

        def rest(*more):
            rows = answers(*words, *more)
            return [row for row in rows if "reason" in row][-1]["to"], rows
        low, rows = rest("--least=0.58", "--start=1")
        high, _ = rest("--least=0.58", "--start=16")
        self.assertEqual(low, high)
        self.assertLess(1, low)
        self.assertLess(low, 16)
        sizes = {row["workers"]: row for row in rows if "mean" in row}
        self.assertIn(low + 1, sizes, "the next size was tried")
        self.assertGreater(sizes[low]["count"], 10)
        added = sizes[low]["mean"] / sizes[low - 1]["mean"] * (low - 1) - (low - 1)
        self.assertGreater(added, 0.58)
        cheap, _ = rest("--least=0", "--value-of-time=100", "--price-of-worker=1")
        dear, _ = rest("--least=0", "--value-of-time=2", "--price-of-worker=1")
        self.assertLess(dear, cheap)
        self.assertIn("no job none", edl(*words[:2], "--job=none", code=1).stderr)

    def test_wrong_words_are_told_in_a_sentence(self):
        trace = f"--trace={TRACE}"
        for words, code, sentence in (
                (("run", trace, "--policy=none"), 2, "there is no policy"),
                (("compare", trace, "--policies=ours,none"), 2, "there is no policy"),
                (("run", trace, "--policy=ours", "--nodes=0x4"), 2, '"0x4" is not understood'),
                (("run", "--trace=/nowhere", "--policy=ours"), 1, "/nowhere"),
                (("plan", f"--snapshot={TRACE}", "--policy=ours"), 1, "not valid JSON")):
            said = edl(*words, code=code).stderr
            self.assertIn(sentence, said)
            self.assertEqual(len(said.strip().splitlines()), 1, said)


if __name__ == "__main__":
    EDL = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
