"""The checker of store histories accepts a right one and rejects a wrong one for every rule.

    store_history_test.py [IGNORED]
"""
import copy
import math
import sys
import unittest

import store_history
from store_model import (Compare, Delete, Event, KeyValue, Put, Range, Revoke, RevokeAnswer, Txn,
                         TxnAnswer, Versions, execute)
from store_story import Story, moved, put


class HistoryTest(unittest.TestCase):
    def setUp(self):
        self.story = Story()
        self.run_ = self.story.run

    def accept(self):
        self.assertEqual(store_history.problems(self.run_), [])

    def reject(self, rule):
        found = store_history.problems(self.run_)
        self.assertTrue(found, "a wrong history was accepted")
        self.assertEqual({line[:2] for line in found}, {rule + ":"}, "\n".join(found))

    def ordinary(self):
        story = self.story
        story.txn(Put("/a", "1"))
        story.txn(Put("/a", "2", prev=True), Range("/", "0"), Delete("/none"),
                  compares=(Compare("/a", "MOD", "EQUAL", 2),))
        story.txn(Put("/a", "never"), compares=(Compare("/a", "VALUE", "EQUAL", "1"),),
                  failure=(Range("/a"),))
        story.txn(Put("/b", "3"), Put("/c", "4"))
        story.txn(Range("/", "0", 2), Range("/", "0", 0, 2))
        story.txn(Delete("/b", "/z", prev=True))
        story.txn(Delete("/b"))
        story.txn(Put("/a", "5"), known=False)
        story.lost(Put("/a", "6"), Put("/b", "6"))
        story.txn(Delete("/a"), known=False)
        story.txn(Put("/b", "7"))
        story.watch()
        story.watch(key="/b", end="", first=4)

    def test_a_right_history_is_accepted(self):
        self.ordinary()
        self.accept()
        self.assertEqual(self.story.revision(), 8)

    def test_the_model_numbers_as_etcd_does(self):
        self.ordinary()
        second = self.run_.operations[1].answer
        first_kv = KeyValue("/a", "1", 2, 2, 1)
        second_kv = KeyValue("/a", "2", 2, 3, 2)
        self.assertEqual(second, TxnAnswer(3, True, (first_kv, ((second_kv,), 1, False), (0, ()))))
        self.assertEqual(self.run_.operations[2].answer,
                         TxnAnswer(3, False, (((second_kv,), 1, False),)))
        third, fourth = KeyValue("/b", "3", 4, 4, 1), KeyValue("/c", "4", 4, 4, 1)
        self.assertEqual(self.run_.operations[4].answer, TxnAnswer(
            4, True, (((second_kv, third), 3, True), ((first_kv,), 1, False))))
        self.assertEqual(self.run_.operations[5].answer.responses, ((2, (third, fourth)),))
        self.assertEqual(self.run_.operations[6].answer, TxnAnswer(5, True, ((0, ()),)))

    def test_a_missing_key_compares_as_in_etcd(self):
        versions = Versions([])
        for compare, holds in ((Compare("/x", "VERSION", "EQUAL", 0), True),
                               (Compare("/x", "CREATE", "LESS", 1), True),
                               (Compare("/x", "LEASE", "GREATER", 0), False),
                               (Compare("/x", "VALUE", "NOT_EQUAL", "1"), False)):
            self.assertEqual(execute(Txn((compare,)), versions, 1, 2)[0], holds, compare)

    # a

    def test_a_lost_acknowledged_write_is_rejected(self):
        self.story.txn(Put("/a", "1"))
        self.story.txn(Put("/b", "2"))
        self.run_.events.pop()
        self.reject("a")

    def test_a_write_with_another_value_is_rejected(self):
        self.story.txn(Put("/a", "1"))
        self.run_.events = [put(2, "/a", "other")]
        self.reject("a")

    def test_a_write_at_another_revision_is_rejected(self):
        self.story.txn(Put("/a", "1"))
        self.story.txn(Put("/b", "2"))
        self.run_.events = [put(2, "/b", "2"), put(3, "/a", "1")]
        self.reject("a")

    def test_half_of_an_acknowledged_transaction_is_rejected(self):
        self.story.txn(Put("/a", "1"), Put("/b", "2"))
        self.run_.events.pop()
        self.reject("a")

    def test_a_revocation_that_leaves_keys_is_rejected(self):
        self.story.grant(7, 2)
        self.story.txn(Put("/a", "1", 7))
        self.story.note(Revoke(7), RevokeAnswer(2))
        self.reject("a")

    # b

    def test_holes_and_steps_back_are_rejected(self):
        for events in ([put(3, "/a", "1")], [put(2, "/a", "1"), put(4, "/b", "2")],
                       [put(2, "/a", "1"), put(3, "/b", "2"), put(2, "/c", "3")]):
            self.run_.events = events
            self.reject("b")

    def test_one_revision_for_two_writes_is_rejected(self):
        self.story.txn(Put("/a", "1"))
        self.run_.operations.append(copy.deepcopy(self.run_.operations[0]))
        self.reject("b")

    def test_events_that_cannot_follow_are_rejected(self):
        first = put(2, "/a", "1")
        for event in (put(3, "/a", "2"), Event(3, "/b", None), Event(2, "/a", None),
                      Event(3, "/a", KeyValue("/a", "2", 2, 3, 3))):
            self.run_.events = [first, event]
            self.reject("b")

    # c

    def test_a_read_of_the_past_is_rejected(self):
        self.story.txn(Put("/a", "1"))
        stale = self.story.txn(Range("/a"))
        self.story.txn(Put("/a", "2"))
        stale.start, stale.end = self.story.now, self.story.now + 1
        self.reject("c")

    def test_a_write_before_one_that_had_ended_is_rejected(self):
        first = self.story.txn(Put("/a", "1"))
        self.story.txn(Put("/b", "2"))
        first.start, first.end = self.story.now, self.story.now + 1
        self.reject("c")

    def test_a_read_older_than_a_watched_event_is_rejected(self):
        self.story.txn(Put("/a", "1"))
        self.story.txn(Put("/a", "2"), known=False)
        self.story.watch()
        request = Txn((), (Range("/a"),))
        responses = execute(request, Versions(self.run_.events), 2, 3)[1]
        self.story.note(request, TxnAnswer(2, True, responses))
        self.reject("c")

    def test_an_unknown_write_that_comes_after_its_crash_is_rejected(self):
        late = self.story.lost(Put("/a", "1"))
        late.end = late.start + 0.5
        self.story.txn(Put("/b", "2"))
        self.run_.events.append(put(3, "/a", "1"))
        self.reject("e")  # no operation of that time can have done it

    # d

    def test_wrong_answers_are_rejected(self):
        self.ordinary()
        second = (((KeyValue("/a", "2", 2, 3, 2)),), 1, False)
        lies = {1: TxnAnswer(3, True, (None, second, (0, ()))),
                2: TxnAnswer(3, False, (((), 0, False),)),
                4: TxnAnswer(4, True, (((), 0, False), ((), 0, False))),
                6: TxnAnswer(4, True, ((0, ()),))}
        for place, lie in lies.items():
            right = self.run_.operations[place].answer
            self.run_.operations[place].answer = lie
            self.reject("d")
            self.run_.operations[place].answer = right
        self.accept()

    def test_a_compare_that_did_not_hold_is_rejected(self):
        self.story.txn(Put("/a", "1"))
        held = self.story.txn(Range("/a"), compares=(Compare("/a", "VERSION", "EQUAL", 1),))
        held.request = held.request._replace(compares=(Compare("/a", "VERSION", "GREATER", 1),))
        self.reject("d")

    def test_a_read_beyond_the_history_is_rejected(self):
        self.story.note(Txn((), (Range("/a"),)), TxnAnswer(5, True, (((), 0, False),)))
        self.reject("d")

    # e

    def test_an_unknown_write_that_happened_twice_is_rejected(self):
        self.story.txn(Put("/a", "1"), known=False)
        self.run_.events.append(Event(3, "/a", KeyValue("/a", "1", 2, 3, 2)))
        self.reject("e")

    def test_an_unknown_delete_that_happened_twice_is_rejected(self):
        self.story.txn(Put("/a", "1"))
        self.story.txn(Delete("/a"), known=False)
        self.story.txn(Put("/a", "2"))
        self.run_.events.append(Event(5, "/a", None))
        self.reject("e")

    def test_two_unknown_deletes_may_both_have_happened(self):
        self.story.txn(Put("/a", "1"))
        self.story.txn(Delete("/a"), known=False)
        self.story.txn(Put("/a", "2"))
        self.story.txn(Delete("/", "0"), known=False)
        self.accept()

    def test_half_of_an_unknown_write_is_rejected(self):
        self.story.txn(Put("/a", "1"), Put("/b", "2"), known=False)
        self.run_.events.pop()
        self.reject("e")

    def test_an_unknown_write_whose_compare_failed_is_rejected(self):
        self.story.note(Txn((Compare("/a", "VERSION", "EQUAL", 1),), (Put("/a", "1"),)),
                        end=math.inf)
        self.run_.events.append(put(2, "/a", "1"))
        self.reject("e")

    def test_a_refused_write_that_happened_is_rejected(self):
        self.story.note(Txn((), (Put("/a", "1"),)), refused="no")
        self.run_.events.append(put(2, "/a", "1"))
        self.reject("e")

    def test_a_write_before_its_request_is_rejected(self):
        self.run_.events.append(put(2, "/a", "1"))
        self.story.watch()
        self.story.lost(Put("/a", "1"))
        self.reject("e")

    # f

    def test_events_of_nobody_are_rejected(self):
        self.run_.events = [put(2, "/a", "1")]
        self.reject("f")
        self.story = Story()
        self.run_ = self.story.run
        self.story.txn(Put("/a", "1"))
        self.run_.events.append(Event(3, "/a", None))
        self.reject("f")

    # g

    def test_watchers_that_miss_repeat_or_reorder_are_rejected(self):
        self.ordinary()
        seen = self.run_.watches[0].seen
        right = list(seen)
        wrong_prev = (right[1][0], right[1][1], None)
        other = (right[1][0], moved(right[1][1], 99), right[1][2])
        for lie in (right[1:], right[:-1], right[:3] + right[2:], right[:2] + right[3:],
                    [right[1], right[0], *right[2:]], [right[0], wrong_prev, *right[2:]],
                    [right[0], other, *right[2:]], [*right, right[-1]]):
            seen[:] = lie
            self.reject("g")
        seen[:] = right
        self.accept()

    def test_a_watcher_that_left_early_is_accepted(self):
        self.ordinary()
        self.run_.watches[0].complete = False
        self.run_.watches[0].seen.pop()
        self.accept()

    # h

    def leased(self, ttl, wait):
        self.story.grant(7, ttl)
        self.story.txn(Put("/a", "1", 7), Put("/b", "1", 7))
        self.story.keep_alive(7, ttl)
        self.story.now += wait
        self.story.end_lease(7)
        self.story.watch()

    def test_a_lease_that_runs_out_after_its_time_is_accepted(self):
        self.leased(ttl=5, wait=5)
        self.story.keep_alive(7, 0)
        self.story.note(Txn((), (Put("/a", "2", 7),)),
                        refused="etcdserver: requested lease not found")
        self.accept()

    def test_keys_that_vanish_too_early_are_rejected(self):
        self.leased(ttl=5, wait=3.5)
        self.reject("h")

    def test_half_of_the_keys_of_a_lease_are_rejected(self):
        self.leased(ttl=5, wait=5)
        self.run_.events.pop()
        self.run_.watches.clear()
        self.reject("f")

    def test_keys_that_vanish_soon_after_a_restart_are_rejected(self):
        for wait, check in ((4, lambda: self.reject("h")), (6, self.accept)):
            self.setUp()
            self.story.grant(7, 5)
            self.story.txn(Put("/a", "1", 7))
            self.story.now += 2
            self.story.restart()
            self.story.now += wait - 1
            self.story.end_lease(7)
            self.story.watch()
            check()

    def test_a_lease_forgotten_by_a_restart_is_rejected(self):
        self.story.grant(7, 5)
        self.story.restart()
        self.story.keep_alive(7, 0)
        self.reject("h")

    def test_a_keep_alive_of_a_dead_lease_that_answers_is_rejected(self):
        self.leased(ttl=5, wait=10)
        self.story.keep_alive(7, 5)
        self.reject("h")
        self.setUp()
        self.story.grant(7, 1)
        self.story.now += 5
        self.story.keep_alive(7, 0)
        self.story.keep_alive(7, 1)
        self.reject("h")

    def test_a_lease_that_works_after_its_revocation_is_rejected(self):
        self.story.grant(7, 5)
        self.story.txn(Put("/a", "1", 7))
        self.story.end_lease(7)
        self.story.note(Revoke(7), RevokeAnswer(3))
        self.accept()
        self.story.keep_alive(7, 5)
        self.reject("h")
        self.run_.operations.pop()
        self.story.txn(Put("/a", "2", 7), known=False)
        self.story.txn(Delete("/a"))
        self.reject("h")

    def test_a_keep_alive_with_another_ttl_is_rejected(self):
        self.story.grant(7, 5)
        self.story.keep_alive(7, 4)
        self.reject("h")

    def test_a_lease_that_never_ends_is_rejected(self):
        self.story.grant(7, 5)
        self.story.txn(Put("/a", "1", 7))
        self.story.now += 100
        self.story.txn(Range("/a"))
        self.reject("h")

    def test_a_lease_granted_twice_or_never_is_rejected(self):
        self.story.grant(7, 5)
        self.story.grant(7, 5)
        self.reject("h")
        self.setUp()
        self.story.txn(Put("/a", "1", 8))
        self.story.txn(Delete("/a"))
        self.reject("h")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
