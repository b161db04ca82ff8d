import os
import tempfile
import unittest

import shelf


class ShelfTest(unittest.TestCase):
    def test_written_is_read_again(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "list")
            self.assertEqual(shelf.read(path), [])
            shelf.write(path, ["Emma", "Ulysses"])
            self.assertEqual(shelf.read(path), ["Emma", "Ulysses"])


if __name__ == "__main__":
    unittest.main()
