#!/usr/bin/python3
"""`edl run --mode=stop-resume`, as processes: a script with its own loop (the one of
docs/reference/stop-resume.md) that is scaled, killed, stopped and resumed, and commands that do not
do what they should.
Run as: stop_resume_test.py PATH_OF_EDL [unittest options]"""

import json
import os
import signal
import sys
import unittest
from pathlib import Path

from stop_resume_scene import Scene, main
from train_job import send


class Training(Scene):
    def test_goes_from_1_to_3_to_2_with_a_kill_and_trains_each_sample_once(self):
        job = self.train("--workers=1:4", "--start=1")
        self.wait_for_steps(job.wait_members(1), 4)
        answer = self.place.answer("scale", "j", "--workers=3", "--wait")
        self.assertEqual((answer["accepted"], answer["to"], answer["generation"]), (True, 3, 2))
        self.assertGreater(answer["pause_ms"], 0)
        three = job.wait_members(3)
        self.wait_for_steps(three, 4)
        status = self.place.answer("status", "j")
        self.assertEqual((status["state"], status["mode"], status["wanted"]),
                         ("running", "stop-resume", 3))
        self.assertEqual([w["rank"] for w in status["workers"]], [0, 1, 2])
        self.assertEqual(self.place.answer("leader", "j")["id"], three["members"][0]["id"])
        killed = three["members"][1]["id"]
        place = len(job.events)
        send(job.workers()[killed]["pid"], signal.SIGKILL)
        again = job.wait_members(3, after=place)
        self.assertEqual((again["cause"], again["who"]), ("death", killed))
        self.wait_for_steps(again, 4)
        plan = self.place.answer("scale", "j", "--workers=2", "--dry-run")
        self.assertGreater(plan["predicted_pause_ms"], 0)
        self.place.edl("scale", "j", "--workers=2", "--wait")
        self.finish(job)
        self.check_training()
        views = [(v["generation"], len(v["members"]), v["cause"]) for v in self.views(job)]
        self.assertEqual(views,
                         [(1, 1, "start"), (2, 3, "scale"), (3, 3, "death"), (4, 2, "scale")])
        self.assertEqual(job.ends()[killed], "killed")
        end = job.events[-1]
        self.assertEqual((end["event"], end["state"]), ("finished", "finished"))
        self.assertEqual(self.place.kept_events("j"), job.events)
        self.assertEqual(len(self.place.answers("explain", "j")), 4)
        self.assertIn("Cause: death", self.place.edl("explain", "j").stdout)
        self.assertEqual(self.place.answer("status", "j")["state"], "finished")

    def test_the_worker_of_rank_0_may_be_killed_too(self):
        job = self.train("--workers=3")
        first = job.wait_members(3)
        self.wait_for_steps(first, 4)
        send(job.workers()[first["members"][0]["id"]]["pid"], signal.SIGKILL)
        self.finish(job)
        self.check_training()
        self.assertEqual(len(self.views(job)), 2)

    def test_stops_and_goes_on_at_another_size(self):
        job = self.train("--workers=1:4", "--start=2")
        self.wait_for_steps(job.wait_members(2), 4)
        self.assertEqual(self.place.answer("stop", "j")["state"], "stopped")
        self.finish(job)
        self.assertEqual(job.events[-1]["state"], "stopped")
        self.assertEqual(self.place.answer("status", "j")["state"], "stopped")
        job = self.place.start("resume", "--json", "--workers=1:6", "--start=3", "j")
        view = job.wait_members(3)
        self.assertEqual((view["generation"], view["cause"]), (2, "resume"))
        self.finish(job)
        self.check_training()

    def test_workers_save_and_end_when_edl_run_is_killed(self):
        job = self.train("--workers=2")
        self.wait_for_steps(job.wait_members(2), 4)
        job.process.kill()
        self.place.wait_until_empty()
        self.assertGreater(json.loads((self.folder / "state.json").read_text())["step"], 2)
        job = self.place.start("resume", "--json", "j")
        self.assertEqual(job.wait_members(2)["generation"], 2)
        self.finish(job)
        self.check_training()

    def test_a_resume_waits_for_the_workers_of_a_run_that_was_killed(self):
        job = self.shell("--workers=2", "--grace=1s",
                         script="trap '' TERM; echo begun; while :; do sleep 0.1; done")
        view = job.wait_members(2)
        for member in view["members"]:
            self.wait_for_log(member["id"], "begun")
        old = list(job.alive().values())
        job.process.kill()
        job = self.place.start("resume", "--json", "--grace=1s", "j")
        self.assertEqual(job.wait_members(2)["generation"], 2)
        self.assertFalse([pid for pid in old if pid in self.place.processes()])
        job.process.send_signal(signal.SIGTERM)
        self.finish(job)

    def test_ctrl_c_stops_it_in_order(self):
        job = self.train("--workers=2")
        self.wait_for_steps(job.wait_members(2), 4)
        job.process.send_signal(signal.SIGINT)
        self.finish(job)
        self.assertEqual(job.events[-1]["state"], "stopped")
        self.assertEqual(set(job.ends().values()), {"left"})
        self.assertTrue((self.folder / "state.json").exists())
        job = self.place.start("resume", "--json", "j")
        self.finish(job)
        self.check_training()

    def test_runs_in_the_background_and_says_what_happens(self):
        done = self.place.edl("run", "--detach", "--mode=stop-resume", "--name=j", "--workers=2",
                              "/usr/bin/python3", "train.py", "0")
        self.assertIn("runs in the background", done.stdout)
        self.wait_until(lambda: self.place.answer("status", "j")["state"] == "finished", "the end")
        said = (self.place.directory("j") / "log" / "agent.log").read_text()
        self.assertIn("View 1 (start): 2 workers. ", said)
        self.assertIn("The job finished.", said)
        self.check_training()


