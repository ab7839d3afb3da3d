#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A graph from a file. The file may be a stranger's: it names sources below its own folder and nothing else.
# shellcheck source=tests/acceptance/checks/checks.sh
. "$CHECKS/checks.sh"
mkdir folder
echo 'extern "C" __global__ void triple(int* x) { x[threadIdx.x] *= 3; }' >folder/t.cu
cp folder/t.cu outside.cu
graph() {
  cat <<GRAPH
{"kernels": [{"id": 1, "source": "$1", "name": "triple"}],
 "buffers": [{"id": 1, "name": "x", "size": 16}],
 "definition": {"nodes": [{"id": 1, "launch": {"kernel": 1, "grid": {"x": 1}, "block": {"x": 4},
                           "arguments": [{"buffer": {"buffer": 1}}]}}]}}
GRAPH
}
"$PYTHON" -c 'import numpy; numpy.save("x.npy", numpy.arange(4, dtype="i4"))'
graph t.cu >folder/good.json
works "a graph" holdfast graph run folder/good.json inout:x.npy:y.npy --repeat 2
same "its result" "$(array y.npy)" "[0, 9, 18, 27]"
graph ../outside.cu >folder/above.json
refused "a source above the folder" 1 'folder' holdfast graph run folder/above.json inout:x.npy:y.npy
graph "$PWD/folder/t.cu" >folder/absolute.json
refused "an absolute path" 1 'folder' holdfast graph run folder/absolute.json inout:x.npy:y.npy
ln -s ../outside.cu folder/link.cu
graph link.cu >folder/link.json
refused "a link that leads out of the folder" 1 'folder' holdfast graph run folder/link.json inout:x.npy:y.npy
graph 'no\u001b[31m.cu' >folder/escape.json
holdfast graph run folder/escape.json inout:x.npy:y.npy >out 2>&1
same "escape sequences that reach the terminal" "$(tr -dc '\033' <out | wc -c)" 0
finish
