"""Bodies that are not what they should be. etcd reads the first JSON value, then its fields."""
from conformance.catalog import scenario

RANGE = "kv/range"


def play_bodies(play, path, bodies):
    play.put("a", "1")
    for body in bodies:
        play.post(path, body)


@scenario
def json_values_that_are_not_objects(play):
    play_bodies(play, RANGE, (
        "", "null", "{}", "[]", '"x"', "1", "-1", "1.5", "true", "false", "truex", "nul", "tru",
        "x", " ", "\n", "[", "]", "}", "[{}]",
        b"\xff\xfe", b"\xef\xbb\xbf{}", "\x00", "'", '"', "\\"))


@scenario
def malformed_json(play):
    play_bodies(play, RANGE, (
        "{", '{"', '{"key', '{"key"', '{"key":', '{"key":}', '{"key":"YQ=="', '{"key":"YQ==",',
        '{"key":"YQ==",}', '{"key":"YQ==" "x":1}', "{'key':1}", "{key:1}", '{"key":tru}',
        '{"key":truf}', '{"key":nulx}', '{"key":fals }', '{"key":-}', '{"key":01}', '{"key":1.}',
        '{"key":1.e}', '{"key":1e}', '{"key":.5}', '{"key":+1}', '{"key":"a\nb"}', '{"key":"a\tb"}',
        '{"key":"\\x"}', '{"key":"\\u12g4"}', '{"key":"\\u12"}', '{"a":[1,]}', '{"a":[1 2]}',
        '{"a":[}', '{"a":{]}', '{,}', '{"a":1,,"b":2}', '{"a":1}}', '{"key":"YQ=="}}', '{"foo":}',
        '{"key"="YQ=="}', '{"a" 1}', '{1:2}', '{"key":"YQ=="];', '{"a":"\x7f"}', '{"a":NaN}',
        '{"a":Infinity}', '{"a":/**/1}', b'{"key":"\xff"}', b'{"\xff":1}', '{"a":"\x01"}'))


@scenario
def what_follows_the_first_value_is_not_read(play):
    play_bodies(play, RANGE, (
        '{"key":"YQ=="} x', '{"key":"YQ=="}{"key":"Yg=="}', '{"key":"YQ=="}]', '  {"key":"YQ=="}  ',
        '\r\n\t{\r\n\t"key" : "YQ==" , "limit" : 1 }', '{"key":"YQ=="}\x00', "null x"))


@scenario
def bytes_in_base64(play):
    texts = ("YQ", "YWI", "Y", "YWJj", "YWJjZ", "YWJjZA", "YWJjZA=", "YWJj=", "YWJjZGVmZw", "=",
             "====", "YQ==YQ==", "YQ==x", "Y===", "YQ=x", "YWJjZGVm!", "Y!==", "_-8=", "/+8=",
             "Y Q==", "YQ==\\n", "YQ=\\n=", "Y\\r\\nQ==", "YR==", "YWJ=", "\\u0059Q==", "é", " ",
             "\\n", "YQ==\\r", "YQ== ", "YWJjZGVmZ2hpamtsbW5vcA", "YWJjZGVmZ2hpamtsbW5v!")
    play_bodies(play, RANGE, [f'{{"key":"{text}"}}' for text in texts])


@scenario
def bytes_as_other_types(play):
    values = ("1", "true", "{}", '{"a":1}', "null", "[]", "[97]", "[97,98]", "[256]", "[-1]",
              "[1.5]", "[null]", '["YQ=="]', "[[97]]", "1.5", "[true]", "[{}]")
    play_bodies(play, RANGE, [f'{{"key":{value}}}' for value in values])


@scenario
def numbers(play):
    values = ('"1"', "1", "1.0", "1.5", "1e2", '"1e2"', '"x"', '""', "true", "null", "[]", "{}",
              "9223372036854775807", "9223372036854775808", '"9223372036854775807"',
              "-9223372036854775808", "-9223372036854775809", '" 1"', '"1 "', '"01"', '"-0"', "-0",
              '"+1"', '"0x10"', "99999999999999999999999", '"1.5"', "1E400", '"null"', '"true"',
              '"[]"', '"{}"', '"\\u0031"', '"--1"', '"1_0"', '"\\"1\\""', '"1,"', "0", "-1")
    play_bodies(play, RANGE, [f'{{"key":"YQ==","limit":{value}}}' for value in values])


