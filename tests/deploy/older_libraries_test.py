# SPDX-License-Identifier: Apache-2.0
"""deploy/bazel/glibc/older_libraries.py, with libraries that gcc makes."""

import ctypes
import os
import re
import subprocess
import sys
import tempfile
import unittest

_TOOL, _LIBHF_C = map(os.path.abspath, (os.environ["OLDER_LIBRARIES"], os.environ["LIBHF_C"]))

_SOURCE = """
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/stat.h>
extern char __libc_single_threaded;
static int runs;
static void run(void) { ++runs; }
static void* begin(void* ignored) { return ignored; }
long size_of(const char* path) {
  struct stat file;
  return stat(path, &file) == 0 ? (long)file.st_size : -1;
}
int run_once(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_t thread;
  pthread_once(&once, run);
  pthread_once(&once, run);
  if (pthread_create(&thread, 0, begin, 0) != 0 || pthread_join(thread, 0) != 0) return -1;
  return runs + 0 * __libc_single_threaded;
}
"""


def _needs(path, option):
    return subprocess.run(["objdump", option, path], capture_output=True, text=True, check=True).stdout


class OlderLibrariesTest(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)

    def _compile(self, source):
        path = os.path.join(self._folder.name, "library.so")
        command = ["gcc", "-shared", "-fPIC", "-O1", "-x", "c", "-", "-o", path, "-Wl,--disable-new-dtags,-rpath,$ORIGIN"]
        subprocess.run(command, input=source, text=True, check=True)
        return path

    def _make_older(self, path):
        return subprocess.run([sys.executable, "-B", _TOOL, _LIBHF_C, path], capture_output=True, text=True, check=False)

    def test_later_versions_are_not_needed_any_more(self):
        path = self._compile(_SOURCE)
        size = os.path.getsize(path)
        self.assertRegex(_needs(path, "-p"), r"GLIBC_2\.3[2-9]")
        changed = self._make_older(path)
        self.assertEqual(changed.returncode, 0, changed.stderr)
        described = _needs(path, "-p")
        self.assertNotRegex(described, r"GLIBC_2\.3[2-9]")
        self.assertRegex(described, r"GLIBC_2\.2\.5")
        self.assertRegex(described, r"NEEDED +libhf_c\.so\n")
        self.assertNotRegex(_needs(path, "-T"), r"GLIBC_2\.3[2-9]")
        self.assertEqual(os.path.getsize(path), size)

    def test_what_was_changed_runs(self):
        path = self._compile(_SOURCE)
        self.assertEqual(self._make_older(path).returncode, 0)
        ctypes.CDLL(_LIBHF_C, mode=os.RTLD_LAZY)  # by its soname it is found then
        library = ctypes.CDLL(path, mode=os.RTLD_NOW)
        library.size_of.restype = ctypes.c_long
        self.assertEqual(library.size_of(path.encode()), os.path.getsize(path))
        self.assertEqual(library.size_of(b"/nowhere"), -1)
        self.assertEqual(library.run_once(), 1)

    def test_a_second_time_changes_nothing(self):
        path = self._compile(_SOURCE)
        self.assertEqual(self._make_older(path).returncode, 0)
        with open(path, "rb") as file:
            once = file.read()
        self.assertEqual(self._make_older(path).returncode, 0)
        with open(path, "rb") as file:
            self.assertEqual(file.read(), once)

    def test_a_function_that_no_older_glibc_has_is_an_error(self):
        path = self._compile("#include <stdlib.h>\nunsigned number(void) { return arc4random(); }\n")
        changed = self._make_older(path)
        self.assertNotEqual(changed.returncode, 0)
        self.assertTrue(re.search(r"library\.so needs arc4random of GLIBC_2\.36, which neither", changed.stderr))


if __name__ == "__main__":
    unittest.main()