class Losing(Scene):
    """Processes of EDL itself that die while workers run."""

    def process(self, words):
        return next(pid for pid, line in self.place.processes().items() if words in line)

    def test_a_guard_that_was_killed_has_a_successor_that_guards_as_well(self):
        job = self.train("--workers=2")
        self.wait_for_steps(job.wait_members(2), 2)
        old = self.process(b"edl guard")
        send(old, signal.SIGKILL)
        self.wait_until(lambda: any(pid != old and b"edl guard" in line for pid, line in
                                    self.place.processes().items()), "another guard")
        place = len(job.events)
        self.place.edl("scale", "j", "--workers=1", "--wait")
        self.wait_for_steps(job.wait_members(1, after=place), 2)
        job.process.kill()
        self.place.wait_until_empty()
        self.finish(self.place.start("resume", "--json", "j"))
        self.check_training()

    def test_changes_wait_for_a_store_that_was_killed(self):
        job = self.train("--workers=1:3", "--start=2")
        view = job.wait_members(2)
        self.wait_for_steps(view, 2)
        place = len(job.events)
        send(self.process(b"store serve"), signal.SIGKILL)
        send(job.workers()[view["members"][1]["id"]]["pid"], signal.SIGKILL)
        again = job.wait_members(2, after=place)
        self.assertEqual(again["cause"], "death")
        self.place.edl("scale", "j", "--workers=3", "--wait")
        self.finish(job)
        self.check_training()

    def test_chaos_kills_workers_and_training_goes_on(self):
        job = self.train("--workers=3")
        self.wait_for_steps(job.wait_members(3), 2)
        kills = self.place.answers("chaos", "j", "--kill-every=500ms", "--count=2")
        self.assertEqual(len(kills), 2)
        self.finish(job)
        self.check_training()
        self.assertEqual({job.ends()[kill["killed"]] for kill in kills}, {"killed"})


