"""Reading: ranges, orders, limits, revisions, and strange keys."""
from conformance.catalog import scenario
from conformance.play import b64

FRUIT = [("p/d", "3"), ("p/b", "1"), ("p/e", "5"), ("p/a", "4"), ("p/c", "2")]


def fill(play):
    """Five keys whose orders by key, version, creation, change and value all differ."""
    for key, value in FRUIT:
        play.put(key, value)
    for key, times in (("p/c", 1), ("p/a", 3), ("p/d", 2), ("p/e", 4)):
        for _ in range(times):
            play.put(key, dict(FRUIT)[key])


@scenario
def range_of_one_key(play):
    play.range("nothing")
    play.put("a", "1")
    play.range("a")
    play.range("a", limit=1)
    play.range("a", count_only=True)
    play.range("a", keys_only=True)
    play.range("a", count_only=True, keys_only=True)
    play.range("nothing", count_only=True)
    play.put("a", "")
    play.range("a")
    play.range("a", "")
    play.post("kv/range", {})
    play.post("kv/range", {"key": ""})
    play.post("kv/range", {"key": "", "range_end": b64("z")})
    play.post("kv/range", {"range_end": b64("\0")})


@scenario
def range_order_and_target(play):
    """Every order by every target, with and without a limit."""
    fill(play)
    for order in ("NONE", "ASCEND", "DESCEND"):
        for target in ("KEY", "VERSION", "CREATE", "MOD", "VALUE"):
            play.range("p/", "p0", sort_order=order, sort_target=target)
            play.range("p/", "p0", sort_order=order, sort_target=target, limit=2)
    play.range("p/", "p0", sort_target="MOD")
    play.range("p/", "p0", sort_order="DESCEND")
    play.range("p/", "p0", sort_order=2, sort_target=3)
    play.range("p/", "p0", sort_order=7)
    play.range("p/", "p0", sort_order="DESCEND", keys_only=True)
    play.range("p/", "p0", sort_order="DESCEND", count_only=True)


@scenario
def range_ties_keep_the_order_of_keys(play):
    for key in "edcba":
        play.put("t/" + key, "same" if key != "c" else "other")
    for target in ("VERSION", "VALUE"):
        for order in ("ASCEND", "DESCEND"):
            play.range("t/", "t0", sort_order=order, sort_target=target)


@scenario
def range_limits(play):
    fill(play)
    for limit in (-1, 0, 1, 4, 5, 6, 9223372036854775807):
        play.range("p/", "p0", limit=limit)
        play.range("p/", "p0", limit=limit, count_only=True)
        play.range("p/", "p0", limit=limit, keys_only=True)


@scenario
def range_revision_filters(play):
    """min and max of mod and create revisions, alone and together, with limit and order."""
    fill(play)
    first, last = play.base + 1, play.base + 15
    for name in ("mod", "create"):
        for low in (0, -1, first, first + 2, first + 6, last, last + 100):
            play.range("p/", "p0", **{f"min_{name}_revision": low})
            play.range("p/", "p0", **{f"max_{name}_revision": low})
        play.range("p/", "p0", limit=1, **{f"min_{name}_revision": first + 2})
        play.range("p/", "p0", limit=2, sort_order="DESCEND", **{f"max_{name}_revision": first + 8})
        play.range("p/", "p0", count_only=True, **{f"min_{name}_revision": first + 6})
    play.range("p/", "p0", min_mod_revision=first + 3, max_mod_revision=last - 2,
               min_create_revision=first + 1, max_create_revision=first + 3)
    play.range("p/a", min_mod_revision=last + 1)


@scenario
def range_at_revisions(play):
    play.put("a", "1")
    play.put("b", "1")
    play.put("a", "2")
    play.delete("b")
    play.delete("a")
    play.put("a", "3")
    for revision in range(-2, 9):
        wanted = play.base + revision if revision > 0 else revision
        play.range("a", revision=wanted)
        play.range("a", "c", revision=wanted)
        play.range("a", "c", revision=wanted, count_only=True)
    play.range("a", revision=play.base)
    play.range("a", revision=play.base - 1)
    play.range("a", revision=9223372036854775807)
    play.range("a", revision=-9223372036854775808)
    play.range("nothing", revision=play.base + 100)
    play.range("b", "a", revision=play.base + 100)


