#!/usr/bin/python3
"""Training that is disturbed gives the bits of training that is not: `edl run builtin:mlp` with
workers killed in every phase, stopped, slowed, cut off, preempted, scaled, with the store, the
leader and the agent killed. What must hold for each job is in train_job.py.
Run as: train_test.py PATH_OF_EDL [unittest options]"""

import collections
import json
import os
import signal
import sys
import time
import unittest
from pathlib import Path

import train_job
from train_job import (PHASES, Place, Wrong, check_fields, check_finished, check_steps, check_told,
                       send)

EDL = "edl"  # argv[1]
STEPS = 600
EVERY = "--checkpoint-every=30steps"
OF_STEPS = PHASES[:6]
OF_CHANGES = PHASES[6:11]
LONG = 100000  # steps of a job that is ended by the test


class Scene(unittest.TestCase):
    """Jobs in a folder of their own, and the model that one undisturbed worker makes."""
    references = {}

    def setUp(self):
        self.place = Place(EDL)

    def tearDown(self):
        self.place.close()

    def reference(self, steps=STEPS):
        if steps not in self.references:
            name = f"reference-{steps}"
            job = self.place.run(name, "--workers=1", f"--steps={steps}", "--checkpoint-every=off")
            self.assertEqual(job.end(), 0, job.account())
            self.references[steps] = self.place.model(name)
        return self.references[steps]

    def finishes(self, job, name, steps=STEPS, may_be_lost=False):
        """Its events, once the job has ended well and everything holds."""
        code = job.end()
        self.assertEqual(code, 0, job.account())
        events = check_finished(self.place, name, self.reference(steps), may_be_lost)
        self.place.wait_until_empty()
        return events

    def stops(self, job, name, may_be_lost=False):
        """The same for a job without end: it is stopped now, and is as far as the reference."""
        self.place.answer("stop", name)
        code = job.end()
        self.assertEqual(code, 0, job.account())
        last = job.events[-1]["steps"]
        model = self.place.directory(name) / f"checkpoints/{last}/model.safetensors"
        self.assertEqual(model.read_bytes(), self.reference(last), "other bits than the reference")
        return check_told(self.place, name, may_be_lost)

    def causes(self, events):
        return [e["cause"] for e in events if e["event"] == "view" and "pause_ms" not in e]

    def nobody_died(self, events):
        views = [(e["generation"], e["cause"], e["reason"]) for e in events if e["event"] == "view"]
        self.assertNotIn("death", self.causes(events), views)


class Bits(Scene):
    def test_the_number_of_workers_changes_no_bit(self):
        for workers in (2, 3, 4, 5, 8):
            job = self.place.run(f"w{workers}", f"--workers={workers}", f"--steps={STEPS}",
                                 "--logical-workers=8")
            events = self.finishes(job, f"w{workers}")
            first = next(e for e in events if e["event"] == "view")
            self.assertEqual(len(first["members"]), workers)

    def test_another_seed_gives_another_model(self):
        for seed, equal in ((0, True), (1, False)):
            job = self.place.run(f"s{seed}", "--workers=2", f"--steps={STEPS}", f"--seed={seed}")
            self.assertEqual(job.end(), 0, job.account())
            self.assertEqual(self.place.model(f"s{seed}") == self.reference(), equal)

    def test_a_number_of_logical_workers_is_another_job(self):
        job = self.place.run("v4", "--workers=2", f"--steps={STEPS}", "--logical-workers=4")
        self.assertEqual(job.end(), 0, job.account())
        self.assertNotEqual(self.place.model("v4"), self.reference())


