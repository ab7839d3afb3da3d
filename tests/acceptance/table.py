# SPDX-License-Identifier: Apache-2.0
"""The table of an acceptance run: a row for each program, a column for each installation and user."""

from __future__ import annotations

from program import Outcome

WIDTH = 240  # characters of a wrong line


class Table:
    def __init__(self) -> None:
        self.outcomes: dict[tuple[str, str], Outcome] = {}

    def add(self, program: str, column: str, outcome: Outcome) -> None:
        self.outcomes[program, column] = outcome

    def count(self, verdict: str) -> int:
        return sum(outcome.verdict == verdict for outcome in self.outcomes.values())

    def text(self) -> str:
        programs = sorted({program for program, _ in self.outcomes})
        columns = list(dict.fromkeys(column for _, column in self.outcomes))
        rows = [["program", *columns]]
        for program in programs:
            cells = [self.outcomes.get((program, column)) for column in columns]
            rows.append([program, *(outcome.verdict if outcome else "" for outcome in cells)])
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
        return "\n".join(lines + self._reasons())

    def _reasons(self) -> list[str]:
        """One line for each cell that is not right; equal ones of a program together."""
        reasons: dict[tuple[str, str], list[str]] = {}
        for (program, column), outcome in sorted(self.outcomes.items()):
            if outcome.verdict != "right":
                line = f"{program}: {outcome.verdict}: {outcome.why[:WIDTH]}"
                reasons.setdefault((program, line), []).append(column)
        return [f"{line}  [{', '.join(columns)}]" for (_, line), columns in reasons.items()]
