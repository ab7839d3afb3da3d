# SPDX-License-Identifier: Apache-2.0
"""Tests of deploy/debian/describe.py on a text of our own, and on the programs themselves."""

import os
import re
import shutil
import subprocess
import tomllib
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


    def test_headings_in_capitals_are_sections(self):
        command = describe.Command(["tool"], notes=["Note", "", "EXIT STATUS", "  0 done"])
        page = "\n".join(describe.manual(command, "1", "tool 1", "other(1)"))
        self.assertIn(".SH EXIT STATUS\n.PP\n.nf\n  0 done\n.fi", page)
        self.assertIn(".SH NOTES\n.PP\n.nf\nNote\n.fi", page)
        self.assertTrue(page.endswith(".SH SEE ALSO\nother(1)"))

    def test_a_page_in_markdown_becomes_roff(self):
        page = "\n".join(
            describe.page(
                "# tool(5): what it is\n\nSome `code` and [a link](x.md).\n\n## Keys\n\n```toml\n'a' = 1\n```\n\n"
                "| key | what |\n| --- | --- |\n| `k` | its text |\n"
            )
        )
        for part in ("tool \\- what it is", "Some \\fBcode\\fP and a link.", ".SH KEYS", "\n\\&'a' = 1\n", ".TP\n\\fBk\\fP\nits text"):
            self.assertIn(part, page)


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

    def test_each_subcommand_has_a_page_with_its_options_and_those_below_it(self):
        program = describe.describe(os.environ["HOLDFAST_CLI"])
        pages = {
            name: "\n".join(lines).replace("\\-", "-") for name, lines in describe.manuals(program, "1", "1", "other(8)")
        }
        self.assertEqual(len(pages), len(program.commands) + 1)
        self.assertIn("holdfast-run(1)", pages["holdfast"])
        self.assertNotIn("--kernel", pages["holdfast"])
        self.assertIn("Exit status", pages["holdfast"])
        for command in program.commands:
            page = pages["-".join(command.path)]
            self.assertIn(f'{"-".join(command.path)} - ', page)
            self.assertTrue(page.endswith("\n.SH SEE ALSO\nholdfast(1), other(8)"))
            self.assertNotIn("Exit status", page)
            for below in describe.all_commands(command):
                for option in below.options:
                    self.assertIn(option.flags[-1], page)

    def test_every_option_is_a_key_of_the_configuration_file(self):
        program = os.environ["HOLDFAST_DAEMON"]
        daemon = describe.describe(program)
        page = describe.configuration(daemon)
        keys = [entry.term for _, entries in page.sections for entry in entries]
        text = subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout
        flags = [flag[2:] for flag in _flags_in(text)]
        self.assertEqual(
            {key.split(" = ")[0] for key in keys} | {"help", "version", "config", "check-config"}, set(flags)
        )
        values = tomllib.loads(re.sub(r"= (N|INT|UINT)$", "= 1", "\n".join(keys), flags=re.MULTILINE))
        self.assertEqual(values["max-connections"], 4096)
        self.assertEqual(values["socket-mode"], "0600")
        self.assertEqual(values["device"], "auto")

    @unittest.skipUnless(shutil.which("groff"), "groff is missing")
    def test_pages_are_correct_roff(self):
        commands = [describe.describe(program) for program in _programs()]
        pages = ["\n".join(lines) for _, lines in describe.manuals(commands[0], "1", "1")]
        pages += ["\n".join(describe.manual(one, "1", "1")) for one in [*commands, describe.configuration(commands[1])]]
        with open(os.environ["HOLDFAST_POLICY_PAGE"], encoding="utf-8") as policy:
            pages.append("\n".join(describe.page(policy.read())))
        for page in pages:
            done = subprocess.run(
                ["groff", "-man", "-Tutf8", "-ww", "-z"],
                input=page, capture_output=True, text=True, check=True,
            )  # fmt: skip
            self.assertEqual(done.stderr, "")


if __name__ == "__main__":
    unittest.main()
