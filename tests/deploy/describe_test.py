# SPDX-License-Identifier: Apache-2.0
"""Tests of deploy/debian/describe.py on a text of our own, and on the programs themselves."""

import os
import re
import shutil
import subprocess
import unittest

import describe

_HELP = """\
Does one thing
Usage: tool [OPTIONS] [SUBCOMMAND]

Options:
  -h,--help         Print this help message and exit
  --fits EXACTLY=12 The term ends where its text begins
  --mode TEXT:{fast,slow}=fast
                    The term is too long to stand beside its text
                    fast: of several lines
                    
  --flag
Subcommands:
  go                Starts

Rules:
  go first          looks like an entry, and is a text of the author's
"""


def _programs():
    return [os.environ["HOLDFAST_CLI"], os.environ["HOLDFAST_DAEMON"]]


def _flags_in(text):
    """Every option that a --help lists, found without the parser."""
    return re.findall(r"^  (?:-\w,)?(--[a-z][\w-]*)", text, re.MULTILINE)


class ParseTest(unittest.TestCase):
    def setUp(self):
        self.command = describe.parse(["tool"], _HELP)

    def test_terms_and_texts_are_told_apart(self):
        self.assertEqual(
            [(entry.term, entry.text) for entry in self.command.options[1:]],
            [
                ("--fits EXACTLY=12", "The term ends where its text begins"),
                (
                    "--mode TEXT:{fast,slow}=fast",
                    "The term is too long to stand beside its text\nfast: of several lines",
                ),
                ("--flag", ""),
            ],
        )

    def test_texts_of_the_author_are_no_lists(self):
        self.assertEqual([heading for heading, _ in self.command.sections], ["Options", "Subcommands"])
        self.assertIn("Rules:", self.command.notes)

    def test_roff_leaves_no_command_in_a_text(self):
        command = describe.Command(["tool"], summary=".so /etc/passwd", notes=["'br", "a\\b"])
        page = "\n".join(describe.manual(command, "1", "tool 1"))
        self.assertNotIn("\n.so", page)
        self.assertNotIn("\n'br", page)
        self.assertIn("a\\eb", page)


class ProgramsTest(unittest.TestCase):
    def test_every_option_is_in_the_manual(self):
        for program in _programs():
            command = describe.describe(program)
            page = "\n".join(describe.manual(command, "1", "1")).replace("\\-", "-")
            for one in describe.all_commands(command):
                text = subprocess.run(
                    [program, *one.path[1:], "--help"], capture_output=True, text=True, check=True
                ).stdout
                flags = _flags_in(text)
                self.assertIn("--help", flags)
                for flag in flags:
                    self.assertIn(flag, page)

    @unittest.skipUnless(shutil.which("groff"), "groff is missing")
    def test_pages_are_correct_roff(self):
        for program in _programs():
            page = "\n".join(describe.manual(describe.describe(program), "1", "1"))
            done = subprocess.run(
                ["groff", "-man", "-Tutf8", "-ww", "-z"],
                input=page, capture_output=True, text=True, check=True,
            )  # fmt: skip
            self.assertEqual(done.stderr, "")


if __name__ == "__main__":
    unittest.main()
