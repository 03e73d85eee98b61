"""Watches. On HTTP/1.1 etcd answers a watch only when the body of the request has ended (an open
chunked body gets no answer), so all requests of a stream stand in its one body, one after the
other, and later ones need another connection."""
from conformance.catalog import scenario
from conformance.play import b64, create, op_delete, op_put, op_txn


@scenario
def watch_one_key(play):
    watch = play.watch(create("a"))
    watch.expect()
    play.put("a", "1")
    watch.expect()
    play.put("b", "1")
    play.put("a", "")
    watch.expect()
    play.delete("a")
    watch.expect()
    play.delete("a")
    play.put("aa", "1")
    watch.expect_quiet()
    play.put("a", "2")
    watch.expect()


@scenario
def watch_ranges(play):
    """A prefix, from a key on, everything, without a key, and ranges that hold nothing."""
    watches = [play.watch(one) for one in (
        create("p/", "p0"), create("p/", "\0"), create("\0", "\0"), create(),
        create(None, "\0"), create("p/a", "p/a\0"))]
    for watch in watches:
        watch.expect()
    seen = {"p/a": (0, 1, 2, 4, 5), "p/": (0, 1, 2, 4), "p0": (1, 2, 4), "o": (2, 4),
            "\0": (2, 3, 4), "\xff": (1, 2, 4), "p": (2, 4)}
    for key, whose in seen.items():
        play.put(key, "1")
        for number in whose:
            watches[number].expect()
    play.delete("p/", "p0")
    for number in (0, 1, 2, 4, 5):
        watches[number].expect()
    for watch in watches:
        watch.expect_quiet()
    for ends in (("b", "a"), ("b", "b"), ("\xff", "a")):
        wrong = play.watch(create(*ends))
        wrong.expect()
        wrong.expect_quiet()


@scenario
def watch_from_the_past(play):
    play.put("a", "1")
    play.put("b", "1")
    play.put("a", "2")
    play.txn([op_put("c", "1"), op_delete("b"), op_put("a", "3")])
    play.delete("a", "z")
    for start in range(1, 6):
        for prev in (False, True):
            watch = play.watch(create("a", "z", start_revision=play.base + start, prev_kv=prev))
            watch.expect(2)
            watch.close()
    one = play.watch(create("b", start_revision=play.base + 1))
    one.expect(2)
    play.put("b", "2")
    one.expect()
    none = play.watch(create("none", start_revision=play.base + 1))
    none.expect()
    none.expect_quiet()


@scenario
def watch_from_now_and_from_the_future(play):
    play.put("a", "1")
    now = play.watch(create("a", start_revision=0))
    following = play.watch(create("a", start_revision=play.base + 2))
    future = play.watch(create("a", start_revision=play.base + 4))
    for watch in (now, following, future):
        watch.expect()
        watch.expect_quiet()
    for number in range(2, 6):
        play.put("a", str(number))
        now.expect()
        following.expect()
        if number >= 4:
            future.expect()
    future.expect_quiet()


@scenario
def watch_filters(play):
    lists = (["NOPUT"], ["NODELETE"], ["NOPUT", "NODELETE"], [], [0], [1], [9], ["NOPUT", "NOPUT"])
    watches = [play.watch(create("a", "c", filters=one)) for one in lists]
    for watch in watches:
        watch.expect()
    play.put("a", "1")
    play.txn([op_put("b", "1"), op_delete("a")])
    play.txn([op_delete("b"), op_put("a", "1")])
    play.delete("a", "c")
    for number, messages in enumerate((3, 3, 0, 4, 3, 3, 4, 3)):
        watches[number].expect(messages)
        watches[number].expect_quiet()
    for one in lists:
        again = play.watch(create("a", "c", filters=one, start_revision=play.base + 1))
        again.expect(1 if len(set(one)) == 2 else 2)
        again.expect_quiet()


@scenario
def watch_previous_values(play):
    play.put("a", "1")
    watch = play.watch(create("a", "c", prev_kv=True))
    watch.expect()
    play.put("a", "2")
    watch.expect()
    play.txn([op_put("a", "3"), op_put("b", "1")])
    watch.expect()
    play.delete("a", "c")
    watch.expect()
    play.put("a", "4")
    watch.expect()
    play.txn([op_delete("a"), op_delete("a")])
    watch.expect()


@scenario
def watch_transactions(play):
    """All events of a transaction in one message, in the order of its operations."""
    watch = play.watch(create("\0", "\0"))
    part = play.watch(create("b", "d"))
    watch.expect()
    part.expect()
    play.txn([op_put("c", "1"), op_put("a", "1"), op_put("b", "1"), op_delete("none")])
    watch.expect()
    part.expect()
    play.txn([op_put("z", "1"), op_delete("a", "d"), op_txn([op_put("y", "1")])])
    watch.expect()
    part.expect()
    play.txn([op_txn([op_put("m", "1")]), op_txn([op_delete("m", "\0")])])
    watch.expect()
    play.txn([op_delete("none")])
    watch.expect_quiet()
    part.expect_quiet()


