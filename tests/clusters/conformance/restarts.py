"""What a store still knows after all of its processes were killed."""
from conformance.catalog import scenario
from conformance.play import create, op_delete, op_put


@scenario(calm=True)
def everything_survives_kill_9(play):
    play.grant(600, 111)
    play.grant(600)
    play.put("a", "1", lease=111)
    play.put("b", "1")
    play.put("b", "2")
    play.put("d", "1")
    play.txn([op_put("c", "1"), op_delete("d")])
    play.post("kv/compaction", {"revision": play.base + 2})
    play.crash()
    play.range("\0", "\0")
    for revision in range(1, 6):
        play.range("\0", "\0", revision=play.base + revision)
    play.post("lease/leases", {})
    play.post("lease/timetolive", {"ID": 111, "keys": True})
    watch = play.watch(create("\0", "\0", start_revision=play.base + 2, prev_kv=True))
    watch.expect(2)
    gone = play.watch(create("\0", "\0", start_revision=play.base + 1))
    gone.expect(2)
    play.put("a", "2", ignore_lease=True)
    watch.expect()
    play.post("lease/revoke", {"ID": 111})
    watch.expect()
    play.post("kv/compaction", {"revision": play.base + 2})


@scenario(calm=True)
def leases_go_on_after_kill_9(play):
    """A lease has its whole time again, and then it ends."""
    play.grant(3, 121)
    play.put("short", "1", lease=121)
    play.put("long", "1")
    play.crash()
    watch = play.watch(create("short", start_revision=play.base + 1))
    watch.expect()
    watch.expect_events(2)
    play.range("\0", "\0")
    play.post("lease/leases", {})
    play.post("lease/keepalive", {"ID": 121})
