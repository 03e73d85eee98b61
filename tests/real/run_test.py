#!/usr/bin/python3
"""`edl run` and the commands around it, as processes: workers that are killed, stopped and scaled,
a store and an agent that die. The workers train nothing (stand_in_worker.cc); what they write and
say is what docs/reference/job.md asks for.
Run as: run_test.py PATH_OF_EDL PATH_OF_STAND_IN_WORKER [unittest options]"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

EDL = "edl"  # argv[1]
WORKER = "stand_in_worker"  # argv[2]
PATIENCE = 60.0  # seconds for what takes milliseconds on a machine at rest


class Job:
    """An `edl run` or `edl resume` with --json, and what it has told so far."""

    def __init__(self, folder, *arguments):
        self.process = subprocess.Popen([EDL, *arguments], cwd=folder, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True,
                                        start_new_session=True)
        self.events = []
        self.changed = threading.Condition()
        self.reader = threading.Thread(target=self._read)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            with self.changed:
                self.events.append(json.loads(line))
                self.changed.notify_all()

    def kind(self, kind):
        return [event for event in list(self.events) if event["event"] == kind]

    def wait_for(self, condition, what="a condition"):
        """The first event for which the condition holds."""
        def found():
            return next((event for event in self.events if condition(event)), None)
        with self.changed:
            if not self.changed.wait_for(found, PATIENCE):
                raise AssertionError(f"{what} did not happen: {self.events[-5:]}")
            return found()

    def wait_step(self, step):
        return self.wait_for(lambda e: e["event"] == "step" and e["step"] >= step, f"step {step}")

    def pid_of(self, worker):
        return next(e["pid"] for e in self.kind("worker") if e["id"] == worker)

    def end(self):
        """Exit code and what was said on standard error."""
        self.reader.join(PATIENCE)
        said = self.process.stderr.read()
        return self.process.wait(PATIENCE), said

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.reader.join(PATIENCE)
        self.process.wait(PATIENCE)
        self.process.stdout.close()
        self.process.stderr.close()


class Scene(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="edl-run-")
        self.jobs = []
        self.stores = []

    def tearDown(self):
        for job in self.jobs:
            job.close()
        for store in self.stores:
            store.terminate()
            store.communicate()
        shutil.rmtree(self.folder, ignore_errors=True)

    def run_job(self, *options, program=(), name="j"):
        job = Job(self.folder, "run", "--json", f"--name={name}", *options, WORKER, *program)
        self.jobs.append(job)
        return job

    def resume(self, *options):
        job = Job(self.folder, "resume", "--json", *options, "j")
        self.jobs.append(job)
        return job

    def serve(self, *options):
        """A store that is no job's own; its address."""
        store = subprocess.Popen([EDL, "store", "serve", "--listen=127.0.0.1:0",
                                  f"--data=s{len(self.stores)}", *options],
                                 cwd=self.folder, stdout=subprocess.PIPE, text=True)
        self.stores.append(store)
        return store.stdout.readline().split()[-1]

    def kill_store(self):
        stores = [p for p in Path("/proc").iterdir() if p.name.isdigit() and self.is_ours(p)
                  and b"serve" in (p / "cmdline").read_bytes()]
        os.kill(int(stores[0].name), signal.SIGKILL)

    def edl(self, *arguments, code=0):
        done = subprocess.run([EDL, *arguments], cwd=self.folder, capture_output=True, text=True,
                              timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def answer(self, *arguments, code=0):
        return json.loads(self.edl(*arguments, "--json", code=code).stdout)

    def directory(self):
        return Path(self.folder) / "edl-jobs" / "j"

    def kept_events(self):
        lines = (self.directory() / "events.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]

    def ends(self, job):
        return {e["id"]: e["exit"]["class"] for e in job.kind("worker") if e["state"] == "exited"}

    def no_process_left(self):
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            left = [p for p in Path("/proc").iterdir() if p.name.isdigit() and self.is_ours(p)]
            if not left:
                return
            time.sleep(0.05)
        self.fail(f"still running: {[(p / 'cmdline').read_bytes() for p in left]}")

    def is_ours(self, process):
        try:
            return os.readlink(process / "cwd").startswith(self.folder)
        except OSError:
            return False


class Running(Scene):
    def test_a_job_runs_to_its_end_and_leaves_its_directory(self):
        job = self.run_job("--workers=2", "--steps=20")
        code, said = job.end()
        self.assertEqual((code, said), (0, ""))
        self.assertEqual(job.events[0]["event"], "started")
        self.assertEqual(job.events[-1]["event"], "finished")
        self.assertEqual(job.events[-1]["steps"], 20)
        steps = [e["step"] for e in job.kind("step")]
        self.assertEqual(steps, sorted(set(steps)))
        self.assertEqual(steps[-1], 20)
        self.assertEqual(self.ends(job), {"w1": "left", "w2": "left"})
        kept = self.kept_events()
        self.assertEqual(kept, job.events)
        self.assertEqual(os.stat(self.directory() / "secret").st_mode & 0o777, 0o600)
        job_file = json.loads((self.directory() / "job.json").read_text())
        self.assertEqual(job_file["logical_workers"], 4)
        self.assertEqual(job_file["batch"]["global"], 64)
        self.assertIn("worker w1", (self.directory() / "log" / "worker-w1.log").read_text())
        status = self.answer("status", "j")
        self.assertEqual((status["state"], status["step"], status["progress"]), ("finished", 20, 1))
        self.no_process_left()

    def test_a_name_is_used_once_and_the_default_has_a_number(self):
        self.assertEqual(self.run_job("--steps=1").end()[0], 0)
        code, said = self.run_job("--steps=1").end()
        self.assertEqual(code, 1)
        self.assertIn("edl resume", said)
        for number in (1, 2):
            self.edl("run", "--steps=1", WORKER)
            self.assertTrue((Path(self.folder) / f"edl-jobs/stand-in-worker-{number}").is_dir())

    def test_the_default_number_is_free_in_the_store_too(self):
        url = self.serve()
        for folder in ("a", "b"):
            Path(self.folder, folder).mkdir()
            job = Job(f"{self.folder}/{folder}", "run", "--json", "--steps=1", f"--store={url}",
                      WORKER)
            self.jobs.append(job)
            self.assertEqual(job.end()[0], 0)
        self.assertEqual([job.events[0]["job"] for job in self.jobs],
                         ["stand-in-worker-1", "stand-in-worker-2"])
        done = self.edl("run", "--steps=1", "--dir=a", WORKER)  # no number makes this one another
        self.assertIn("finished", done.stderr)

    def test_options_after_the_program_are_its_own(self):
        job = self.run_job("--workers", "2", "--steps=3", program=["--step-ms=1", "--workers=7"])
        self.assertEqual(job.end()[0], 0)
        args = json.loads((self.directory() / "job.json").read_text())["args"]
        self.assertEqual(args, ["--step-ms=1", "--workers=7"])

    def test_a_secret_that_others_may_read_is_refused(self):
        secret = Path(self.folder) / "secret"
        secret.write_text("0123456789abcdef0123456789abcdef")
        secret.chmod(0o644)
        code, said = self.run_job("--steps=1", f"--secret-file={secret}").end()
        self.assertEqual(code, 1)
        self.assertIn("chmod 600", said)
        secret.chmod(0o600)
        self.assertEqual(self.run_job("--steps=1", f"--secret-file={secret}").end()[0], 0)
        self.assertFalse((self.directory() / "secret").exists())

    def test_plain_lines_say_what_happens(self):
        done = self.edl("run", "--workers=2", "--steps=10", WORKER)
        self.assertEqual(done.stdout, "")
        self.assertIn("View 1 (start): 2 workers from step 1.", done.stderr)
        self.assertIn("The job finished after 10 steps.", done.stderr)

    def test_a_job_in_the_background_is_seen_and_stopped(self):
        done = self.edl("run", "--detach", "--json", "--name=j", "--workers=2", "--steps=100000",
                        WORKER)
        self.assertEqual(json.loads(done.stdout)["job"], "j")
        self.wait_state("running")
        stopped = self.answer("stop", "j")
        self.assertEqual(stopped["state"], "stopped")
        self.no_process_left()
        self.assertEqual(self.answer("status", "j")["state"], "stopped")

    def wait_state(self, state):
        deadline = time.monotonic() + PATIENCE
        while self.answer("status", "j")["state"] != state:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)


class Dying(Scene):
    def test_a_killed_worker_is_replaced_at_once_and_costs_nothing(self):
        job = self.run_job("--workers=2", "--steps=100")
        for round_, worker in enumerate(["w1", "w2", "w3", "w4", "w5", "w6", "w7", "w8"]):
            joined = f"w{round_ + 2}"
            job.wait_for(lambda e: e["event"] == "worker" and e["state"] == "member"
                         and e["id"] == joined, f"{joined} a member")
            os.kill(job.pid_of(worker), signal.SIGKILL)
        code, said = job.end()
        self.assertEqual((code, said), (0, ""))
        ends = self.ends(job)
        self.assertEqual([ends[f"w{i}"] for i in range(1, 11)], ["killed"] * 8 + ["left"] * 2)
        self.no_process_left()

    def test_a_preempted_worker_leaves_and_is_replaced(self):
        job = self.run_job("--workers=2", "--steps=60")
        job.wait_step(5)
        os.kill(job.pid_of("w2"), signal.SIGTERM)
        self.assertEqual(job.end()[0], 0)
        self.assertEqual(self.ends(job)["w2"], "preempted")
        self.assertIn("w3", self.ends(job))

    def test_the_same_part_failing_on_two_workers_ends_the_job(self):
        job = self.run_job("--workers=2", "--steps=50", program=["--fail-at=7"])
        code, said = job.end()
        self.assertEqual(code, 1)
        failed = job.kind("failed")[0]
        self.assertIn("logical worker 1 of step 7", failed["reason"])
        self.assertEqual(failed["reason"].count("bad sample"), 2)
        log = self.directory() / f"log/worker-{failed['worker']}.log"
        self.assertEqual(failed["log"], str(log))
        self.assertIn("| worker", said)
        self.assertIn("job j failed", said)
        self.assertEqual(self.answer("status", "j")["state"], "failed")
        self.no_process_left()

    def test_crashes_use_a_budget(self):
        job = self.run_job("--workers=1", "--steps=1000", *[f"--fault=compute@{s}=exit:9"
                                                           for s in range(3, 9)])
        code, said = job.end()
        self.assertEqual(code, 1)
        self.assertIn("6 workers crashed within 10 m", said)
        self.assertEqual(list(self.ends(job).values()), ["crashed"] * 6)
        exited = [e for e in job.kind("worker") if e["state"] == "exited"]
        self.assertEqual(exited[0]["exit"]["code"], 9)
        starts = [e["time"] for e in job.kind("worker") if e["state"] == "starting"]
        for i, delay in enumerate([0.2, 0.4, 0.8, 1.6, 3.2]):
            self.assertGreaterEqual(starts[i + 1] - exited[i]["time"], delay)

    def test_faults_fire_once_each(self):
        job = self.run_job("--workers=3", "--steps=60", "--fault=compute@5/w2=kill",
                           "--fault=compute@10/w1=stop:300")
        code, said = job.end()
        self.assertEqual(code, 0)
        self.assertEqual(self.ends(job)["w2"], "killed")
        self.assertEqual(list(self.ends(job).values()).count("killed"), 1)
        self.assertEqual(said.count("fires on"), 2)

    def test_the_store_may_die(self):
        job = self.run_job("--workers=2", "--steps=60")
        job.wait_step(5)
        self.kill_store()
        code, said = job.end()
        self.assertEqual(code, 0, said)
        self.assertIn("starting it again", said)
        self.no_process_left()

    def test_chaos_kills_and_the_job_finishes(self):
        job = self.run_job("--workers=2", "--steps=80")
        job.wait_step(3)
        done = self.edl("chaos", "j", "--kill-every=200ms", "--seed=3", "--count=3", "--json")
        kills = [json.loads(line)["killed"] for line in done.stdout.splitlines()]
        self.assertEqual(len(kills), 3)
        self.assertEqual(job.end()[0], 0)
        for worker in kills:
            self.assertEqual(self.ends(job)[worker], "killed")


class Stopping(Scene):
    def test_stop_then_resume_goes_on_with_new_names(self):
        first = self.run_job("--workers=2", "--steps=60")
        first.wait_step(5)
        stopped = self.answer("stop", "j")
        self.assertEqual(stopped["state"], "stopped")
        code, _ = first.end()
        self.assertEqual(code, 0)
        self.assertEqual(first.events[-1]["state"], "stopped")
        status = self.answer("status", "j")
        self.assertEqual((status["state"], status["step"]), ("stopped", stopped["step"]))
        second = self.resume("--workers=3")
        code, said = second.end()
        self.assertEqual(code, 0, said)
        self.assertEqual(set(self.ends(second)), {"w3", "w4", "w5"})
        self.assertGreater(second.kind("step")[0]["step"], stopped["step"])
        self.assertEqual(second.events[-1]["steps"], 60)
        steps = [e["step"] for e in self.kept_events() if e["event"] == "step"]
        self.assertEqual(steps, sorted(set(steps)))

    def test_stop_answers_when_the_job_and_its_store_are_gone_first(self):
        job = self.run_job("--workers=1", "--steps=100000")
        job.wait_step(1)
        worker = job.pid_of("w1")
        os.kill(worker, signal.SIGSTOP)
        asking = subprocess.Popen([EDL, "stop", "j", "--json"], cwd=self.folder, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        deadline = time.monotonic() + PATIENCE
        while self.answer("status", "j")["state"] != "stopping":
            self.assertLess(time.monotonic(), deadline)
        os.kill(asking.pid, signal.SIGSTOP)
        self.kill_store()  # what it would have said is not on its way to the one who asks
        os.kill(worker, signal.SIGCONT)
        self.assertEqual(job.end()[0], 0)
        os.kill(asking.pid, signal.SIGCONT)
        answer, complaint = asking.communicate(timeout=PATIENCE)
        self.assertEqual(asking.returncode, 0, complaint)
        stopped = json.loads(answer)
        self.assertEqual((stopped["state"], stopped["step"]),
                         ("stopped", job.events[-1]["steps"]))

    def leave_its_store_behind(self):
        """A job whose `edl run` is gone, and whose store waits for a worker that says nothing."""
        job = self.run_job("--workers=1:3", "--start=1", "--steps=100000")
        job.wait_step(3)
        worker = job.pid_of("w1")
        os.kill(worker, signal.SIGSTOP)
        job.process.kill()
        job.end()
        return worker

    def test_what_is_asked_of_a_job_resumed_in_the_background_counts(self):
        worker = self.leave_its_store_behind()
        self.edl("resume", "--detach", "--workers=1:3", "j")
        self.answer("scale", "j", "--workers=3", "--wait", "--wait-limit=20s")
        os.kill(worker, signal.SIGKILL)
        self.assertEqual(self.answer("status", "j")["wanted"], 3)
        self.assertEqual(self.answer("stop", "j")["state"], "stopped")
        self.no_process_left()

    def test_nothing_is_asked_of_a_store_that_is_about_to_go(self):
        worker = self.leave_its_store_behind()
        job = self.resume()
        run = self.directory() / "run.json"
        deadline = time.monotonic() + PATIENCE
        while not json.loads(run.read_text())["entering"]:
            self.assertLess(time.monotonic(), deadline)
        for words in (["scale", "j", "--workers=3"], ["stop", "j"]):
            self.assertIn("is about to begin", self.edl(*words, code=1).stderr)
        os.kill(worker, signal.SIGKILL)
        job.wait_for(lambda e: e["event"] == "started")
        self.answer("stop", "j")
        self.assertEqual(job.end()[0], 0)

    def test_resume_is_told_where_the_store_and_its_token_are_now(self):
        old, new = Path(self.folder) / "token", Path(self.folder) / "moved"
        old.write_text("0123456789abcdef0123456789abcdef\n")
        old.chmod(0o600)
        url = self.serve(f"--token-file={old}")
        first = self.run_job("--workers=1", "--steps=60", f"--store={url}", f"--token-file={old}")
        first.wait_step(5)
        self.answer("stop", "j")
        self.assertEqual(first.end()[0], 0)
        old.rename(new)
        self.assertEqual(self.resume().end()[0], 1)
        empty = self.serve()
        code, said = self.resume(f"--store={empty}", f"--token-file={new}").end()
        self.assertEqual(code, 1)
        self.assertIn('has no job "j"', said)
        second = self.resume(f"--store={url}", f"--token-file={new}")
        code, said = second.end()
        self.assertEqual(code, 0, said)
        self.assertEqual(second.events[-1]["steps"], 60)
        run = json.loads((self.directory() / "run.json").read_text())
        self.assertEqual((run["store"], run["token_file"]), ([url], str(new)))

    def test_a_job_with_its_own_store_takes_no_other(self):
        self.assertEqual(self.run_job("--workers=1", "--steps=3").end()[0], 0)
        code, said = self.resume(f"--store={self.serve()}").end()
        self.assertEqual(code, 1)
        self.assertIn("a store of its own", said)

    def test_resume_refuses_a_job_that_runs(self):
        job = self.run_job("--workers=1", "--steps=100000")
        job.wait_step(1)
        code, said = self.resume().end()
        self.assertEqual(code, 1)
        self.assertIn("runs already", said)

    def test_a_killed_agent_takes_its_workers_along_and_the_job_goes_on(self):
        first = self.run_job("--workers=2", "--steps=80")
        first.wait_step(5)
        first.process.kill()
        first.end()
        second = self.resume()
        code, said = second.end()
        self.assertEqual(code, 0, said)
        self.assertEqual(second.events[-1]["steps"], 80)
        self.no_process_left()

    def test_everything_killed_at_once_and_the_job_goes_on(self):
        first = self.run_job("--workers=2", "--steps=80")
        first.wait_step(5)
        first.process.kill()
        for process in Path("/proc").iterdir():
            if process.name.isdigit() and self.is_ours(process):
                try:
                    os.kill(int(process.name), signal.SIGKILL)
                except ProcessLookupError:
                    pass
        first.end()
        self.assertEqual(self.answer("status", "j")["state"], "stopped")
        second = self.resume()
        code, said = second.end()
        self.assertEqual(code, 0, said)
        self.assertEqual(second.events[-1]["steps"], 80)

    def test_ctrl_c_once_stops_with_a_checkpoint(self):
        job = self.run_job("--workers=2", "--steps=100000")
        job.wait_step(5)
        os.killpg(job.process.pid, signal.SIGINT)
        code, said = job.end()
        self.assertEqual(code, 0)
        self.assertIn("Stopping after a checkpoint", said)
        self.assertEqual(job.events[-1]["state"], "stopped")
        self.assertEqual(set(self.ends(job).values()), {"left"})

    def test_ctrl_c_twice_kills_the_workers(self):
        job = self.run_job("--workers=1", "--steps=100000", "--events=all",
                           "--fault=compute@5=stop:600000")
        job.wait_step(3)
        status = Path(f"/proc/{job.pid_of('w1')}/stat")
        while status.read_text().rpartition(")")[2].split()[0] != "T":
            time.sleep(0.01)
        job.process.send_signal(signal.SIGINT)
        time.sleep(0.2)  # two at once would be one
        job.process.send_signal(signal.SIGINT)
        code, said = job.end()
        self.assertEqual(code, 1)
        self.assertIn("edl resume j", said)
        self.no_process_left()


class Scaling(Scene):
    def test_scale_out_and_in_while_it_runs(self):
        job = self.run_job("--workers=1:3", "--start=1", "--steps=100000")
        job.wait_step(3)
        answer = self.answer("scale", "j", "--workers=3", "--wait")
        self.assertEqual((answer["accepted"], answer["from"], answer["to"]), (True, 1, 3))
        self.assertEqual(answer["pause_ms"], 1.5)
        self.assertIn("no faster than 2", answer["reason"])
        status = self.answer("status", "j")
        self.assertEqual([w["id"] for w in status["workers"]], ["w1", "w2", "w3"])
        self.assertEqual([w["rank"] for w in status["workers"]], [0, 1, 2])
        self.assertEqual(sorted(v for w in status["workers"] for v in w["logical"]), [0, 1, 2, 3])
        self.assertEqual(status["leader"], "w1")
        self.assertEqual((status["state"], status["wanted"]), ("running", 3))
        self.assertEqual(status["useful_sizes"], [1, 2, 4])
        self.assertTrue(status["store"]["reachable"])
        self.assertEqual(self.answer("leader", "j"), {"id": "w1", "rank": 0,
                                                      "host": status["workers"][0]["host"]})
        self.answer("scale", "j", "--workers=1", "--wait")
        job.wait_for(lambda e: e["event"] == "worker" and e.get("exit") and e["id"] == "w3")
        self.answer("stop", "j")
        self.assertEqual(job.end()[0], 0)
        self.assertEqual(self.ends(job), {"w1": "left", "w2": "left", "w3": "left"})

    def test_what_cannot_be_is_refused_with_a_sentence(self):
        job = self.run_job("--workers=2:3", "--steps=100000")
        job.wait_step(1)
        for workers, why in ((9, "4 logical workers"), (4, "its limit is 3"), (1, "minimum is 2")):
            done = self.edl("scale", "j", f"--workers={workers}", "--json", code=1)
            self.assertEqual(json.loads(done.stdout)["accepted"], False)
            self.assertIn(why, done.stderr)
        dry = self.answer("scale", "j", "--workers=3", "--dry-run")
        self.assertTrue(dry["accepted"])
        self.assertEqual(self.answer("status", "j")["wanted"], 2)
        self.edl("scale", "nobody", "--workers=2", code=1)
        self.edl("scale", "j", code=2)
        self.answer("stop", "j")
        self.assertEqual(job.end()[0], 0)
        done = self.edl("scale", "j", "--workers=2", "--json", code=1)
        self.assertIn("does not run: edl resume", done.stderr)
        answer = json.loads(done.stdout)
        self.assertEqual(answer["accepted"], False)
        self.assertIn("does not run", answer["reason"])

    def test_of_a_job_that_has_finished_nobody_is_told_to_resume_it(self):
        self.assertEqual(self.run_job("--workers=1", "--steps=3").end()[0], 0)
        url = self.serve()
        self.assertEqual(self.run_job("--steps=3", f"--store={url}", name="k").end()[0], 0)
        for job in ("j", "k"):
            self.assertIn("has finished", self.edl("leader", job, code=1).stderr)
        self.assertIn("has finished", self.edl("scale", "j", "--workers=2", code=1).stderr)


class Refusing(Scene):
    def test_bad_words_get_one_sentence(self):
        for code, why, *words in (
                (2, '"0" is no number of workers', "run", "--workers=0", "builtin:mlp"),
                (2, "the minimum is above the maximum", "run", "--workers=9:3", "builtin:mlp"),
                (2, 'no phase of a step "bogus"', "run", "--fault=bogus@3=kill", "builtin:mlp"),
                (2, "there is no option --bogus", "run", "--bogus", "builtin:mlp"),
                (2, "PROGRAM is required", "run"),
                (2, "--store is required", "join", "--job=x", "builtin:mlp"),
                (1, "its secret is not in", "join", "--store=http://127.0.0.1:1", "--job=x",
                 "builtin:mlp"),
                (1, "have no option --bogus", "run", "builtin:mlp", "--bogus"),
                (1, "0 silent steps", "run", "--silent-steps=0", "builtin:mlp"),
                (1, "8 logical workers", "run", "--workers=50", "builtin:mlp"),
                (1, "when to checkpoint", "run", "--checkpoint-every=never", "builtin:mlp"),
                (1, "when to checkpoint", "run", "--checkpoint-every=0steps", "builtin:mlp"),
                (1, "when to checkpoint", "run", "--checkpoint-every=0s", "builtin:mlp"),
                (1, "when to checkpoint", "run", "--checkpoint-every=9999999999999steps",
                 "builtin:mlp"),
                (1, "cannot be written", "run", "--trace-samples=/nowhere/dir/x", "builtin:mlp"),
                (1, "--address=192.0.2.1", "run", "--address=192.0.2.1", "builtin:mlp"),
                (1, "--address=no.such.host", "run", "--address=no.such.host", "builtin:mlp"),
                (1, "no built-in program", "run", "builtin:nope"),
                (1, "there is no job", "status", "nobody"),
                (1, "there is no job", "resume", "nobody"),
                (1, "there is no directory", "hash", "/nowhere")):
            with self.subTest(words):
                done = self.edl(*words, code=code)
                self.assertIn(why, done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
                self.assertEqual(done.stdout, "")
        self.assertFalse((Path(self.folder) / "edl-jobs").exists())


    def test_a_start_that_is_refused_leaves_nothing(self):
        url = self.serve()
        self.assertEqual(self.run_job("--steps=1", f"--store={url}", "--dir=first").end()[0], 0)
        short = Path(self.folder) / "short"
        short.write_text("abc")
        short.chmod(0o600)
        there = Path(self.folder) / "there"
        there.mkdir()
        (there / "mine").touch()
        for why, *options in (("foo", "--store=foo"),
                              ("at least 16", f"--secret-file={short}"),
                              ("has a job j already", f"--store={url}"),
                              ("has a job j already", f"--store={url}", "--detach"),
                              ("has a job j already", f"--store={url}", "--dir=a/b/c"),
                              ("has a job j already", f"--store={url}", "--dir=there")):
            with self.subTest(options):
                done = self.edl("run", "--steps=1", "--name=j", *options, WORKER, code=1)
                self.assertIn(why, done.stderr)
                left = sorted(p.name for p in Path(self.folder).iterdir())
                self.assertEqual(left, ["first", "s0", "short", "there"])
                self.assertEqual([p.name for p in there.iterdir()], ["mine"])
        self.assertEqual(self.run_job("--steps=1").end()[0], 0)

    def test_a_secret_that_does_not_fit_may_be_mended(self):
        self.assertEqual(self.run_job("--steps=1", "--secret-file=/nowhere").end()[0], 1)
        self.assertEqual(self.run_job("--steps=1").end()[0], 0)


class Joining(Scene):
    def lend_and_take_away(self, *options):
        url = self.serve()
        job = self.run_job("--workers=1:4", "--start=1", "--steps=100000", f"--store={url}")
        job.wait_step(3)
        guest = Job(self.folder, "join", "--json", f"--store={url}", "--job=j", *options, WORKER)
        self.jobs.append(guest)
        members = 1 + (2 if "--workers=2" in options else min(3, os.cpu_count()))
        job.wait_for(lambda e: e["event"] == "view" and len(e["members"]) == members, "all members")
        guest.process.send_signal(signal.SIGINT)
        self.assertEqual(guest.end()[0], 0)
        # Only now has all that it told been read: the other end may hear of a view first.
        starting = [e for e in guest.kind("worker") if e["state"] == "starting"]
        self.assertEqual(len(starting), members - 1)
        job.wait_for(lambda e: e["event"] == "view" and e["generation"] > 2
                     and len(e["members"]) == 1, "alone again")
        self.assertEqual(set(self.ends(guest).values()), {"left"})
        self.answer("stop", "j")
        self.assertEqual(job.end()[0], 0)

    def test_another_agent_lends_workers_and_takes_them_away(self):
        self.lend_and_take_away("--dir=guest", "--workers=2",
                                "--secret-file=edl-jobs/j/secret", "--address=127.0.0.1")

    def test_workers_that_only_start_are_taken_away_too(self):
        pipe = Path(self.folder) / "pipe"
        os.mkfifo(pipe)
        url = self.serve()
        job = self.run_job("--workers=1:4", "--start=1", "--steps=100000", f"--store={url}")
        job.wait_step(3)
        guest = Job(self.folder, "join", "--json", f"--store={url}", "--job=j", "--workers=2",
                    "--dir=guest", WORKER, f"--load={pipe}")
        self.jobs.append(guest)
        def wait_key(name, word):
            deadline = time.monotonic() + PATIENCE
            while word not in self.edl("store", "get", f"/edl/v1/jobs/j/{name}",
                                       f"--endpoint={url}").stdout:
                self.assertLess(time.monotonic(), deadline)
        wait_key("next-id", '"next":4')  # w2 and w3 have names, and wait for their processes
        asked = time.monotonic()
        guest.process.send_signal(signal.SIGINT)
        wait_key("wanted", "left.")
        with pipe.open("w"):
            self.assertEqual(guest.end()[0], 0)
        self.assertLess(time.monotonic() - asked, 15)  # and not the grace of 30 s
        self.assertEqual(self.ends(guest), {"w2": "left", "w3": "left"})
        members = self.edl("store", "get", "/edl/v1/jobs/j/members/", "--prefix", "--json",
                           f"--endpoint={url}").stdout.splitlines()
        states = {json.loads(json.loads(line)["value"])["id"]: line for line in members}
        self.assertEqual([w for w in states if "exited" not in states[w]], ["w1"])
        self.answer("stop", "j")
        self.assertEqual(job.end()[0], 0)

    def test_in_the_folder_of_the_job_nothing_more_need_be_said(self):
        self.lend_and_take_away()



if __name__ == "__main__":
    EDL = str(Path(sys.argv.pop(1)).resolve())
    WORKER = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
