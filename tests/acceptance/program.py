# SPDX-License-Identifier: Apache-2.0
"""A program as users write it, and how one run of it went."""

from __future__ import annotations

import ast
import dataclasses
import os
import pathlib
import re
import shlex
import signal
import subprocess
import time

from installation import Installation, User

LIMIT = 180  # seconds, after which a program hangs
NOT_RUN = 77  # exit status of a program that lacks something; its last line says what


@dataclasses.dataclass(frozen=True)
class Outcome:
    verdict: str  # right, WRONG or not run
    why: str  # the first line that is wrong, or what is lacking
    seconds: float
    output: str


@dataclasses.dataclass(frozen=True)
class Program:
    """`folder`/`name` below programs/."""

    folder: str
    name: str

    @property
    def title(self) -> str:
        return f"{self.folder}/{self.name}"

    def promise(self, root: pathlib.Path) -> str:
        """What is right if the program is: its first comment."""
        text = (root / "programs" / self.folder / self.name).read_text(encoding="utf-8")
        if self.name.endswith(".py"):
            return " ".join((ast.get_docstring(ast.parse(text)) or "").split())
        words: list[str] = []
        for line in text.splitlines():
            comment = re.match(r"(?:#|//|/\*| \*)(?!!)(?: (.*?))?(?: ?\*/)?$", line)
            if comment is None or "shellcheck" in line:
                if words:
                    break
            elif comment[1] and "SPDX" not in comment[1]:
                words += comment[1].split()
        return " ".join(words)

    def command(self, installation: Installation, root: pathlib.Path) -> list[str]:
        file = str(root / "programs" / self.folder / self.name)
        if self.name.endswith(".sh"):
            return ["bash", file]
        if self.name.endswith(".py"):
            return [installation.python, file]
        compiler = "gcc -std=c11" if self.name.endswith(".c") else "g++ -std=c++17"
        warnings = f"-Wall -Wextra -Werror -I{shlex.quote(str(root / 'checks'))}"
        source = shlex.quote(file)
        libraries = "$(pkg-config --cflags --libs holdfast)"
        return ["sh", "-c", f"{compiler} {warnings} -o program {source} {libraries} && ./program"]

    def run(self, installation: Installation, user: User, home: pathlib.Path, root: pathlib.Path) -> Outcome:
        folder = user.make_folder(home / self.title.replace("/", "-"))
        environment = installation.environment(user, home)
        environment |= {"CHECKS": str(root / "checks"), "PYTHONPATH": str(root / "checks")}
        environment |= {"PYTHON": installation.python, "PYTHONDONTWRITEBYTECODE": "1"}
        began = time.monotonic()
        with open(folder / "output", "w+b") as file:
            process = subprocess.Popen(
                self.command(installation, root),
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                **user.process(),
            )
            hangs = _hangs(process)
            file.seek(0)
            output = file.read().decode(errors="replace")
        verdict, why = _judge(process.returncode, hangs, output)
        return Outcome(verdict, why, time.monotonic() - began, output)


def _hangs(process: subprocess.Popen[bytes]) -> bool:
    try:
        process.wait(LIMIT)
        return False
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return True


def _judge(status: int, hangs: bool, output: str) -> tuple[str, str]:
    lines = [line for line in output.splitlines() if line.strip()]
    # Of a Python program that ended by an exception, that one.
    raised = [line for line in lines if re.match(r"[A-Za-z_][\w.]*(Error|Fault|Exception): ", line)]
    wrong = next((line.removeprefix("wrong: ") for line in lines if line.startswith("wrong: ")), "")
    last = (raised or lines or ["it says nothing"])[-1]
    if hangs:
        return "WRONG", wrong or f"it has not ended within {LIMIT} s: {last}"
    if status == 0 and not wrong:
        # A program that checks nothing is wrong, too.
        checked = any(line.startswith("right: ") for line in lines)
        return ("right", "") if checked else ("WRONG", "it has checked nothing")
    if status == NOT_RUN:
        return "not run", last.removeprefix("not run: ")
    if status < 0:
        return "WRONG", wrong or f"ended by {signal.Signals(-status).name}: {last}"
    return "WRONG", wrong or f"exit status {status}: {last}"


def find(root: pathlib.Path) -> list[Program]:
    """Every program, by folder and name."""
    files = sorted(path for path in (root / "programs").glob("*/*") if path.suffix in (".sh", ".py", ".c", ".cc"))
    return [Program(path.parent.name, path.name) for path in files]