class Drills(Scene):
    """A fault at a step; phases of joins and view changes get a death that makes them happen."""

    def drill(self, name, *faults, steps=STEPS, may_be_lost=False):
        job = self.place.run(name, "--workers=3", f"--steps={steps}", EVERY,
                             *(f"--fault={fault}" for fault in faults))
        events = self.finishes(job, name, steps, may_be_lost)
        self.assertEqual(self.place.fired(name), set(faults), job.account())
        return job, events

    def drill_on(self, name, *faults, may_be_lost=False):
        """A job that goes on until all faults have struck: some wait for a join or a checkpoint."""
        job = self.place.run(name, "--workers=3", f"--steps={LONG}", EVERY,
                             *(f"--fault={fault}" for fault in faults))
        deadline = time.monotonic() + train_job.PATIENCE
        while self.place.fired(name) != set(faults):
            self.assertLess(time.monotonic(), deadline, job.account())
            job.wait_for(lambda e: e["event"] == "step", "a step", after=len(job.events))
        job.wait_for(lambda e: e["event"] == "step", "a step", after=len(job.events))
        return job, self.stops(job, name, may_be_lost)

    def test_a_kill_in_any_phase_of_a_step(self):
        for number, phase in enumerate(OF_STEPS):
            with self.subTest(phase):
                job, events = self.drill(phase, f"{phase}@{41 + 17 * number}=kill")
                self.assertEqual(list(job.ends().values()).count("killed"), 1)
                self.assertIn("death", self.causes(events))

    def test_a_kill_in_any_phase_of_a_change_of_view(self):
        for number, phase in enumerate(OF_CHANGES):
            with self.subTest(phase):
                step = 40 + 13 * number
                job, _ = self.drill_on(phase, f"compute@{step}=kill", f"{phase}@{step}=kill")
                self.assertEqual(list(job.ends().values()).count("killed"), 2)

    def test_a_kill_in_any_phase_of_a_checkpoint(self):
        for number, phase in enumerate(PHASES[11:]):
            with self.subTest(phase):
                name = phase.replace("_", "-")
                job, _ = self.drill_on(name, f"{phase}@{31 + 45 * number}=kill")
                self.assertEqual(list(job.ends().values()).count("killed"), 1)
                last = self.place.directory(name) / f"checkpoints/{job.events[-1]['steps']}"
                self.assertTrue((last / "MANIFEST.json").exists())

    def test_kills_in_all_phases_of_one_job(self):
        faults = [f"{phase}@{40 + 100 * number}=kill" for number, phase in enumerate(PHASES)]
        job, _ = self.drill_on("all", *faults, may_be_lost=True)
        self.assertEqual(list(job.ends().values()).count("killed"), len(faults))

    def test_the_only_member_dies_while_it_gives_its_state(self):
        job = self.place.run("giver", "--workers=2", f"--steps={STEPS}", EVERY,
                             "--fault=compute@40=kill", "--fault=snapshot@40=kill")
        events = self.finishes(job, "giver", may_be_lost=True)
        self.assertEqual(self.place.fired("giver"), {"compute@40=kill", "snapshot@40=kill"})
        self.assertIn("resume", self.causes(events))
        members = {m["id"] for e in events if e["event"] == "view" for m in e["members"]}
        self.assertIn("w3", members)  # it had asked the dead one for its state

    def test_a_stopped_worker_is_left_behind_and_comes_back(self):
        steps = 3 * STEPS
        job, events = self.drill("stop", "compute@50/w2=stop:1500", steps=steps)
        self.assertNotIn("killed", job.ends().values())
        views = [e for e in events if e["event"] == "view" and "pause_ms" not in e]
        self.assertIn("w2", [e["who"] for e in views if e["cause"] == "death"])

    def test_a_worker_that_crashes_is_replaced_after_a_while(self):
        job, _ = self.drill("exit", "compute@50=exit:7", steps=3 * STEPS)
        crashed = [e for e in job.workers().values() if e.get("exit", {}).get("class") == "crashed"]
        self.assertEqual([e["exit"]["code"] for e in crashed], [7])
        again = [e for e in job.kind("worker") if e["id"] == "w4"][0]
        self.assertGreaterEqual(again["time"] - crashed[0]["time"], 0.2)

    def test_a_slow_worker_is_not_dropped(self):
        job, events = self.drill("slow", "compute@150=slow:8")
        self.assertEqual(set(job.ends().values()), {"left"})
        self.nobody_died(events)

    def test_a_cut_link_costs_at_most_one_member(self):
        job, events = self.drill("cut", "compute@50/w1=cut:w2")
        self.assertNotIn("killed", job.ends().values())
        sizes = [len(e["members"]) for e in events if e["event"] == "view"]
        self.assertGreaterEqual(min(sizes), 2)


