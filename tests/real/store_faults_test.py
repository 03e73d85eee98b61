"""The faults that store_errors_test.py makes are what they say, and its judge of sentences is one.

    store_faults_test.py [IGNORED]
"""
import os
import sys
import tempfile
import unittest

import store_faults as faults


class SentenceTest(unittest.TestCase):
    def test_sentences_are_accepted(self):
        for text in ("edl: cannot listen on 127.0.0.1:80: Address already in use. Use another.\n",
                     "cannot open /data: another process holds it.",
                     "the file /data/db is damaged; restore it from a copy\n"):
            self.assertIsNone(faults.sentence_problem(text), text)

    def test_other_things_are_rejected(self):
        for text, word in (("", "0 lines"), ("one two three four.\nfive.\n", "2 lines"),
                           ("terminate called after throwing an instance of 'x'.\n", "crash"),
                           ("it failed.\n", "too short"),
                           ("cannot open the /data: Input/output error\n", "no full stop")):
            self.assertIn(word, faults.sentence_problem(text) or "accepted", text)


class DamageTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name
        self.path = os.path.join(self.folder, "large")
        self.content = bytes(range(256)) * 400
        with open(self.path, "wb") as file:
            file.write(self.content)

    def read(self):
        with open(self.path, "rb") as file:
            return file.read()

    def test_the_largest_file_comes_first_and_sockets_are_none(self):
        os.mkdir(os.path.join(self.folder, "sub"))
        small = os.path.join(self.folder, "sub", "small")
        with open(small, "w") as file:
            file.write("x")
        os.mkfifo(os.path.join(self.folder, "pipe"))
        self.assertEqual(faults.files(self.folder), [self.path, small])

    def test_two_whole_pages_are_flipped(self):
        faults.flip_middle(self.path)
        after = self.read()
        changed = [place for place in range(len(after)) if after[place] != self.content[place]]
        self.assertEqual(changed, list(range(12 * 4096, 14 * 4096)))

    def test_half_is_cut_off(self):
        faults.truncate_half(self.path)
        self.assertEqual(self.read(), self.content[:len(self.content) // 2])

    def test_garbage_has_the_same_size(self):
        faults.replace_by_garbage(self.path)
        self.assertEqual(len(self.read()), len(self.content))
        self.assertNotIn(self.content[:16], self.read())

    def test_one_bit_is_flipped_where_the_content_is(self):
        before = faults.fingerprint(self.path)
        self.assertFalse(faults.flip_bit_of(self.path, b"not there"))
        self.assertEqual(faults.fingerprint(self.path), before)
        self.assertTrue(faults.flip_bit_of(self.path, self.content[250:270]))
        pairs = [(old, new) for old, new in zip(self.content, self.read()) if old != new]
        self.assertEqual(len(pairs), 399)
        self.assertEqual({old ^ new for old, new in pairs}, {1})

    def test_a_filled_disk_has_no_byte_left(self):
        if not faults.has_private_mounts():
            self.skipTest("no private mounts on this machine")
        disk = os.path.join(self.folder, "disk")
        os.mkdir(disk)
        faults.mount("-t", "tmpfs", "-o", "size=1m", "none", disk)
        self.addCleanup(faults.unmount, disk)
        ballast = faults.fill(disk)
        self.assertEqual(os.path.getsize(ballast), 1 << 20)
        with self.assertRaises(OSError), open(os.path.join(disk, "more"), "w") as file:
            file.write("x")


if __name__ == "__main__":
    faults.enter_private_mounts()
    unittest.main(argv=sys.argv[:1], verbosity=1)
