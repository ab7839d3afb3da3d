# SPDX-License-Identifier: Apache-2.0
"""The text of the tree's comments as reStructuredText.

Comments of headers and protocol files are plain text. A line that is indented by two spaces or more is code, `this`
too; a line that begins with "- ", or with a status ("NOT_FOUND: ..."), is an item of a list, and indented lines below
it are its text.
"""

import re
import textwrap

_ITEM = re.compile(r"^(- |[A-Z][A-Z_]{5,}(, [A-Z_]+)*: )")
_LITERAL = re.compile(r"(`[^`]+`)")
_SPECIAL = re.compile(r"([\\*_|`])")


def escaped(text):
    """A piece of text in reStructuredText; `code` becomes a literal."""
    parts = _LITERAL.split(text)
    for i, part in enumerate(parts):
        parts[i] = f"`{part}`\\ " if i % 2 else _SPECIAL.sub(r"\\\1", part)
    return "".join(parts)


def _code_block(lines):
    statements = [line for line in lines if line and not line.lstrip().startswith("//")]
    language = "cpp" if statements and statements[-1].endswith((";", "}")) else "text"
    text = textwrap.indent(textwrap.dedent("\n".join(lines)).strip("\n"), "   ")
    return f".. code-block:: {language}\n\n{text}"


def _paragraph(lines):
    """A paragraph, and the list that its lines may end with."""
    parts = [[]]
    for line in lines:
        if _ITEM.match(line) and (not parts[-1] or parts[-1][-1].endswith((".", ":", ";"))):
            parts.append([])
        parts[-1].append(line)
    before = escaped(" ".join(parts[0]))
    items = ["- " + escaped(" ".join(part).removeprefix("- ")) for part in parts[1:]]
    return "\n\n".join(filter(None, [before, "\n".join(items)]))


def _without_hanging_indents(lines):
    """The lines; those that go on with an item, and are indented for that, without their indentation."""
    in_item = False
    for line in lines:
        in_item = bool(_ITEM.match(line)) or (in_item and line.startswith("  "))
        yield line.lstrip() if in_item else line


def _blocks(lines):
    """Runs of lines that are code, or text without an empty line."""
    block, is_code = [], False
    for line in [*_without_hanging_indents(lines), ""]:
        indented = line.startswith("  ")
        if block and (indented != is_code if line else not is_code):
            yield is_code, block
            block = []
        if line or block:
            is_code = is_code if block else indented
            block.append(line)
    if block:
        yield is_code, block


def comment_text(lines):
    """The text of a comment; `lines` are without the signs of the comment and the space behind them."""
    return "\n\n".join(_code_block(block) if is_code else _paragraph(block) for is_code, block in _blocks(lines))