class Scaling(Scene):
    def test_one_to_four_to_two(self):
        job = self.place.run("j", "--workers=1:4", "--start=1", f"--steps={LONG}", EVERY,
                             program=["builtin:mlp", "--work=2"])
        job.wait_step(20)
        first = self.place.answer("scale", "j", "--workers=4", "--wait")
        self.assertEqual((first["accepted"], first["from"], first["to"]), (True, 1, 4))
        self.assertEqual(len(self.place.answer("status", "j")["workers"]), 4)
        second = self.place.answer("scale", "j", "--workers=2", "--wait")
        self.assertEqual((second["accepted"], second["from"], second["to"]), (True, 4, 2))
        self.assertGreater(second["generation"], first["generation"])
        self.assertGreaterEqual(second["pause_ms"], 0)
        events = self.stops(job, "j")
        self.assertEqual(set(job.ends().values()), {"left"})
        self.assertIn("scale", self.causes(events))

    def test_below_the_minimum_it_waits_and_goes_on(self):
        job = self.place.run("j", "--workers=3:3", f"--steps={STEPS}", EVERY,
                             "--fault=compute@50=exit:3")
        events = self.finishes(job, "j")
        views = [e for e in events if e["event"] == "view" and "pause_ms" not in e]
        waiting = next(e for e in views if e.get("halt") == "waiting")
        after = views[views.index(waiting) + 1]
        self.assertEqual((len(waiting["members"]), len(after["members"])), (2, 3))
        self.assertEqual(waiting["first_step"], after["first_step"])  # nothing was trained by two
        kept = [e["step"] for e in events if e["event"] == "checkpoint"]
        self.assertIn(after["first_step"] - 1, kept)  # while it waited
        self.assertEqual({e["workers"] for e in events if e["event"] == "step"}, {3})


def carried(view):
    """How many logical workers each member carries; 0 for one that is none."""
    return collections.Counter({m["id"]: len(m["logical"]) for m in view["members"]})


class Stragglers(Scene):
    def test_a_slow_worker_is_relieved_and_then_replaced(self):
        job = self.place.run("j", "--workers=3", f"--steps={LONG}", EVERY,
                             "--fault=compute@100/w2=slow:4",
                             program=["builtin:mlp", "--work=40"])
        first = job.wait_for(lambda e: e["event"] == "view", "the first view")
        # How much slower it is measured to be depends on what else the machine does: a view may
        # come to nothing when that has changed meanwhile, and then there is another.
        relieved = job.wait_for(lambda e: e["event"] == "view" and e["cause"] == "straggler"
                                and e["who"] == "w2" and "pause_ms" in e
                                and carried(e)["w2"] < carried(first)["w2"], "relief for w2")
        self.assertEqual(sum(carried(relieved).values()), 8)
        replaced = job.wait_for(lambda e: e["event"] == "view" and e["cause"] == "straggler"
                                and "w2" not in [m["id"] for m in e["members"]], "a successor",
                                seconds=300)
        self.assertIn("w4", [m["id"] for m in replaced["members"]])
        self.assertEqual(len(replaced["members"]), 3)
        end = job.wait_for(lambda e: e["event"] == "worker" and e["id"] == "w2"
                           and e["state"] == "exited", "the end of w2")
        self.assertEqual((end["exit"]["class"], end["exit"]["code"]), ("left", 0))
        started = next(e for e in job.kind("worker") if e["id"] == "w4")
        self.assertLess(started["time"], replaced["time"])  # the new one first
        job.wait_step(job.kind("step")[-1]["step"] + 20)
        events = self.stops(job, "j")
        self.nobody_died(events)

    def test_a_successor_that_nobody_needs_any_more_is_sent_away(self):
        job = self.place.run("j", "--workers=2", f"--steps={LONG}", EVERY,
                             program=["builtin:mlp", "--work=10"])
        job.wait_step(10)
        # As a leader would write it, once: w2 is as fast as the other, nobody asks again.
        self.place.answer("store", "put", "/edl/v1/jobs/j/replace",
                          '{"worker": "w2", "reason": "it was slow"}', *self.place.store_of("j"))
        started = job.wait_for(lambda e: e["event"] == "worker" and e["id"] == "w3", "w3")
        end = job.wait_for(lambda e: e["event"] == "worker" and e["id"] == "w3"
                           and e["state"] == "exited", "the end of w3", seconds=120)
        self.assertEqual((end["exit"]["class"], end["exit"]["code"]), ("left", 0), started)
        job.wait_step(job.kind("step")[-1]["step"] + 20)
        self.assertEqual({m["id"] for m in job.kind("view")[-1]["members"]}, {"w1", "w2"})
        self.stops(job, "j")


