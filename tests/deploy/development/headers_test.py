#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The installed headers compile without a warning, and so do their samples.

    headers_test.py INCLUDE FILE...     INCLUDE: what //deploy/development:include has made
                                        FILE: READMEs, the .cc files with the samples, and headers.txt
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

_STRICT = ["-std=c++20", "-fsyntax-only", "-Werror", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion"]
# A sample shows a call, not what follows it.
_SKETCH = ["-Wunused", "-Wunused-but-set-variable", "-Wunused-result"]
_COMPILERS = [name for name in ["g++", "clang++"] if shutil.which(name)]

include, *files = sys.argv[1:]
samples = [name for name in files if name.endswith(".cc")]
readmes = [name for name in files if name.endswith(".md")]
(names,) = [name for name in files if name.endswith(".txt")]


def headers():
    """The headers of the library, as #include spells them; not the messages of the protocol."""
    found = []
    for folder, _, names in os.walk(include):
        found += [os.path.relpath(os.path.join(folder, name), include) for name in names if name.endswith(".h")]
    return sorted(name for name in found if not name.startswith("holdfast/v1/"))


def code_blocks(text):
    """The indented blocks of a header's comments that are code: with a call or an assignment."""
    block = []
    for line in [*text.split("\n"), ""]:
        comment = re.match(r" *//(?:   (.*))?$", line)
        if comment:
            block.append(comment.group(1) or "")
            continue
        if any(re.search(r"(\);| = .*;)\s*(//.*)?$", code) for code in block):
            yield "\n".join(block)
        block = []


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def without_spaces(text):
    return re.sub(r"\s+", "", text)


def source_of_all():
    """A program with the samples and every header: one, since parsing the headers takes most of the time."""
    yield "#include <holdfast/holdfast.h>\n#pragma GCC diagnostic push\n"
    yield from (f'#pragma GCC diagnostic ignored "{warning}"\n' for warning in _SKETCH)
    yield from (f'#include "{os.path.abspath(name)}"\n' for name in samples)
    yield "#pragma GCC diagnostic pop\n"
    yield from (f"#include <{name}>\n" for name in headers())


class HeadersTest(unittest.TestCase):
    def test_headers_and_samples_have_no_warnings(self):
        with tempfile.NamedTemporaryFile("w", suffix=".cc") as source:
            source.writelines(source_of_all())
            source.flush()
            for compiler in _COMPILERS:
                command = [compiler, *_STRICT, "-I", include, source.name]
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 0, f"{compiler}:\n{done.stderr[:4000]}")

    def test_programs_find_headers_by_the_names_that_they_had(self):
        self.assertEqual(set(text_of(names).split()) - set(headers()), set())

    def test_every_sample_is_compiled(self):
        compiled = "".join(without_spaces(text_of(name)) for name in samples)
        blocks = []
        for name in readmes:
            fenced = re.findall(r"```cpp\n(.*?)```", text_of(name), re.DOTALL)
            blocks += [(name, re.sub(r"#include .*", "", block)) for block in fenced]
        for name in headers():
            blocks += [(name, block) for block in code_blocks(text_of(os.path.join(include, name)))]
        self.assertGreater(len(blocks), 20)
        for name, block in blocks:
            found = without_spaces(block) in compiled
            self.assertTrue(found, f"{name} has a sample that no file here compiles:\n{block}")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
