"""Transactions: compares, branches, nesting, duplicates, limits."""
from conformance.catalog import scenario
from conformance.play import (b64, compare, op_delete, op_put, op_range, op_txn)

RESULTS = ("EQUAL", "GREATER", "LESS", "NOT_EQUAL")
NUMBERS = {"VERSION": "version", "CREATE": "create_revision", "MOD": "mod_revision",
           "LEASE": "lease"}


@scenario
def compare_numbers(play):
    """VERSION, CREATE, MOD and LEASE, every result, around the value; on a key and on none."""
    play.grant(600, 21)
    play.put("other")
    play.put("a", "1")
    play.put("a", "2", lease=21)
    true = {"VERSION": 2, "CREATE": play.base + 2, "MOD": play.base + 3, "LEASE": 21}
    for target, field in NUMBERS.items():
        for result in RESULTS:
            for wanted in (true[target] - 1, true[target], true[target] + 1):
                play.txn(compare=[compare("a", target, result, **{field: wanted})])
            for wanted in (-1, 0, 1):
                play.txn(compare=[compare("none", target, result, **{field: wanted})])


@scenario
def compare_values(play):
    play.put("a", "mm")
    play.put("empty", "")
    for key in ("a", "empty", "none"):
        for result in RESULTS:
            for wanted in ("", "m", "mm", "mmm", "z", "\xff"):
                play.txn(compare=[compare(key, "VALUE", result, value=b64(wanted))])


@scenario
def compare_without_a_wanted_value(play):
    play.put("a", "1")
    for target in (*NUMBERS, "VALUE"):
        for key in ("a", "none"):
            for result in RESULTS:
                play.txn(compare=[compare(key, target, result)])
    play.txn(compare=[{"key": b64("a")}])
    play.txn(compare=[{"key": b64("none")}])
    play.txn(compare=[{"key": b64("a"), "target": "VALUE", "version": 1}])
    play.txn(compare=[{"key": b64("a"), "target": 9, "version": 1}])
    play.txn(compare=[{"key": b64("a"), "target": "VERSION", "result": 9, "version": 5}])
    play.txn(compare=[{"key": b64("a"), "target": 0, "result": 0, "version": 1}])
    play.txn(compare=[{"key": b64("a"), "target": 3, "result": 3, "value": b64("2")}])


@scenario
def compare_ranges(play):
    for key in ("a", "ab", "b", "c"):
        play.put(key, key)
    play.put("b", "b")
    for result in RESULTS:
        for wanted in (0, 1, 2):
            for ends in (("a", "b"), ("a", "c"), ("a", "\0"), ("\0", "\0"), ("x", "z"),
                         ("b", "a")):
                play.txn(compare=[compare(ends[0], "VERSION", result, ends[1], version=wanted)])
        play.txn(compare=[compare("x", "VALUE", result, "z", value="")])
        play.txn(compare=[compare("a", "VALUE", result, "b", value=b64("a"))])
        play.txn(compare=[compare("x", "MOD", result, "z", mod_revision=0)])
        play.txn(compare=[compare("a", "LEASE", result, "z", lease=0)])


@scenario
def compare_several(play):
    play.put("a", "1")
    yes = compare("a", "VALUE", value=b64("1"))
    no = compare("a", "VALUE", value=b64("2"))
    branches = [op_put("yes", "1")], [op_put("no", "1")]
    for compares in ([yes], [no], [yes, yes], [yes, no], [no, yes], [no, no]):
        play.txn(*branches, compare=compares)
    play.txn(*branches, compare=[{}])
    play.txn(*branches, compare=[yes, {"key": ""}])
    play.txn(*branches, compare=[{"range_end": b64("z")}])
    play.range("\0", "\0")


@scenario
def transactions_that_do_nothing(play):
    """They do not raise the revision."""
    play.put("a", "1")
    play.txn()
    play.post("kv/txn", {"success": [], "failure": None})
    play.txn([op_range("a")])
    play.txn([op_range("a"), op_range("none"), op_range("a", "z", count_only=True)])
    play.txn([op_delete("none")])
    play.txn([op_delete("none", prev_kv=True), op_range("a")])
    play.txn([op_txn()])
    play.txn([op_txn([op_delete("none")], compare=[compare("a", "VERSION", version=1)])])
    play.txn(compare=[compare("a", "VERSION", version=9)])
    play.txn([op_put("b")], compare=[compare("a", "VERSION", version=9)])
    play.txn([op_put("b")], [op_range("a")], compare=[compare("a", "VERSION", version=9)])
    play.range("\0", "\0")