@scenario
def range_serializable(play):
    play.put("a", "1")
    play.put("a", "2")
    play.range("a", serializable=True)
    play.range("a", serializable=True, revision=play.base + 1)
    play.range("a", serializable=True, revision=play.base + 10)
    play.range("a", serializable=True, revision=play.base - 1)
    play.range("a", "b", serializable=True, count_only=True)


@scenario
def range_ends(play):
    """Prefixes, from a key on, everything, nothing."""
    for key in ("a", "ab", "abc", "b", "ba", "c"):
        play.put(key, key)
    play.range("a", "b")
    play.range("ab", "ac")
    play.range("a", "a\0")
    play.range("ab", "\0")
    play.range("b\0", "\0")
    play.range("zzz", "\0")
    play.range("\0", "\0")
    play.range("\0", "b")
    play.range("\0")
    play.range("b", "a")
    play.range("b", "b")
    play.range("a", "\0\0")
    play.range("a", "\xff")
    play.range("c", "\xff\xff")
    play.range("\0", "\0", limit=2, keys_only=True)
    play.range("\0", "\0", count_only=True)


@scenario
def range_binary_and_large_keys(play):
    keys = ("\0", "\0\0", "\0a", "\xff", "\xff\xff", "a\0b", "a\xffb", "\x80\xc3", "/\\\"'\n\r\t",
            "<>&", "k" * 20000)
    for key in keys:
        play.put(key, key[::-1])
    for key in keys:
        play.range(key)
    play.range("\0", "\0", keys_only=True)
    play.range("\xff", "\0")
    play.range("\0", "a")
    play.range("k" * 19999, "\xff", count_only=True)
    play.delete("\0", "\1", prev_kv=True)
    play.range("\0", "\0", keys_only=True)


@scenario
def compaction(play):
    for number in range(6):
        play.put("a", str(number))
    play.put("b", "1")
    play.delete("b")
    base = play.base
    play.post("kv/compaction", {"revision": base + 100})
    play.post("kv/compaction", {"revision": base + 3})
    play.post("kv/compaction", {"revision": base + 3})
    play.post("kv/compaction", {"revision": base + 2})
    for wrong in ({}, {"revision": 0}, {"revision": -1}, {"revision": base}):
        play.post("kv/compaction", wrong)
    for revision in range(1, 9):
        play.range("a", "c", revision=base + revision)
    play.post("kv/compaction", {"revision": base + 7, "physical": True})
    play.range("b", revision=base + 7)
    play.range("b", revision=base + 6)
    play.txn([{"request_range": {"key": b64("a"), "revision": base + 6}}])
    play.txn([{"request_range": {"key": b64("a"), "revision": base + 7}}])
    play.post("kv/compaction", {"revision": base + 8})
    play.range("a", "c", revision=base + 7)
    play.range("a", "c", revision=base + 8)
    play.range("a", "c")
    play.post("kv/compaction", {"revision": base + 9})
    play.put("a", "again")
    play.range("a")


@scenario(fresh=True)
def compaction_of_a_new_store(play):
    """The very first requests: a store that has never been compacted takes revision 0 once."""
    play.range("\0", "\0")
    play.range("a", revision=1)
    play.range("a", revision=2)
    play.post("kv/compaction", {"revision": 2})
    play.post("kv/compaction", {"revision": 0})
    play.post("kv/compaction", {"revision": 0})
    play.post("kv/compaction", {"revision": 1})
    play.post("kv/compaction", {"revision": 1})
    play.range("a", revision=1)
    play.post("lease/leases", {})
    play.txn()
    play.post("maintenance/status", {})
