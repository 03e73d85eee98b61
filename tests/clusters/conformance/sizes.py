"""How large requests and answers may be."""
from conformance.catalog import scenario
from conformance.play import b64, create, op_put

REQUEST_MAX = 3 << 19  # 1.5 MiB, with a few bytes around the request
MESSAGE_MAX = 2 << 20


@scenario
def requests_of_about_a_megabyte_and_a_half(play):
    """Not to the byte: the envelope around a request is a few bytes, and they vary."""
    for value_bytes in (REQUEST_MAX - 64, REQUEST_MAX, REQUEST_MAX + 5000):
        play.put("big", "x" * value_bytes)
        play.range("big", keys_only=True)
    play.range("big")
    half = "x" * (REQUEST_MAX // 2)
    play.txn([op_put("a", half), op_put("b", half)])
    play.txn([op_put("a", half[:-100]), op_put("b", half[:-100])])
    play.txn([], [op_put("a", half), op_put("b", half)])
    play.delete("k" * REQUEST_MAX)
    play.delete("big")


@scenario
def messages_above_two_mebibytes(play):
    """The limit of every request; a field's tag and length take 4 bytes, those of the key 5."""
    last = MESSAGE_MAX - 9
    for value_bytes in (last, last + 1, 2 * MESSAGE_MAX):
        play.put("big", "x" * value_bytes)
    key_last = MESSAGE_MAX - 4
    for key_bytes in (REQUEST_MAX + 100, key_last, key_last + 1):
        play.range("k" * key_bytes)
    play.post("kv/range", '{"key":"YQ==","unknown":"' + "x" * (3 * MESSAGE_MAX) + '"}')
    part = op_put("p", "x" * (MESSAGE_MAX // 2))
    play.txn([part, part, part])
    play.post("kv/range", '{"key":"' + b64("k" * MESSAGE_MAX) + '!"}')
    watch = play.watch(create("k" * (MESSAGE_MAX + 10)))
    watch.expect()


@scenario
def answers_of_some_megabytes(play):
    for number in range(40):
        play.put(f"many/{number:02}", chr(97 + number % 26) * 100000)
    play.range("many/", "many0")
    play.range("many/", "many0", sort_order="DESCEND", limit=30)
    whole = play.watch(create("many/", "many0", start_revision=play.base + 1))
    whole.expect()
    whole.expect_events(40)
    parts = play.watch(create("many/", "many0", start_revision=play.base + 1, fragment=True))
    parts.expect(3)
    play.delete("many/", "many0", prev_kv=True)


@scenario
def large_keys(play):
    for key_bytes in (1000, 100000, 1000000):
        key = "k" * key_bytes
        play.put(key, "1")
        play.range(key)
        play.range(key, "l", count_only=True)
        play.delete(key, prev_kv=True)
