"""Writing single keys: put and delete range."""
from conformance.catalog import scenario
from conformance.play import b64


@scenario
def put_and_its_versions(play):
    play.put("a", "1")
    play.range("a")
    play.put("a", "2", prev_kv=True)
    play.put("b", "1", prev_kv=True)
    play.delete("a")
    play.put("a", "3", prev_kv=True)
    play.range("a", "c")
    play.post("kv/put", {})
    play.post("kv/put", {"value": b64("1")})
    play.post("kv/put", {"key": "", "value": b64("1")})
    play.post("kv/put", {"key": b64("c")})
    play.post("kv/put", {"key": b64("c"), "prev_kv": True})
    play.range("c")


@scenario
def put_ignores_value(play):
    play.put("none", ignore_value=True)
    play.put("a", "1")
    play.put("a", ignore_value=True)
    play.range("a")
    play.put("a", "2", ignore_value=True)
    play.put("a", ignore_value=True, prev_kv=True)
    play.delete("a")
    play.put("a", ignore_value=True)
    play.range("a")


@scenario
def put_ignores_lease(play):
    play.put("none", "1", ignore_lease=True)
    play.grant(100, 11)
    play.put("a", "1", lease=11)
    play.put("a", "2", ignore_lease=True)
    play.range("a")
    play.put("a", "2", ignore_lease=True, lease=11)
    play.put("a", ignore_lease=True, ignore_value=True)
    play.range("a")
    play.put("b", "1")
    play.put("b", "2", ignore_lease=True)
    play.range("b")
    play.put("none", ignore_lease=True, ignore_value=True)
    play.put("a", "2", ignore_lease=True, ignore_value=True, lease=11)
    play.put("none", ignore_value=True, lease=12)
    play.post("lease/revoke", {"ID": 11})
    play.range("a", "c")


@scenario
def put_with_a_lease_that_is_not_there(play):
    play.put("a", "1", lease=77)
    play.put("a", "1", lease=-1)
    play.put("a", "1", lease=0)
    play.put("a", lease=77, ignore_value=True)
    play.put("none", lease=77, ignore_value=True)
    play.range("a")


@scenario
def delete_one_key(play):
    play.delete("a")
    play.delete("a", prev_kv=True)
    play.put("a", "1")
    play.delete("a")
    play.delete("a")
    play.put("a", "2")
    play.delete("a", prev_kv=True)
    play.put("a", "")
    play.delete("a", "", prev_kv=True)
    play.post("kv/deleterange", {})
    play.post("kv/deleterange", {"key": ""})
    play.post("kv/deleterange", {"range_end": b64("\0")})
    play.range("a", revision=play.base + 1)
    play.range("a")


@scenario
def delete_ranges(play):
    def fill():
        for key in ("c", "ab", "b", "a", "abc"):
            play.put(key, "of " + key)
    fill()
    play.delete("x", "z")
    play.delete("b", "a")
    play.delete("b", "b")
    play.delete("ab", "ac", prev_kv=True)
    play.range("\0", "\0")
    play.delete("b", "\0")
    fill()
    play.delete("ab", "\0", prev_kv=True)
    play.delete("\0", "\0", prev_kv=True)
    play.delete("\0", "\0")
    play.range("\0", "\0")
    fill()
    play.delete("\0", "\0")
    play.range("\0", "\0", revision=play.base + 5)


@scenario
def many_keys_in_one_answer(play):
    for number in range(12):
        play.txn([{"request_put": {"key": b64(f"many/{number:02}/{i:03}"), "value": b64("v" * 60)}}
                  for i in range(100)])
    play.range("many/", "many0")
    play.range("many/", "many0", keys_only=True)
    play.range("many/", "many0", limit=500)
    play.range("many/", "many0", limit=1200)
    play.range("many/05/", "many/06", sort_order="DESCEND")
    play.range("many/", "many0", count_only=True)
    play.delete("many/03/", "many/05/")
    play.range("many/", "many0", count_only=True)
    play.delete("many/", "many0", prev_kv=True)


@scenario
def names_of_fields(play):
    """lowerCamelCase and original names; numbers as text and as numbers."""
    play.post("kv/put", {"key": b64("a"), "value": b64("1"), "prevKv": True})
    play.post("kv/put", {"key": b64("a"), "value": b64("2"), "prevKv": True})
    play.post("kv/put", {"key": b64("a"), "ignoreValue": True})
    play.post("kv/put", {"key": b64("b"), "lease": "0", "unknown": {"x": [1, {"y": None}]}})
    range_of_both = {"key": b64("a"), "rangeEnd": b64("c")}
    play.post("kv/range", {**range_of_both, "sortOrder": "DESCEND", "sortTarget": "MOD"})
    play.post("kv/range", {**range_of_both, "countOnly": True})
    play.post("kv/range", {**range_of_both, "keysOnly": True, "limit": "1"})
    play.post("kv/range", {**range_of_both, "minModRevision": str(play.base + 4)})
    play.post("kv/range", {**range_of_both, "maxCreateRevision": str(play.base + 1)})
    play.post("kv/txn", {"compare": [{"key": b64("a"), "target": "MOD", "result": "GREATER",
                                      "modRevision": str(play.base)}],
                         "success": [{"requestRange": range_of_both}]})
    play.post("kv/txn", {"compare": [{"key": b64("a"), "target": "CREATE",
                                      "createRevision": play.base + 1, "rangeEnd": b64("a\0")}],
                         "success": [{"requestDeleteRange": {**range_of_both, "prevKv": True}}],
                         "failure": [{"requestTxn": {}}]})
    play.post("kv/txn", {"success": [{"requestPut": {"key": b64("d")}}, {"requestTxn": {}}]})
