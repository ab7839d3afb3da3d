#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Exit status and words of wrong command lines.
# shellcheck source=tests/acceptance/checks/checks.sh
. "$CHECKS/checks.sh"
echo 'extern "C" __global__ void set(float* x, float v) { x[threadIdx.x] = v; }' >k.cu
# shellcheck disable=SC2317  # the helpers call it
go() { holdfast run k.cu --kernel set --grid 1 --block 4 "$@"; }
works "a run" go 'out:o.npy:f32[4]' f32:1.5
for argument in f32:1e39 f32:1e400 f32:1e-300 f64:1e400 f16:70000 i8:300 u32:-1 f32:x scratch:4KiB scratch:-1 x raw:123 'out:o.npy:f33[4]'; do
  refused "the argument $argument" 2 "argument" go "$argument" f32:1
done
works "zero is no value that is too small" go 'out:o.npy:f32[4]' f32:0e-400
works "an array of no dimensions" holdfast run k.cu --kernel set --grid 1 --block 1 'out:o.npy:f32[]' f32:2
same "its value" "$(array o.npy)" "[2.0]"
refused "--grid 1.5" 2 'grid' holdfast run k.cu --kernel set --grid 1.5 --block 4 scratch:16 f32:1
refused "--block 1x2" 2 'block' holdfast run k.cu --kernel set --grid 1 --block 1x2 scratch:16 f32:1
refused "a misspelt command" 2 'did you mean devices' holdfast device
refused "a misspelt option" 2 'did you mean --grid' holdfast run k.cu --kernel set --gird 1 --block 4 scratch:16 f32:1
refused "an unknown command" 2 'frobnicate' holdfast frobnicate
works "holdfast help" holdfast help
works "holdfast help run" holdfast help run
works "holdfast --version" holdfast --version
works "holdfast cache shows its help" sh -c 'holdfast cache 2>&1 | grep -q clear'
refused "no daemon" 3 'no Holdfast daemon' holdfast --address=unix:/nowhere/at-all.sock devices
holdfast run k.cu --kernel none --grid 1 --block 1 scratch:4 f32:1 --json >error.json 2>/dev/null
same "an error as JSON" "$("$PYTHON" -c 'import json; e = json.load(open("error.json"))["error"]; print(e["code"], "none" in e["message"])' 2>&1)" "NOT_FOUND True"
holdfast completion bash >completion.bash
# shellcheck disable=SC2016
same "bash completes a command" "$(bash -c '. ./completion.bash; COMP_WORDS=(holdfast sess); COMP_CWORD=1; _holdfast; echo "${COMPREPLY[@]}"' 2>&1)" sessions
works "kernels of a source" sh -c 'holdfast kernels k.cu | grep -q set'
works "values on the terminal" sh -c "holdfast run k.cu --kernel set --grid 1 --block 4 --print 'out:o.npy:f32[4]' f32:2.5 | grep -q '2.5, 2.5, 2.5, 2.5'"
echo 'extern "C" __global__ void add(const float* x, float* y) { y[threadIdx.x] += x[threadIdx.x]; }' >a.cu
works "inputs without files" holdfast run a.cu --kernel add --grid 1 --block 4 'in:arange:f32[4]' 'inout:zeros:f32[4]:y.npy'
same "their sum" "$(array y.npy)" "[0.0, 1.0, 2.0, 3.0]"
echo 'extern "C" __global__ void twice(float* x) { x[threadIdx.x] *= 2; }' >t.cu
refused "float64 where a kernel wants float" 0 'argument 0 of kernel twice, .*f64; its parameter is float\*' holdfast run t.cu --kernel twice --grid 1 --block 4 'inout:arange:f64[4]:o.npy'
works "float32 there" holdfast run t.cu --kernel twice --grid 1 --block 4 'inout:arange:f32[4]:o.npy'
same "is no mistake" "$(grep -c warning out)" 0
finish