@scenario
def transactions_that_write(play):
    play.txn([op_put("a", "1")])
    play.txn([op_put("a", "2"), op_put("b", "1"), op_put("c", "1")])
    play.txn([op_put("a", "3", prev_kv=True), op_delete("b", prev_kv=True), op_delete("none")])
    play.txn([op_delete("none"), op_put("d"), op_delete("none")])
    play.txn([op_delete("a"), op_delete("a"), op_delete("a", "z", prev_kv=True)])
    play.txn([op_delete("a"), op_range("a"), op_put("e", "1"), op_range("a", "z")])
    play.txn([op_put("e", ignore_value=True, prev_kv=True), op_range("e")])
    play.txn([op_put("e", "9")], [op_put("e", "10")], compare=[compare("e", "VERSION", version=2)])
    play.txn([op_put("e", "9")], [op_put("e", "10")], compare=[compare("e", "VERSION", version=2)])
    play.range("\0", "\0")


@scenario
def reads_inside_a_transaction(play):
    play.put("a", "1")
    play.put("b", "1")
    base = play.base
    play.txn([op_range("a", "z"), op_put("a", "2"), op_range("a", "z"), op_put("c"),
              op_delete("b"), op_range("a", "z"), op_range("a", "z", limit=1)])
    play.txn([op_put("a", "3"), op_range("a", revision=base + 1), op_range("a", revision=base + 3)])
    play.txn([op_range("a", revision=base + 100)])
    play.txn([op_range("a", revision=base - 1)])
    play.txn([], [op_range("a", revision=base + 100)])
    play.txn([op_range("a", "z", sort_order="DESCEND", sort_target="VERSION", limit=1),
              op_range("a", "z", min_mod_revision=base + 3, keys_only=True),
              op_range("a", serializable=True)])
    play.range("a", "z")


@scenario(alone=True)
def writes_beside_a_range_that_fails(play):
    """Members of etcd 3.4 that are not asked skip the range and write: they differ for ever."""
    play.put("a", "1")
    base = play.base
    for revision in (base + 2, base + 1, base + 4, base - 1, base + 100):
        play.txn([op_put("a", "2"), op_range("a", revision=revision)])
        play.txn([op_range("a", revision=revision), op_put("b", "2")])
        play.txn([op_put("c", "2"), op_txn([op_range("a", revision=revision)])])
    play.txn([op_put("a", "3")], [op_range("a", revision=base + 100)])
    play.range("\0", "\0")


@scenario
def nested_transactions(play):
    """All compares look at the state before the first operation."""
    made = compare("f", "VERSION", version=1)
    play.txn([op_put("f", "1"), op_txn([op_range("f"), op_txn([op_put("then")], [op_put("else")],
                                                              [made])]), op_range("else")])
    play.txn([op_txn([op_txn([op_txn([op_txn([op_put("deep", "1"), op_range("deep")])])])])])
    play.txn([op_txn([op_put("x", "1")], [op_put("x", "2")], [made]), op_put("y")])
    play.txn([op_delete("none"), op_txn([op_delete("none"), op_range("f")]), op_put("z"),
              op_txn([op_range("z"), op_delete("none")])])
    play.txn([], [op_txn([op_put("w")])], [compare("f", "VERSION", version=7)])
    play.txn([op_txn([op_put("v")], compare=[made]), op_txn([], [op_put("u")], compare=[made])])
    play.txn([op_txn([op_put("v")], compare=[{}])])
    play.txn([op_txn(compare=[compare("f", "VERSION", version=7)])])
    play.range("\0", "\0")