class Environment(Scene):
    def test_every_worker_finds_its_place_and_a_port_that_is_free(self):
        script = ('import os, socket; s = socket.create_server((os.environ["MASTER_ADDR"], '
                  'int(os.environ["MASTER_PORT"]))) if os.environ["RANK"] == "0" else None; '
                  'import json; print(json.dumps(dict(os.environ)))')
        job = self.command("--workers=3", words=["/usr/bin/python3", "-c", script])
        self.finish(job)
        found = [json.loads(self.log(w)) for w in ("w1", "w2", "w3")]
        for rank, names in enumerate(found):
            for name in ("RANK", "EDL_RANK", "LOCAL_RANK", "ROLE_RANK"):
                self.assertEqual(names[name], str(rank))
            for name in ("WORLD_SIZE", "EDL_SIZE", "LOCAL_WORLD_SIZE", "ROLE_WORLD_SIZE"):
                self.assertEqual(names[name], "3")
            self.assertEqual(names["EDL_GENERATION"], "1")
            self.assertEqual(names["TORCHELASTIC_RESTART_COUNT"], "0")
            self.assertEqual((names["GROUP_RANK"], names["MASTER_ADDR"]), ("0", "127.0.0.1"))
            self.assertEqual(names["EDL_DIR"], str(self.place.directory("j")))


class Failing(Scene):
    def test_one_that_ignores_sigterm_is_killed_after_the_grace(self):
        job = self.shell("--workers=1:2", "--start=1", "--grace=300ms",
                         script="trap '' TERM; echo begun; while :; do sleep 0.1; done")
        job.wait_members(1)
        self.wait_for_log("w1", "begun")
        self.place.edl("scale", "j", "--workers=2", "--wait")
        self.assertEqual(job.ends(), {"w1": "killed"})
        self.assertIn("did not end within 300 ms of SIGTERM, and was killed", self.log("w1"))
        self.assertIn("did not end within 300 ms", job.workers()["w1"]["reason"])
        job.process.send_signal(signal.SIGINT)
        self.finish(job)

    def test_a_second_ctrl_c_kills_at_once(self):
        job = self.shell("--workers=2", "--grace=10m",
                         script="trap '' TERM; echo begun; while :; do sleep 0.1; done")
        job.wait_members(2)
        self.wait_for_log("w1", "begun")
        self.wait_for_log("w2", "begun")
        job.process.send_signal(signal.SIGINT)
        job.wait_for(lambda e: e.get("state") == "leaving", "SIGTERM")
        job.process.send_signal(signal.SIGINT)
        self.finish(job, code=1)
        self.assertIn("edl resume j", job.said())

    def test_crashes_without_end_end_the_job_with_the_end_of_the_log(self):
        job = self.shell("--workers=2", script="echo broken here; exit 3")
        self.finish(job, code=1)
        failed = job.events[-1]
        self.assertEqual(failed["event"], "failed")
        self.assertIn("6 workers crashed", failed["reason"])
        self.assertEqual(self.log(failed["worker"]), "broken here\n")
        self.assertEqual(failed["log"],
                         str(self.place.directory("j") / f"log/worker-{failed['worker']}.log"))
        self.assertIn("  | broken here", job.said())
        self.assertEqual(len(job.kind("view")), 12, "six rounds, each told twice")
        self.assertEqual(self.place.answer("status", "j")["state"], "failed")

    def test_a_file_in_python_runs_under_the_interpreter(self):
        program = Path(self.place.folder) / "plain.py"  # nobody may execute it
        program.write_text("import os, sys\nprint(os.environ['EDL_SIZE'], sys.argv, "
                           "sys.executable)\n")
        for name, options, python in (("told", (f"--python={sys.executable}",), sys.executable),
                                      ("found", (), os.environ.get("EDL_PYTHON"))):
            job = self.place.start("run", "--json", f"--name={name}", "--mode=stop-resume",
                                   "--workers=1", *options, "plain.py", "word")
            self.finish(job)
            log = (self.place.directory(name) / "log/worker-w1.log").read_text()
            self.assertTrue(log.startswith("1 ['plain.py', 'word'] "), log)
            if python:
                self.assertEqual(log.split()[-1], python)

    def test_kills_without_end_do_not_end_the_job(self):
        job = self.shell("--workers=2", script="trap 'exit 0' TERM; while :; do sleep 0.1; done")
        for generation in range(1, 9):
            view = job.wait_for(lambda e, g=generation: e["event"] == "view" and "pause_ms" in e
                                and e["generation"] == g, f"generation {generation}")
            send(job.workers()[view["members"][generation % 2]["id"]]["pid"], signal.SIGKILL)
        job.wait_for(lambda e: e["event"] == "view" and e["generation"] == 9, "generation 9")
        self.place.edl("stop", "j")
        self.finish(job)

    def test_nothing_is_left_of_a_shell_that_runs_the_program(self):
        job = self.shell("--workers=1", script="sleep 1000 & echo $!; wait")
        job.wait_members(1)
        self.wait_for_log("w1", "\n")
        inner = int(self.log("w1"))
        self.assertIn(inner, self.place.processes())
        send(job.workers()["w1"]["pid"], signal.SIGKILL)
        job.wait_for(lambda e: e["event"] == "view" and e["generation"] == 2, "the next one")
        self.assertNotIn(inner, self.place.processes())
        self.place.edl("stop", "j")
        self.finish(job)

    def test_who_has_finished_waits_for_the_others(self):
        job = self.shell("--workers=1:4", "--start=2",
                         script='test $RANK = 0 && exit 0; while ! test -e go; do sleep 0.02; done')
        job.wait_for(lambda e: e["event"] == "worker" and e["state"] == "exited", "the first end")
        self.place.edl("scale", "j", "--workers=4")
        (self.folder / "go").touch()
        self.finish(job)
        self.assertEqual(job.events[-1]["state"], "finished")
        self.assertEqual(len(self.views(job)), 1, "it is not resized at its end")


