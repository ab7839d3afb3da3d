# SPDX-License-Identifier: Apache-2.0
"""The transcripts of the README say what a session says, but for what differs from run to run:
addresses, names, and the command at which a fault is noticed. They have the last lines of an
exception, without the traceback."""

import code
import contextlib
import io
import itertools
import os
import re
import sys
import traceback

import pytest

_VARIES = (
    (r"holdfast-embedded-\w+", "holdfast-embedded-*"),
    # The processor's name may have parentheses: "Intel(R) Xeon(R) Processor".
    (r"software device \((?:[^()]|\([^()]*\))*\)", "software device (*)"),
    (r"\b0x[0-9a-f]+\b", "0x*"),
    (r"\bcu[A-Z]\w+: CUDA_ERROR", "cu*: CUDA_ERROR"),
    (r"PTX( line |:)\d+", r"PTX\1*"),
    (r"(none|\d+( to \d+)?) (completed|may have run|dropped)", r"* \3"),
    (r"(?m)^    \d+: .*\n", ""),
)


def _transcripts():
    with open(os.environ["HOLDFAST_README"], encoding="utf-8") as file:
        return re.findall(r"^```pycon\n(.*?)^```", file.read(), re.MULTILINE | re.DOTALL)


def _steps(transcript):
    """Pairs: what is typed, and what is said."""
    steps = []
    for line in transcript.splitlines(keepends=True):
        if line.startswith(">>> "):
            steps.append([line[4:], ""])
        elif line.startswith("..."):
            steps[-1][0] += line[4:] or "\n"
        else:
            steps[-1][1] += line
    return steps


class _Interpreter(code.InteractiveInterpreter):
    def showtraceback(self):
        print("".join(traceback.format_exception_only(sys.exc_info()[1])), end="")


def _comparable(text):
    for pattern, name in _VARIES:
        text = re.sub(pattern, name, text)
    return text


@pytest.mark.parametrize("transcript", _transcripts(), ids=itertools.count())
def test_the_transcript_is_true(transcript):
    interpreter = _Interpreter()
    assert _steps(transcript)
    for typed, said in _steps(transcript):
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            assert not interpreter.runsource(typed, "<README>"), f"unfinished: {typed}"
        assert _comparable(output.getvalue()) == _comparable(said), typed


def test_there_is_a_transcript():
    assert _transcripts()