@scenario
def duplicate_keys(play):
    put, drop = op_put("a"), op_delete("a")
    drop_many, drop_from = op_delete("a", "c"), op_delete("a", "\0")
    lists = (
        [put, put], [put, drop], [drop, put], [drop, drop], [put, drop_many], [drop_many, put],
        [op_put("b"), drop_many], [op_put("c"), drop_many], [op_put("b"), drop_from],
        [put, drop_from], [op_delete("b", "a"), op_put("b")], [op_delete("\0", "\0"), put],
        [put, op_txn([put])], [op_txn([put]), put], [put, op_txn([], [put])],
        [op_txn([put], [put])], [op_txn([put]), op_txn([put])], [op_txn([put]), op_txn([], [put])],
        [op_txn([], [put]), op_txn([], [put])], [op_txn([drop]), put],
        [op_txn([], [drop_many]), put],
    [drop, op_txn([put])], [drop_many, op_txn([], [op_put("b")])], [put, op_txn([drop])],
        [op_txn([put]), op_txn([drop])], [op_txn([drop]), op_txn([put])],
        [op_txn([drop]), op_txn([drop])], [op_txn([op_txn([put])]), put],
        [op_txn([op_txn([], [put])]), op_txn([op_txn([put])])], [op_txn([put, put])],
        [op_txn([put], [drop])], [op_txn([drop], [put])], [op_txn([op_txn([drop_from])]), put],
    )
    for ops in lists:
        play.txn(ops)
        play.txn([], ops)
    play.txn([put], [put])
    play.txn([put], [drop])
    play.txn([put], [put, put])
    play.range("\0", "\0")


@scenario
def empty_operations(play):
    for op in ({}, {"unknown": 1}, {"request_put": None}, {"request_put": {}},
               {"request_range": {}}, {"request_delete_range": {}}, {"request_txn": {}}):
        play.txn([op])
        play.txn([], [op])
        play.txn([op_put("a"), op])
        play.txn([op_txn([op])])
    play.range("\0", "\0")


@scenario
def too_many_operations(play):
    reads = [op_range("none")]
    for count in (127, 128, 129, 300):
        play.txn(reads * count)
        play.txn([], reads * count)
        play.txn(compare=[compare("none", "VERSION")] * count)
        play.txn([op_put(f"k{i}") for i in range(count)])
    for outer, inner in ((127, 1), (127, 2), (100, 28), (100, 29), (1, 127), (1, 128), (64, 65)):
        play.txn(reads * (outer - 1) + [op_txn(reads * inner)])
    play.txn([op_txn(reads * 64), op_txn(reads * 64), op_txn(reads * 125)])
    play.txn([op_txn([op_txn(reads * 126)])])
    play.txn([op_txn([op_txn(reads * 127)])])
    for depth in (126, 127, 128):
        nest = op_range("none")
        for _ in range(depth):
            nest = op_txn([nest])
        play.txn([nest])


@scenario
def order_of_checks(play):
    """Which error comes first when there are several."""
    put, twice = op_put("a"), [op_put("a"), op_put("a")]
    play.txn([{"request_put": {}}] * 129)
    play.txn([*twice, {"request_put": {}}])
    play.txn([put] * 129, compare=[{}])
    play.txn([op_txn([put] * 129)], compare=[{}])
    play.txn([*twice, op_put("a", "1", ignore_value=True)])
    play.txn(twice, [{}])
    play.txn([{"request_range": {}}, *twice])
    play.txn([op_put("a", lease=99), op_put("a")])
    play.txn([op_put("a", "1", ignore_value=True, ignore_lease=True, lease=9)])
    play.txn([op_put("b", lease=99, ignore_value=True)])
    play.txn([op_put("b", ignore_value=True), op_put("c", lease=99)])
    play.range("\0", "\0")


@scenario
def refused_transactions_write_nothing(play):
    play.txn([op_put("a"), op_put("b", lease=99)])
    play.txn([op_put("a"), op_put("b", ignore_value=True)])
    play.txn([op_put("a"), op_put("b", ignore_lease=True)])
    play.txn([op_txn([op_put("a"), op_txn([op_put("b", lease=99)])])])
    play.txn([op_put("b", ignore_value=True, value=b64("1"))])
    play.txn([op_put("a"), op_put("b", "1", lease=99)], compare=[compare("a", "VERSION")])
    play.range("\0", "\0")
    play.txn([op_put("b", ignore_lease=True)], [op_put("c")], [compare("a", "VERSION", version=7)])
    play.txn([op_put("c")], [op_put("b", lease=99)])
    play.txn([op_put("c"), op_txn([], [op_put("b", lease=99)])])
    play.range("\0", "\0")
