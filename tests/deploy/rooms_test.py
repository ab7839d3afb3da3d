# SPDX-License-Identifier: Apache-2.0
"""Tests of deploy/ci/rooms.py on trees of our own."""

import os
import subprocess
import tempfile
import unittest

import rooms


class RoomsTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.root = directory.name
        subprocess.run(["git", "init", "-q", self.root], check=True)

    def write(self, path, *lines):
        path = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")

    def mistakes(self):
        return rooms.mistakes(rooms.read_arrows(self.root))

    def test_arrows_one_way_are_layers(self):
        self.write("server/a/a.cc", '#include "server/b/b.h"')
        self.write("server/b/b.h", '#include "core/base/log.h"', "#include <vector>")
        self.write("core/base/log.h")
        arrows = rooms.read_arrows(self.root)
        self.assertEqual(sorted(arrows), [("server/a", "server/b"), ("server/b", "core/base")])
        self.assertEqual(self.mistakes(), [])
        self.assertEqual(rooms.layers({"server/a", "server/b"}, set(arrows)), [["server/b"], ["server/a"]])

    def test_a_circle_is_named_with_its_files(self):
        self.write("server/a/a.h", '#include "server/b/b.h"')
        self.write("server/b/b.h", '#include "server/c/c.h"')
        self.write("server/c/c.h")
        self.write("server/c/other.cc", '#include "server/a/a.h"')
        found = self.mistakes()
        self.assertEqual(found[0], "a circle of rooms: server/a, server/b, server/c")
        self.assertIn("  server/c -> server/a: 1 files, as server/c/other.cc of server/a/a.h", found)

    def test_parts_include_each_other_one_way(self):
        self.write("core/base/log.h", '#include "server/a/a.h"')
        self.write("server/a/a.h")
        self.write("client/cpp/c.h", '#include "server/a/a.h"')
        self.assertEqual(
            self.mistakes(),
            ["client may not include server: client/cpp/c.h includes server/a/a.h",
             "core may not include server: core/base/log.h includes server/a/a.h"])

    def test_imports_of_python_are_arrows_also_in_functions(self):
        package = "client/python/holdfast/"
        self.write(package + "_session.py", "def device():", "    from holdfast.core import (", "        _device,", "    )")
        self.write(package + "core/_device.py", "from holdfast import _errors")
        self.write(package + "_errors.py", "import os")
        self.assertIn(
            "a circle of rooms: client/python/holdfast, client/python/holdfast/core", self.mistakes())

    def test_a_package_gathers_its_modules_and_none_of_them_imports_it(self):
        package = "client/python/holdfast/"
        self.write(package + "__init__.py", "from holdfast._session import Session", "import holdfast.core")
        self.write(package + "_session.py", "import os")
        self.write(package + "core/__init__.py", "from holdfast.core._device import Device")
        self.write(package + "core/_device.py", "from holdfast import _session")
        self.assertEqual(self.mistakes(), [])
        self.write(package + "core/_device.py", "from holdfast import Session")
        self.assertIn("a circle of rooms: client/python/holdfast/__init__.py", self.mistakes()[0])

    def test_the_extension_is_below_the_modules_that_import_it(self):
        package = "client/python/holdfast/"
        self.write("client/python/native/module.cc")
        self.write(package + "__init__.py", "from holdfast.core._stream import Stream")
        self.write(package + "core/_stream.py", "from holdfast import _native")
        self.assertEqual(self.mistakes(), [])
        self.assertIn(
            ("client/python/holdfast/core", "client/python/native/module.cc"), rooms.read_arrows(self.root))

    def test_a_front_is_a_room_of_its_own(self):
        self.write("server/main.cc", '#include "server/a/a.h"')
        self.write("server/version.h")
        self.write("server/a/a.h", '#include "server/version.h"')
        self.assertEqual(self.mistakes(), [])


if __name__ == "__main__":
    unittest.main()
