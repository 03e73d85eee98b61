#!/usr/bin/python3
"""A job in mode stop-resume with a second agent (`edl join`): it lends workers, takes them away, is
killed, and outlives the agent of `edl run`.
Run as: stop_resume_join_test.py PATH_OF_EDL [unittest options]"""

import shutil
import signal
import subprocess

from stop_resume_scene import Scene, main
from train_job import PATIENCE


class Joining(Scene):
    """A second agent; its lease and its workers are real, only the machine is the same."""

    def setUp(self):
        super().setUp()
        self.store = subprocess.Popen(
            [self.edl_path, "store", "serve", "--listen=127.0.0.1:0", "--data=s"], cwd=self.folder,
            stdout=subprocess.PIPE, text=True)
        self.url = self.store.stdout.readline().split()[-1]

    def tearDown(self):
        self.store.terminate()
        self.store.communicate(timeout=PATIENCE)
        super().tearDown()

    def join(self, workers, *options):
        return self.place.start("join", "--json", f"--store={self.url}", "--job=j", "--dir=guest",
                                f"--workers={workers}", "--secret-file=edl-jobs/j/secret",
                                "--address=127.0.0.1", *options, "/usr/bin/python3", "train.py",
                                "0.05")

    def begin(self, *options):
        job = self.train(f"--store={self.url}", *options)
        self.wait_for_steps(job.wait_members(1), 4)
        return job

    def merge_logs(self):
        for path in (self.folder / "guest/log").glob("worker-*.log"):
            shutil.copy(path, self.place.directory("j") / "log" / path.name)

    def test_another_agent_lends_workers_and_takes_them_away(self):
        job = self.begin("--workers=1:4", "--start=1")
        guest = self.join(2)
        three = job.wait_members(3)
        self.assertEqual((three["cause"], three["who"]), ("join", "edl join"))
        self.wait_for_steps(three, 4)
        self.assertEqual(len(guest.alive()), 2)
        guest.process.send_signal(signal.SIGINT)
        self.assertEqual(guest.end(), 0, guest.account())
        alone = job.wait_for(lambda e: e["event"] == "view" and e["generation"] > 2
                             and len(e["members"]) == 1, "alone again")
        self.assertEqual(alone["cause"], "leave")
        self.assertEqual(set(guest.ends().values()), {"left"})
        self.assertEqual(job.end(), 0, job.account())
        self.merge_logs()
        self.check_training()

    def test_an_agent_that_is_killed_is_done_without(self):
        job = self.begin("--workers=1:4", "--start=1", "--grace=1s")
        guest = self.join(1, "--grace=1s")
        self.wait_for_steps(job.wait_members(2), 4)
        guest.process.kill()
        place = len(job.events)
        view = job.wait_members(2, after=place)
        self.assertEqual(view["cause"], "death")
        self.assertEqual(job.end(), 0, job.account())
        self.merge_logs()
        self.check_training()

    def test_a_guest_waits_for_a_run_that_was_killed_and_resumed(self):
        job = self.begin("--workers=1:4", "--start=1")
        guest = self.join(1)
        self.wait_for_steps(job.wait_members(2), 4)
        job.process.kill()
        guest.wait_for(lambda e: e["event"] == "worker" and e["state"] == "exited", "its end")
        job = self.place.start("resume", "--json", "--workers=1:4", "--start=2", "j")
        view = job.wait_members(2)
        self.assertEqual(view["cause"], "resume")
        self.assertEqual(job.end(), 0, job.account())
        self.assertEqual(guest.end(), 0, guest.account())
        self.merge_logs()
        self.check_training()


if __name__ == "__main__":
    main()