class Signals(Scene):
    def test_a_preempted_worker_leaves_with_0_and_is_replaced(self):
        job = self.place.run("j", "--workers=3", f"--steps={LONG}", EVERY,
                             program=["builtin:mlp", "--work=2"])
        job.wait_step(30)
        for victim in ("w1", "w2"):
            self.assertTrue(send(job.workers()[victim]["pid"], signal.SIGTERM))
            end = job.wait_for(lambda e, v=victim: e["event"] == "worker" and e["id"] == v
                               and e["state"] == "exited", f"the end of {victim}")
            self.assertEqual((end["exit"]["class"], end["exit"]["code"]), ("preempted", 0))
            job.wait_members(3, after=job.events.index(end))
        events = self.stops(job, "j")
        self.assertIn("preempt", self.causes(events))

    def test_ctrl_c_stops_and_resume_at_another_size_has_the_same_bits(self):
        steps = 2 * STEPS
        job = self.place.run("j", "--workers=3", f"--steps={steps}", EVERY,
                             program=["builtin:mlp", "--work=4"])
        job.wait_step(30)
        os.killpg(job.process.pid, signal.SIGINT)
        self.assertEqual(job.end(), 0, job.account())
        stopped = job.events[-1]
        self.assertEqual((stopped["event"], stopped["state"]), ("finished", "stopped"))
        status = self.place.answer("status", "j")
        self.assertEqual((status["state"], status["step"]), ("stopped", stopped["steps"]))
        self.assertEqual(status["checkpoint"]["step"], stopped["steps"])
        self.assertEqual(self.place.answer("hash", "j")["state_hash"], stopped["state_hash"])
        self.place.wait_until_empty()
        again = self.place.resume("j", "--workers=2")
        events = self.finishes(again, "j", steps)
        self.assertIn("resume", self.causes(events))

    def test_a_killed_edl_run_is_resumed(self):
        steps = 2 * STEPS
        job = self.place.run("j", "--workers=3", f"--steps={steps}", EVERY,
                             program=["builtin:mlp", "--work=4"])
        job.wait_step(100)
        job.process.kill()
        job.end()
        again = self.place.resume("j", "--workers=4")
        code = again.end()
        self.assertEqual(code, 0, again.account())
        self.ends_like_the_reference(steps)

    def test_views_that_nobody_told_are_told_by_the_resume(self):
        job = self.place.run("j", "--workers=2", f"--steps={LONG}", EVERY,
                             "--fault=compute@40=kill", "--fault=compute@80=kill")
        job.wait_for(lambda e: e["event"] == "step" and e["step"] > 200, "step 200")
        self.place.answer("stop", "j")
        self.assertEqual(job.end(), 0)
        events = self.place.kept_events("j")
        told = [e["generation"] for e in events if e["event"] == "view"]
        self.assertGreater(max(told), 3)
        lines = [e for e in events if e["event"] != "view" or e["generation"] < 3]
        path = self.place.directory("j") / "events.jsonl"
        path.write_text("".join(json.dumps(e) + "\n" for e in lines))
        job = self.place.resume("j", "--workers=2")
        job.wait_for(lambda e: e["event"] == "step", "a step")
        self.place.answer("stop", "j")
        self.assertEqual(job.end(), 0)
        events = self.place.kept_events("j")
        check_fields(events)
        again = [e["generation"] for e in events if e["event"] == "view"]
        self.assertLessEqual(set(told), set(again))
        self.assertEqual([e["generation"] for e in self.place.answers("explain", "j")],
                         sorted(set(again)))

    def test_all_workers_killed_at_once(self):
        steps = 2 * STEPS
        job = self.place.run("j", "--workers=3", f"--steps={steps}", EVERY, "--events=all",
                             program=["builtin:mlp", "--work=4"])
        job.wait_for(lambda e: e["event"] == "checkpoint" and e["step"] >= 100, "a checkpoint")
        pids = job.alive().values()
        for pid in pids:
            send(pid, signal.SIGSTOP)  # so that none can see the others die
        for pid in pids:
            send(pid, signal.SIGKILL)
        code = job.end()
        self.assertEqual(code, 0, job.account())
        self.ends_like_the_reference(steps)

    def ends_like_the_reference(self, steps):
        """After all members were lost: what is told again is what was lost, and it is counted."""
        events = self.place.kept_events("j")
        resumed = [e for e in events if e.get("cause") == "resume" and "steps_lost" in e]
        self.assertEqual(len(resumed), 1, [e for e in events if e["event"] == "view"])
        place = events.index(resumed[0])
        told = [e["step"] for e in events[:place] if e["event"] == "step"]
        self.assertGreaterEqual(resumed[0]["steps_lost"], max(told) + 1 - resumed[0]["first_step"])
        check_finished(self.place, "j", self.reference(steps), may_be_lost=True)
        self.place.wait_until_empty()


