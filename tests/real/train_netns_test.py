#!/usr/bin/python3
"""A job over three machines (network namespaces): cut cables, dead agents, dead machines. The
model has the bits of one worker that nobody disturbed.
Run as: train_netns_test.py PATH_OF_EDL [unittest options]"""

import json
import sys
import time
import unittest
from pathlib import Path

import train_job
from train_hosts import Hosts, skip_without_namespaces
from train_job import Place, Wrong, check_fields, check_steps

EDL = "edl"  # argv[1]
ETCD = "/usr/bin/etcd"
HOSTS = (1, 2, 3)
EVERY = 30  # steps from checkpoint to checkpoint
LONG = 1000000  # steps of a job that is ended by the test
PROGRAM = ["builtin:mlp", "--work=2"]


class Scene(unittest.TestCase):
    """`edl run` and the store on host 1, `edl join` on hosts 2 and 3; one worker each."""
    token = ["--token-file=token"]

    def setUp(self):
        self.place = Place(EDL)
        self.hosts = Hosts(self.place)
        self.addCleanup(self.place.close)
        self.addCleanup(self.hosts.close)
        token = Path(self.place.folder) / "token"
        token.write_text("a-token-for-this-test-only\n")
        token.chmod(0o600)
        secret = Path(self.place.folder) / "secret"
        secret.write_text("0123456789abcdef0123456789abcdef\n")
        secret.chmod(0o600)

    def start_store(self):
        log = Path(self.place.folder) / "store.log"
        self.hosts.spawn(1, [EDL, "store", "serve", f"--listen={self.hosts.address(1)}:2379",
                             "--data=store", "--token-file=token"], log)
        return f"http://{self.hosts.address(1)}:2379"

    def common(self, host, urls):
        return [f"--store={urls}", *self.own(host)]

    def own(self, host):
        return ["--json", *self.token, "--secret-file=secret",
                f"--address={self.hosts.address(host)}"]

    def run_job(self, urls, workers=1):
        return self.hosts.start(1, [EDL, "run", *self.common(1, urls), "--name=j", "--workers=1:6",
                                    f"--start={workers}", f"--steps={LONG}",
                                    f"--checkpoint-every={EVERY}steps", *PROGRAM])

    def join(self, host, urls, number=0):
        return self.hosts.start(host, [EDL, "join", *self.common(host, urls), "--job=j",
                                       f"--dir=guest-{host}-{number}", "--workers=1", *PROGRAM])

    def three(self, urls):
        """A job with a worker on each host."""
        job = self.run_job(urls)
        job.wait_step(5)
        guests = [self.join(host, urls) for host in (2, 3)]
        job.wait_members(3)
        return job, guests

    def goes_on(self, job, place, members=None):
        """A view after this place, if asked for with so many members, and steps in it."""
        view = job.wait_for(lambda e: e["event"] == "view" and "pause_ms" in e
                            and members in (None, len(e["members"])),
                            f"a view of {members} members", place)
        job.wait_for(lambda e: e["event"] == "step" and e["generation"] >= view["generation"],
                     f"a step of view {view['generation']}", place)
        return view

    def stops(self, job):
        """It is as far as the reference, and every step is proven."""
        self.hosts.heal()
        self.stop_from(1)
        self.assertEqual(job.end(), 0, job.account())
        last = job.events[-1]["steps"]
        reference = self.place.run("reference", "--workers=1", f"--steps={last}",
                                   "--checkpoint-every=off")
        self.assertEqual(reference.end(), 0, reference.account())
        kept = list(Path(self.place.folder).glob(f"**/checkpoints/{last}/model.safetensors"))
        kept = [path for path in kept if "reference" not in str(path)]
        self.assertTrue(kept, f"there is no checkpoint of step {last}")
        self.assertEqual(kept[0].read_bytes(), self.place.model("reference"))
        self.place.edl("verify", "j")
        events = self.place.kept_events("j")
        check_fields(events)
        check_steps(events)

    def stop_from(self, host):
        done = self.hosts.start(host, [EDL, "stop", "j", *self.token, "--json"])
        if done.end() != 0:
            raise Wrong(done.account())


