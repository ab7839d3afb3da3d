# SPDX-License-Identifier: Apache-2.0
"""The HTML of objects in notebooks: one small table, in the notebook's own colours."""

_CARD = (
    "display:inline-block;border:1px solid rgba(128,128,128,.4);border-radius:6px;"
    "padding:6px 12px;line-height:1.5"
)
_NAME = "padding-right:1.5em;text-align:left;opacity:.65;border:0;background:none"
_VALUE = "text-align:left;border:0;background:none"


def escape(text):
    return str(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def card(title, rows):
    """A table with a title. ``rows``: pairs of a name and a value, whose text is shown."""
    lines = "".join(
        f'<tr style="background:none"><td style="{_NAME}">{escape(name)}</td>'
        f'<td style="{_VALUE}">{escape(value)}</td></tr>'
        for name, value in rows
    )
    return f'<div style="{_CARD}"><b>{escape(title)}</b><table style="margin:2px 0">{lines}</table></div>'


def bytes_of(size):
    """A number of bytes for people: ``"1.5 GiB"``."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if size < 1024:
            break
        size /= 1024
    else:
        unit = "TiB"
    return f"{size} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
