# SPDX-License-Identifier: Apache-2.0
"""Weights as a collection: what one reader takes the other takes, and what comes back is what went."""

import json
import os
import struct
import subprocess
import sys

import numpy as np

import holdfast
from checks import equal, finish, holds, refused, works

name = f"acceptance-python-{os.getpid()}"


def write(header, data, padding=b"", text=None):
    text = json.dumps(header).encode() + padding if text is None else text
    with open("w.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def entry(dtype, shape, begin, end, **more):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end], **more}


def load():
    holdfast.collections.load_safetensors("w.safetensors", name)


BITS = {"BOOL": 8, "U8": 8, "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8, "F16": 16, "BF16": 16, "F64": 64, "C64": 64, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6}
for dtype, bits in BITS.items():
    write({"w": entry(dtype, [8], 0, bits)}, bytes(range(bits)))
    works(f"{dtype} is loaded", load)
values = np.arange(12, dtype=np.float32).reshape(3, 4)
write({"__metadata__": {"format": "np"}, "a": entry("F32", [3, 4], 0, 48), "none": entry("F32", [0], 48, 48)}, values.tobytes(), b"   ")
works("a file with metadata, spaces and an empty array", load)
opened = works("it is opened", lambda: holdfast.collections.open(name))
if opened is not None:
    equal("its values", opened.tensors("numpy")["a"], values)
    equal("the shape of no elements", opened["none"].shape, (0,))
write({"a": entry("F32", [4], 0, 12)}, bytes(12))
refused("a size unlike the shape", "a", load)
write({"a": entry("F32", [1], 0, 4), "b": entry("F32", [1], 8, 12)}, bytes(12))
refused("a hole", "b", load)
# Of these the format says nothing; both readers have to take them alike.
ALIKE = {"a field more": (entry("F32", [1], 0, 4, note="x"), b""), "zero bytes behind": (entry("F32", [1], 0, 4), b"\0\0")}
for title, (fields, padding) in ALIKE.items():
    write({}, bytes(4), text=json.dumps({"a": fields}).encode() + padding)
    try:
        load()
        taken = True
    except ValueError:
        taken = False
    command = [sys.executable, "-m", "holdfast", "collection", "load", name, "w.safetensors"]
    status = subprocess.run(command, capture_output=True).returncode
    equal(f"{title}: the command line as Python", status == 0, taken)
holdfast.collections.delete(name)
finish()