@scenario
def several_watches_on_one_stream(play):
    watch = play.watch(create("a", watch_id=5), create("b", watch_id=5), create("b"), create("a"),
                       create("c", watch_id=1), create("c", watch_id=-7), create("b", "a"),
                       create("c", watch_id=2), create("z"))
    watch.expect(9)
    for key, messages in (("a", 2), ("b", 1), ("c", 2), ("z", 1)):
        play.put(key, "1")
        watch.expect(messages, sort=True)
    watch.expect_quiet()


@scenario
def server_ids_skip_given_ones(play):
    watch = play.watch(create("a", watch_id=1), create("a"), create("a"), create("a", watch_id=0))
    watch.expect(4)
    other = play.watch(create("a", watch_id="3"), create("a"), create("b", watch_id=3))
    other.expect(3)
    play.put("a", "1")
    watch.expect(4, sort=True)
    other.expect(2, sort=True)


@scenario
def canceling_watches(play):
    watch = play.watch(create("a", watch_id=5), {"cancel_request": {"watch_id": 5}},
                       create("b", watch_id=5), {"cancel_request": {"watch_id": 6}})
    watch.expect(3)
    play.put("a", "1")
    play.put("b", "1")
    watch.expect()
    watch.expect_quiet()
    zero = play.watch(create("a"), {"cancelRequest": {}}, create("b"), {"cancel_request": {}},
                      {"cancel_request": {"watchId": "1"}})
    zero.expect(4)
    play.put("b", "2")
    zero.expect_quiet()
    unknown = play.watch({"cancel_request": {"watch_id": 1}})
    unknown.expect_quiet()


@scenario
def asking_for_progress(play):
    play.put("a", "1")
    watch = play.watch(create("a"), {"progress_request": {}})
    watch.expect(2)
    alone = play.watch({"progressRequest": {}})
    alone.expect()
    play.put("a", "2")
    watch.expect()
    alone.expect_quiet()
    notified = play.watch(create("a", progress_notify=True, fragment=True))
    notified.expect()
    play.put("a", "3")
    notified.expect()


@scenario
def watch_across_a_compaction(play):
    for number in range(6):
        play.put("a", str(number))
    base = play.base
    live = play.watch(create("a"))
    live.expect()
    play.post("kv/compaction", {"revision": base + 4})
    for start in (1, base, base + 3):
        gone = play.watch(create("a", start_revision=start))
        gone.expect(2)
        gone.expect_quiet()
    for start in (base + 4, base + 5):
        held = play.watch(create("a", start_revision=start, prev_kv=True))
        held.expect(2)
    mixed = play.watch(create("a", start_revision=1, watch_id=4), create("b"),
                       create("b", start_revision=2))
    mixed.expect(3)
    mixed.expect(2, sort=True)
    play.put("b", "1")
    mixed.expect()
    negative = play.watch(create("a", start_revision=-5))
    negative.expect(2)
    play.put("a", "last")
    live.expect()


@scenario
def watch_requests_that_say_nothing(play):
    for body in ("{}", "", "null", '{"create_request":null}', '{"unknown":1}', "  "):
        watch = play.watch(body)
        watch.expect_quiet()
        watch.close()
    later = play.watch("{}", create("a"), "null", create("a"))
    later.expect(2)
    play.put("a", "1")
    later.expect(2, sort=True)


@scenario
def watch_requests_that_are_wrong(play):
    for body in ("x", "[]", "1", '"x"', "{", '{"create_request":[]}', '{"create_request":"x"}',
                 '{"create_request":{"key":1}}', '{"create_request":{"key":"YQ"}}',
                 '{"create_request":{"key":"YQ==","start_revision":"x"}}',
                 '{"create_request":{"key":"YQ==","start_revision":1.5}}',
                 '{"create_request":{"key":"YQ==","filters":["X"]}}',
                 '{"create_request":{"key":"YQ==","filters":"NOPUT"}}',
                 '{"create_request":{"key":"YQ==","filters":[true]}}',
                 '{"create_request":{"key":"YQ==","prev_kv":"true"}}',
                 '{"cancel_request":{"watch_id":"x"}}', '{"progress_request":[]}'):
        watch = play.watch(body)
        watch.expect()
        watch.close()
    living = play.watch(create("a"), "x")
    living.expect()
    play.put("a", "1")
    living.expect()
    names = play.watch('{"createRequest":{"key":"YQ==","rangeEnd":"Yg==","startRevision":"%d",'
                       '"prevKv":true,"watchId":"3","unknown":{"x":1}}}' % (play.base + 1))
    names.expect(2)


@scenario
def long_history(play):
    """1300 events of the past in 26 revisions: one message."""
    for part in range(26):
        play.txn([op_put(f"h/{part}/{i}", "v") for i in range(50)])
    watch = play.watch(create("h/", "h0", start_revision=play.base + 1))
    watch.expect(2)
    play.put("h/", "live")
    watch.expect()


@scenario
def history_of_many_revisions(play):
    """At most 1000 revisions in a message; those that the watch does not see do not count."""
    for number in range(1150):
        play.target.call("/v3/kv/put", {"key": b64(f"h/{number % 2}"), "value": b64(str(number))})
    play.range("h/", "h0")
    for ends, messages in ((("h/", "h0"), 3), (("h/1",), 2)):
        watch = play.watch(create(*ends, start_revision=play.base + 1))
        watch.expect(messages)
        watch.expect_quiet()
    play.put("h/1", "live")
    watch.expect()
