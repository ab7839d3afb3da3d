#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Weights in safetensors files: every type of the format, and files that lie.
# shellcheck source=tests/acceptance/checks/checks.sh
. "$CHECKS/checks.sh"
name=acceptance-$$-$RANDOM
make_file() {  # DTYPE ELEMENTS BYTES [FIELDS]
  "$PYTHON" - "$@" <<'SCRIPT'
import json, struct, sys
dtype, elements, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
entry = {"dtype": dtype, "shape": [elements], "data_offsets": [0, size]} | json.loads(sys.argv[4] if len(sys.argv) > 4 else "{}")
header = json.dumps({"w": entry}).encode()
open("w.safetensors", "wb").write(struct.pack("<Q", len(header)) + header + bytes(i % 251 for i in range(size)))
SCRIPT
}
for type in BOOL:8 U8:8 I16:16 F8_E4M3:8 F8_E5M2:8 F8_E8M0:8 BF16:16 F16:16 F32:32 F64:64 C64:64 F4:4 F6_E2M3:6 F6_E3M2:6; do
  bytes=$((8 * ${type#*:} / 8))
  make_file "${type%:*}" 8 $bytes
  works "${type%:*} is loaded" holdfast collection load "$name" w.safetensors
  works "and verified" holdfast collection verify "$name" w.safetensors
done
works "saved" holdfast collection save "$name" copy.safetensors
same "the bytes of the copy" "$(tail -c 6 copy.safetensors | od -An -tx1)" "$(tail -c 6 w.safetensors | od -An -tx1)"
make_file F32 5 16
refused "a size unlike the shape" 1 'w' holdfast collection load "$name" w.safetensors
make_file F33 4 16
refused "a type that is none" 1 'F33' holdfast collection load "$name" w.safetensors
ln -s victim linked.part
works "a name beside a planted link" holdfast collection save "$name" linked
if [ -e victim ]; then wrong "the link's target is written"; else right "the link's target is not written"; fi
works "removed" holdfast collection rm "$name"
finish