class Cables(Scene):
    def test_a_cut_cable_costs_one_member_and_it_comes_back(self):
        job, _ = self.three(self.start_store())
        place = len(job.events)
        self.hosts.cut(3)
        view = self.goes_on(job, place, 2)
        self.assertNotIn("host-3", [m["host"] for m in view["members"]])
        place = len(job.events)
        self.hosts.heal()
        self.goes_on(job, place, 3)
        self.stops(job)

    def test_a_cable_that_is_cut_on_one_way(self):
        job, _ = self.three(self.start_store())
        for source, target in ((2, 3), (3, 2), (1, 3), (3, 1)):
            place = len(job.events)
            self.hosts.cut_way(source, target)
            self.goes_on(job, place, 2)
            place = len(job.events)
            self.hosts.heal()
            self.goes_on(job, place, 3)
        self.stops(job)

    def test_the_machine_of_run_and_store_is_cut_off_for_a_while(self):
        job, _ = self.three(self.start_store())
        place = len(job.events)
        self.hosts.cut(1)
        self.goes_on(job, place)
        place = len(job.events)
        self.hosts.heal()
        self.goes_on(job, place, 3)
        self.stops(job)


class Deaths(Scene):
    def test_a_killed_agent_takes_its_worker_along_and_the_others_go_on(self):
        job, guests = self.three(self.start_store())
        place = len(job.events)
        guests[0].process.kill()
        self.assertEqual(guests[0].process.wait(), -9)
        self.goes_on(job, place, 2)
        self.stops(job)

    def test_a_machine_dies_and_another_comes(self):
        urls = self.start_store()
        job, _ = self.three(urls)
        place = len(job.events)
        self.hosts.kill(3)
        self.goes_on(job, place, 2)
        self.hosts.heal()
        place = len(job.events)
        self.join(3, urls, number=1)
        self.goes_on(job, place, 3)
        self.stops(job)


class OnEtcd(Scene):
    """Each host has a member of etcd; each dies in turn, with all that runs there."""
    token = []

    def setUp(self):
        if not Path(ETCD).exists():
            self.skipTest(f"there is no {ETCD} on this machine")
        super().setUp()

    def start_etcd(self, host):
        own = self.hosts.address(host)
        cluster = ",".join(f"m{i}=http://{self.hosts.address(i)}:2380" for i in HOSTS)
        self.hosts.spawn(host, [ETCD, "--name", f"m{host}", "--data-dir", f"etcd-{host}",
                                "--listen-client-urls", f"http://{own}:2379",
                                "--advertise-client-urls", f"http://{own}:2379",
                                "--listen-peer-urls", f"http://{own}:2380",
                                "--initial-advertise-peer-urls", f"http://{own}:2380",
                                "--initial-cluster", cluster, "--initial-cluster-state", "new"],
                         Path(self.place.folder) / f"etcd-{host}.log")

    def progress(self, host, urls):
        """The step that the job says it has reached, or -1; asked from this host."""
        asked = self.hosts.start(host, [EDL, "store", "get", "/edl/v1/jobs/j/progress",
                                        f"--endpoint={urls}", "--json"])
        if asked.end() != 0 or not asked.events:
            return -1
        return json.loads(asked.events[0]["value"])["step"]

    def wait_progress(self, host, urls, beyond):
        deadline = time.monotonic() + train_job.PATIENCE
        while (step := self.progress(host, urls)) <= beyond:
            if time.monotonic() > deadline:
                raise Wrong(f"no step after {beyond}: {step}")
            time.sleep(0.2)
        return step

    def test_each_machine_dies_in_turn(self):
        for host in HOSTS:
            self.start_etcd(host)
        urls = ",".join(f"http://{self.hosts.address(i)}:2379" for i in HOSTS)
        self.wait_for_store(urls)
        job, _ = self.three(urls)
        for host in (3, 2, 1):
            place = len(job.events)
            self.hosts.kill(host)
            if host == 1:
                other = self.progress(2, urls)
                # All checkpoints that the store remembers are the others' by then.
                self.wait_progress(2, urls, other + 5 * EVERY)
            else:
                self.goes_on(job, place, 2)
            self.hosts.heal()
            self.start_etcd(host)
            place = len(job.events)
            if host == 1:
                job = self.hosts.start(1, [EDL, "resume", *self.own(1), "--workers=1:6",
                                           "--start=3", "j"])
                place = 0
            else:
                self.join(host, urls, number=1)
            self.goes_on(job, place, 3)
        self.stops(job)

    def wait_for_store(self, urls):
        deadline = time.monotonic() + train_job.PATIENCE
        ask = [EDL, "store", "status", f"--endpoint={urls}", "--json"]
        while self.hosts.start(1, ask).end() != 0:
            if time.monotonic() > deadline:
                raise Wrong("etcd does not answer")
            time.sleep(0.2)


if __name__ == "__main__":
    EDL = str(Path(sys.argv.pop(1)).resolve())
    skip_without_namespaces()
    unittest.main()