class Refusing(Scene):
    def refused(self, *words, code=1):
        said = self.place.edl(*words, code=code).stderr
        self.assertEqual(said.count("\n"), 1, said)
        return said

    def test_options_that_mean_nothing_here_are_refused_and_leave_nothing(self):
        for option in ("--epochs=1", "--steps=1", "--batch=1", "--batch-max=1",
                       "--batch-policy=linear", "--logical-workers=2", "--lr-rule=linear",
                       "--warmup-samples=1", "--seed=1", "--checkpoint-every=1s",
                       "--silent-steps=3", "--fault=compute@1=kill", "--events=all",
                       "--trace-samples=t"):
            said = self.refused("run", "--mode=stop-resume", "--name=j", option, "true")
            self.assertIn(f"{option.split('=')[0]} is for programs that EDL drives", said)
        self.assertIn("there is no program no-such-thing",
                      self.refused("run", "--mode=stop-resume", "--name=j", "no-such-thing"))
        self.assertIn("leave that out",
                      self.refused("run", "--mode=stop-resume", "--name=j", "builtin:mlp"))
        self.assertIn("Start within it", self.refused(
            "run", "--mode=stop-resume", "--name=j", "--workers=1:2", "--start=3", "true"))
        self.refused("run", "--mode=stop", "--name=j", "true", code=2)
        self.assertFalse(self.place.directory("j").exists())

    def test_commands_about_steps_say_why_there_are_none(self):
        self.place.edl("run", "--mode=stop-resume", "--name=j", "true")
        for words in (("verify", "j"), ("ledger", "j"), ("replay", "j", "--step=1"), ("hash", "j"),
                      ("advise", "j"), ("data", "step", "j", "--step=1"),
                      ("hash", str(self.place.directory("j")))):
            self.assertIn("mode stop-resume", self.refused(*words))
        self.assertIn("there is a job",
                      self.refused("run", "--mode=stop-resume", "--name=j", "true"))
        self.assertIn("does not run", self.refused("scale", "j", "--workers=1"))

    def test_a_size_outside_the_range_is_refused(self):
        job = self.shell("--workers=2:3", "--start=2", script="while :; do sleep 0.1; done")
        job.wait_members(2)
        self.assertIn("its limit is 3", self.refused("scale", "j", "--workers=4"))
        self.assertIn("its minimum is 2", self.refused("scale", "j", "--workers=1"))
        job.process.send_signal(signal.SIGINT)
        self.finish(job)


if __name__ == "__main__":
    main()
