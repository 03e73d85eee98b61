"""Leases: granting, keeping alive, revoking, expiring, and the keys on them."""
from conformance.catalog import scenario
from conformance.play import create, op_delete, op_put

GRANT, REVOKE, ALIVE = "lease/grant", "lease/revoke", "lease/keepalive"
LEFT, LIST = "lease/timetolive", "lease/leases"
TTL_MAX = 9000000000


@scenario
def lease_grants(play):
    for body in ({"TTL": 100, "ID": 31}, {"TTL": 100, "ID": 31}, {"TTL": 0, "ID": 31},
                 {"TTL": 600, "ID": -5}, {"TTL": "600", "ID": "32"},
                 {"TTL": 600, "ID": 9223372036854775807}, {"TTL": 600, "ID": -9223372036854775808},
                 {"TTL": TTL_MAX, "ID": 33}, {"TTL": TTL_MAX + 1, "ID": 34},
                 {"TTL": TTL_MAX + 1, "ID": 31}, {"TTL": 9223372036854775807, "ID": 34},
                 {"TTL": 600, "ID": "18446744073709551615"}, {"TTL": "x", "ID": 35}):
        play.post(GRANT, body)
    for ttl in (600, 601, 602):
        play.grant(ttl)
    play.post(LIST, {})
    for number in (31, -5, 32, 33, 34):
        play.post(LEFT, {"ID": number})


@scenario
def short_leases_are_made_longer(play):
    for ttl in (0, 1, -1, -9223372036854775808, 2, 3):
        play.grant(ttl)
    for number, ttl in enumerate((0, 1, -1, 2, 3), 41):
        play.grant(ttl, number)
    play.post(GRANT, {})
    play.post(GRANT, {"ttl": 50})
    play.post(GRANT, {"TTL": None})


@scenario
def leases_that_are_not_there(play):
    play.put("a", "1", lease=51)
    play.post(REVOKE, {"ID": 51})
    play.post(REVOKE, {})
    play.post(ALIVE, {"ID": 51})
    play.post(ALIVE, {})
    for body in ({"ID": 51}, {"ID": 51, "keys": True}, {}, {"ID": 0}, {"ID": -1}):
        play.post(LEFT, body)
    play.post(LIST, {})
    play.post(LIST, {"unknown": 1})


@scenario
def keeping_leases_alive(play):
    play.grant(100, 61)
    play.grant(200, 62)
    play.post(ALIVE, {"ID": 61})
    play.post(ALIVE, {"ID": "62"})
    play.post(ALIVE, '{"ID":61}{"ID":63}\n {"ID":62} ')
    play.post(ALIVE, '{"ID":61}{"ID":62}{"ID":61}{"ID":62}')
    play.post(REVOKE, {"ID": 61})
    play.post(ALIVE, '{"ID":61}{"ID":62}')
    play.post(LEFT, {"ID": 62})


@scenario
def keepalive_bodies(play):
    """A wrong first value is an error of its own kind; a wrong later one ends the answer."""
    play.grant(100, 64)
    for body in ("", "  ", "{}", "null", "x", "{", "[]", '"x"', "1", '{"ID":"x"}', '{"ID":1.5}',
                 '{"ID":true}', '{"id":64}', '{"ID":64} x', '{"ID":64}{', '{"ID":64}[]',
                 '{"ID":64}{"ID":"x"}{"ID":64}', '{"ID":null}', '{"ID":64,"ID":65}'):
        play.post(ALIVE, body)


@scenario
def keys_on_a_lease(play):
    play.grant(100, 71)
    play.grant(100, 72)
    for key in ("k2", "k1", "k3"):
        play.put(key, "1", lease=71)
    play.post(LEFT, {"ID": 71, "keys": True})
    play.post(LEFT, {"ID": 71})
    play.put("k1", "2", lease=72)
    play.put("k2", "2")
    play.put("k3", "2", ignore_lease=True)
    play.range("k", "l")
    for number in (71, 72):
        play.post(LEFT, {"ID": number, "keys": True})
    play.post(REVOKE, {"ID": 71})
    play.range("k", "l")
    play.delete("k1")
    play.post(LEFT, {"ID": 72, "keys": True})
    play.post(REVOKE, {"ID": 72})
    play.range("k", "l")


@scenario
def one_key_twice_on_a_lease(play):
    play.grant(100, 73)
    play.put("a", "1", lease=73)
    play.put("a", "2", lease=73)
    play.post(LEFT, {"ID": 73, "keys": True})
    play.txn([op_put("b", "1", lease=73), op_delete("a")])
    play.post(LEFT, {"ID": 73, "keys": True})
    play.delete("b")
    play.post(LEFT, {"ID": 73, "keys": True})
    play.post(REVOKE, {"ID": 73})
    play.range("\0", "\0")


@scenario
def revoking_deletes_in_one_revision(play):
    play.grant(100, 81)
    watch = play.watch(create("\0", "\0", prev_kv=True))
    watch.expect()
    for key in ("z", "b", "m", "a"):
        play.put(key, "of " + key, lease=81)
        watch.expect()
    play.post(REVOKE, {"ID": 81})
    watch.expect()
    play.post(REVOKE, {"ID": 81})
    watch.expect_quiet()
    play.grant(100, 81)
    play.post(REVOKE, {"ID": 81})
    play.range("\0", "\0")
    play.put("a", "1", lease=81)
    play.post("/v3/kv/lease/revoke", {"ID": 81})
    play.post("/v3/kv/lease/timetolive", {"ID": 81})
    play.post("/v3/kv/lease/leases", {})


@scenario
def many_keys_on_a_lease(play):
    play.grant(100, 82)
    for part in range(3):
        play.txn([op_put(f"many/{part}/{i}", "v", lease=82) for i in range(100)])
    watch = play.watch(create("many/", "many0"))
    watch.expect()
    play.post(LEFT, {"ID": 82, "keys": True})
    play.post(REVOKE, {"ID": 82})
    watch.expect_events(300)
    play.range("many/", "many0", count_only=True)


@scenario(calm=True)
def leases_expire_in_order(play):
    """Each takes its keys in one revision; who is kept alive stays."""
    for number, ttl in ((91, 2), (92, 6), (93, 4), (94, 4000)):
        play.grant(ttl, number)
        play.put(f"x/{number}/b", "1", lease=number)
        play.put(f"x/{number}/a", "1", lease=number)
    watch = play.watch(create("x/", "x0", prev_kv=True))
    watch.expect(4)
    play.range("x/", "x0")
    play.post(LIST, {})
    for number in (91, 94):
        play.post(LEFT, {"ID": number, "keys": True})
    play.put("y", "1", lease=91)
    play.put("y", "1", lease=94)
    play.post(ALIVE, '{"ID":91}{"ID":94}')
    play.post(REVOKE, {"ID": 91})


@scenario(calm=True)
def a_lease_lives_as_long_as_it_is_kept(play):
    play.grant(2, 95)
    play.put("kept", "1", lease=95)
    for _ in range(5):
        play.wait(0.8)
        play.post(ALIVE, {"ID": 95})
    play.range("kept")
    watch = play.watch(create("kept"))
    watch.expect(2)
    play.range("kept")


@scenario(alone=True)
def leases_are_listed_by_expiry(play):
    """Only a leader knows the times, so three members list them in any order."""
    for number, ttl in ((101, 500), (102, 300), (103, 400), (104, 900), (105, 100)):
        play.grant(ttl, number)
    play.post(LIST, {}, in_order=True)
    play.post(REVOKE, {"ID": 102})
    play.post(LIST, {}, in_order=True)