class Services(Scene):
    def test_the_store_is_killed_again_and_again(self):
        job = self.place.run("j", "--workers=3", f"--steps={LONG}", EVERY,
                             program=["builtin:mlp", "--work=2"])
        for number in range(1, 6):
            job.wait_step(number * 100)
            pid = self.place.store_pid()
            if pid is not None:
                send(pid, signal.SIGKILL)
        self.stops(job, "j")
        self.assertIn("starting it again", job.said())

    def test_a_worker_dies_while_the_store_is_away(self):
        steps = 2 * STEPS
        job = self.place.run("j", "--workers=3", f"--steps={steps}", EVERY,
                             program=["builtin:mlp", "--work=4"])
        job.wait_step(50)
        send(self.place.store_pid(), signal.SIGKILL)
        send(job.workers()["w2"]["pid"], signal.SIGKILL)
        self.finishes(job, "j", steps)

    def test_the_leader_is_killed_ten_times(self):
        job = self.place.run("j", "--workers=3", f"--steps={LONG}", EVERY,
                             program=["builtin:mlp", "--work=2"])
        job.wait_step(20)
        for _ in range(10):
            place = len(job.events)
            leader = self.leader(job)
            send(job.alive()[leader], signal.SIGKILL)
            job.wait_for(lambda e, w=leader: e["event"] == "worker" and e["id"] == w
                         and e["state"] == "exited", f"the end of {leader}", place)
            job.wait_members(3, place)
        self.stops(job, "j")
        self.assertEqual(list(job.ends().values()).count("killed"), 10)

    def leader(self, job):
        """It may be between two leaders for a moment."""
        deadline = time.monotonic() + train_job.PATIENCE
        while time.monotonic() < deadline:
            leader = self.place.answer("status", "j")["leader"]
            if leader in job.alive():
                return leader
        raise Wrong(f"nobody leads\n{job.account()}")


class Failing(Scene):
    def test_crashes_use_a_budget_and_the_log_is_shown(self):
        faults = [f"--fault=compute@{step}=exit:9" for step in range(20, 26)]
        job = self.place.run("j", "--workers=1", f"--steps={LONG}", EVERY, *faults)
        self.assertEqual(job.end(), 1, job.account())
        failed = job.kind("failed")[0]
        self.assertIn("6 workers crashed within 10 m", failed["reason"])
        self.assertTrue(Path(failed["log"]).exists())
        self.assertIn("a drill strikes", job.said())
        self.assertEqual(list(job.ends().values()), ["crashed"] * 6)
        check_fields(self.place.kept_events("j"))
        self.assertEqual(self.place.answer("status", "j")["state"], "failed")
        self.place.wait_until_empty()


    def test_a_stop_while_nobody_is_alive_tells_what_is_kept(self):
        for name, every in (("kept", "1steps"), ("lost", "off")):
            with self.subTest(name):
                faults = [f"--fault=compute@{10 + i}=exit:1" for i in range(4)]
                job = self.place.run(name, "--workers=1", f"--steps={LONG}",
                                     f"--checkpoint-every={every}", *faults)
                job.wait_for(lambda e: e.get("exit") and e["id"] == "w4", "the fourth end")
                self.place.answer("stop", name)  # the next one begins after 1.6 s
                job.end()
                end = job.events[-1]
                check_fields(job.events)
                self.assertEqual((end["event"], end["state"], end["epochs"], end["metrics"]),
                                 ("finished", "stopped", 0, {}))
                self.assertGreater(end["seconds"], 0)
                if name == "lost":
                    self.assertEqual((end["steps"], end["samples"], end["state_hash"]), (0, 0, ""))
                    continue
                self.assertGreaterEqual(end["steps"], 1)
                self.assertEqual(end["samples"], 64 * end["steps"])
                kept = self.place.directory(name) / "checkpoints" / str(end["steps"])
                self.assertEqual(end["state_hash"],
                                 self.place.answer("hash", str(kept))["state_hash"])