@scenario
def booleans(play):
    values = ("true", "false", "null", '"true"', '"x"', "1", "0", "[]", "{}", '""')
    play_bodies(play, RANGE, [f'{{"key":"YQ==","count_only":{value}}}' for value in values])
    for value in values:
        play.post("kv/put", f'{{"key":"YQ==","prev_kv":{value}}}')


@scenario
def enums(play):
    values = ('"ASCEND"', "1", "0", "2", "null", '"BAD"', '"1"', '""', '"ascend"', "1.5", "true",
              "[]", "{}", "-1", "7", "2147483648", '"Å"', '"a\\"b"', '"a\\nb"', '"<&>"')
    play_bodies(play, RANGE, [f'{{"key":"YQ==","sort_order":{value}}}' for value in values])
    play.post(RANGE, '{"key":"YQ==","sort_target":"BAD"}')
    for field in ("target", "result"):
        for value in ('"BAD"', "true", "1.5", '"EQUAL"', '"VERSION"', "[]"):
            play.post("kv/txn", f'{{"compare":[{{"key":"YQ==","{field}":{value}}}]}}')


@scenario
def lists_and_messages(play):
    values = ("{}", '"x"', "1", "[1]", "[[]]", '["x"]', "null", "[true]", '[{"key":1}]', "[{}]",
              '[{"request_put":1}]', '[{"request_put":[]}]', '[{"request_put":{"key":1}}]',
              '[{"request_range":{"key":"YQ==","limit":"x"}}]', '[{"request_txn":{"compare":1}}]',
              '[{"request_txn":{"success":[{"request_put":{"key":"Y"}}]}}]', "[{},1]")
    for field in ("compare", "success", "failure"):
        play_bodies(play, "kv/txn", [f'{{"{field}":{value}}}' for value in values])


@scenario
def names_and_repetitions(play):
    play_bodies(play, RANGE, (
        '{"Key":"YQ=="}', '{"KEY":"YQ=="}', '{"key":"YQ==","key":"Yg=="}', '{"":1,"key":"YQ=="}',
        '{"key":"Yg==","key":"YQ=="}', '{"key":"YQ==","count_only":true,"count_only":false}',
        '{"key":"YQ==","foo":{"x":[1,2,{"y":"z"}]}}', '{"k\\u0065y":"YQ=="}', '{"key ":"YQ=="}',
        '{"key":"YQ==","range_end":null,"limit":null,"sort_order":null,"count_only":null}',
        '{"key":"YQ==","keys_only":true,"header":{"revision":5},"kvs":[1]}'))


@scenario
def fields_are_read_in_their_own_order(play):
    """With two wrong fields the error is of the one that the API declares first."""
    play_bodies(play, RANGE, (
        '{"limit":"x","key":1}', '{"count_only":1,"limit":"x"}', '{"sort_order":"X","limit":true}',
        '{"sort_target":"X","sort_order":"Y","key":"YQ=="}', '{"revision":"y","limit":"x"}',
        '{"max_create_revision":"a","min_mod_revision":"b"}', '{"keys_only":1,"serializable":1}'))
    for body in ('{"ignore_value":1,"lease":"x","value":2,"key":3}', '{"lease":"x","value":2}',
                 '{"ignore_lease":1,"prev_kv":2}'):
        play.post("kv/put", body)
    play.post("kv/deleterange", '{"prev_kv":1,"range_end":2}')
    play.post("kv/txn", '{"failure":1,"success":2,"compare":3}')
    play.post("lease/grant", '{"ID":"x","TTL":true}')
    play.post("kv/compaction", '{"physical":1,"revision":"x"}')
    play.post("lease/timetolive", '{"keys":1,"ID":"x"}')


@scenario
def wrong_bodies_on_every_path(play):
    for path in ("kv/put", "kv/range", "kv/deleterange", "kv/txn", "kv/compaction", "lease/grant",
                 "lease/revoke", "lease/timetolive", "lease/leases", "maintenance/status"):
        for body in ("x", "[]", "{", "", "null", "{}", '{"unknown":1}'):
            play.post(path, body)


@scenario
def deep_json(play):
    for depth in (100, 9998, 10001):
        play.post(RANGE, '{"key":"YQ==","x":' + "[" * depth + "]" * depth + "}")
    play.post(RANGE, '{"a":' * 10001 + "1" + "}" * 10001)