class Looking(Scene):
    """The commands that read, of a job that runs and of one that has ended."""
    STATUS = ("job state reason generation step steps epoch position loss samples_per_second "
              "seconds_left progress min max wanted logical_workers useful_sizes leader store "
              "checkpoint workers").split()

    def stands(self, status):
        """Step, epoch and position are of one moment: 23 steps are an epoch."""
        step = status["step"]
        self.assertEqual((status["epoch"], status["position"]), (step // 23, step % 23 * 64))

    def test_a_job_that_runs(self):
        job = self.place.run("j", "--workers=3", f"--steps={LONG}", EVERY)
        job.wait_for(lambda e: e["event"] == "checkpoint", "a checkpoint")
        status = self.place.answer("status", "j")
        self.assertEqual([f for f in self.STATUS if f not in status], [])
        self.assertEqual((status["state"], status["steps"], status["wanted"]), ("running", LONG, 3))
        self.stands(status)
        self.assertEqual(status["useful_sizes"], [1, 2, 3, 4, 8])
        self.assertTrue(status["store"]["reachable"])
        leader = self.place.answer("leader", "j")
        self.assertEqual(leader["id"], status["leader"])
        self.assertEqual([w["id"] for w in status["workers"] if w["leader"]], [leader["id"]])
        send(job.alive()["w2"], signal.SIGKILL)
        job.wait_for(lambda e: e["event"] == "view" and e["cause"] == "join" and "pause_ms" in e,
                     "a join")
        explained = self.place.answers("explain", "j")
        self.assertEqual(explained[1]["cause"], "death")
        self.assertEqual(explained[1]["who"], "w2")
        self.assertEqual([e["generation"] for e in explained],
                         sorted({e["generation"] for e in explained}))
        self.assertEqual(self.place.answer("verify", "j")["verdict"], "proven")
        self.stands(self.place.answer("stop", "j"))
        self.assertEqual(job.end(), 0)
        check_steps(self.place.kept_events("j"))
        self.stands(self.place.answer("status", "j"))

    def test_a_job_that_has_ended(self):
        job = self.place.run("j", "--workers=3", f"--steps={STEPS}", EVERY,
                             "--fault=apply@100=kill")
        events = self.finishes(job, "j")
        status = self.place.answer("status", "j")
        self.assertEqual((status["state"], status["step"], status["progress"]),
                         ("finished", STEPS, 1))
        self.stands(status)
        whole = self.place.run("whole", "--workers=2", "--epochs=2")
        self.assertEqual(whole.end(), 0)
        self.stands(self.place.answer("status", "whole"))
        self.assertEqual(self.place.answer("hash", "j")["state_hash"], events[-1]["state_hash"])
        ledger = self.place.answers("ledger", "j")
        self.assertEqual([record["step"] for record in ledger], list(range(1, STEPS + 1)))
        for field in "generation step epoch position samples applied digest members".split():
            self.assertIn(field, ledger[-1])
        digests = {record["step"]: record["digest"] for record in ledger}
        for event in (e for e in events if e["event"] == "step"):
            self.assertEqual(digests[event["step"]], event["digest"])
        parts = self.place.answer("data", "step", "j", "--step=101")["parts"]
        self.assertEqual([part["v"] for part in parts], list(range(8)))
        self.assertEqual(sum(len(part["indices"]) for part in parts), ledger[100]["samples"])
        views = [e["generation"] for e in events if e["event"] == "view" and "pause_ms" in e]
        self.assertEqual([e["generation"] for e in self.place.answers("explain", "j")], views)
        self.place.edl("leader", "j", code=1)


if __name__ == "__main__":
    EDL = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
