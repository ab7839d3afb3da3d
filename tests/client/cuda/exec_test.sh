#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# exec_test.sh HOLDFASTD HOLDFAST DRIVER LIBCUDA: `holdfast exec` ends as its program does.
# shellcheck disable=SC2016
set -uo pipefail
export HOLDFAST_DAEMON=$PWD/$1 HOLDFAST_SOFTWARE_DRIVER=$PWD/$3 HOLDFAST_LIBCUDA=$PWD/$4
export XDG_CACHE_HOME=${TEST_TMPDIR:-/tmp}
holdfast=$2
failures=0

expect() {  # STATUS WHAT: compares with the last command's
  local status=$?
  [ "$status" -eq "$1" ] || { echo "$2: exit status $status, not $1"; failures=$((failures + 1)); }
}

"$holdfast" exec --device=cpu -- sh -c 'exit 7'
expect 7 "a private daemon"
HOLDFAST_ADDRESS=embedded:device=cpu "$holdfast" exec -- python3 -c 'import ctypes
assert ctypes.CDLL("libcuda.so.1").cuInit(0) == 0'
expect 0 "a private daemon by HOLDFAST_ADDRESS"
"$holdfast" exec --direct -- sh -c 'exit 5'
expect 5 "the program's own process"
"$holdfast" exec --direct -- sh -c 'kill -TERM $$'
expect 143 "a signal"
"$holdfast" exec --device=cpu -- sh -c 'kill -TERM $$'
expect 143 "a signal, in a private daemon"
"$holdfast" exec --direct -- /nowhere/program 2>/dev/null
expect 127 "no program"
"$holdfast" exec --device=cpu -- /nowhere/program 2>/dev/null
expect 127 "no program, in a private daemon"
"$holdfast" exec --address=unix:/nowhere/socket -- true 2>/dev/null
expect 3 "no daemon"
"$holdfast" exec 2>/dev/null
expect 2 "no PROGRAM"
"$holdfast" exec --device=cpu -- sh -c '[ -e "${LD_LIBRARY_PATH%%:*}/libcuda.so.1" ] && [ -S "${HOLDFAST_ADDRESS#unix:}" ]'
expect 0 "the environment"
# Registered memory is for copies; HOLDFAST_CUDA_LOG says why kernels have no address of it.
said=$(HOLDFAST_CUDA_LOG=1 "$holdfast" exec --device=cpu -- python3 -c 'import ctypes
driver = ctypes.CDLL("libcuda.so.1")
context, pointer = ctypes.c_void_p(), ctypes.c_uint64()
memory = (ctypes.c_char * 65536)()
assert driver.cuInit(0) == 0 and driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert driver.cuCtxSetCurrent(context) == 0
assert driver.cuMemHostRegister_v2(memory, ctypes.c_size_t(65536), 0) == 0
assert driver.cuMemHostGetDevicePointer_v2(ctypes.byref(pointer), memory, 0) == 801
assert driver.cuMemHostUnregister(memory) == 0' 2>&1)
expect 0 "registered memory"
[[ $said == *"kernels cannot use memory that is registered by cuMemHostRegister"* ]]
expect 0 "why kernels have no address of registered memory: $said"
# Why code is refused is said once, to programs that read no log.
refused='import ctypes
driver = ctypes.CDLL("libcuda.so.1")
context, module, library, kernel = (ctypes.c_void_p() for _ in range(4))
assert driver.cuInit(0) == 0 and driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert driver.cuCtxSetCurrent(context) == 0
header = b".version 8.0\n.target sm_75\n.address_size 64\n"
broken = header + b".visible .entry k() { this is no instruction; }"
for _ in range(2):
    assert driver.cuModuleLoadData(ctypes.byref(module), broken) == 218
log = ctypes.create_string_buffer(4096)
options = (ctypes.c_int * 2)(5, 6)
values = (ctypes.c_void_p * 2)(ctypes.addressof(log), 4096)
other = broken.replace(b"no instruction", b"no_thing")
assert driver.cuModuleLoadDataEx(ctypes.byref(module), other, 2, options, values) == 218
assert log.value
missing = header + b".extern .func gone();\n.visible .entry k() { call gone; ret; }"
assert driver.cuModuleLoadData(ctypes.byref(module), missing) != 0 or driver.cuModuleGetFunction(ctypes.byref(kernel), module, b"k") != 0
archive = b"!<arch>\n"
load = [ctypes.byref(library), archive, None, None, 0, None, None, 0]
assert driver.cuLibraryLoadData(*load) == 0
print("loaded", file=__import__("sys").stderr, flush=True)
assert driver.cuLibraryGetKernel(ctypes.byref(kernel), library, b"k") == 200
assert driver.cuLibraryUnload(library) == 0'
for where in --device=cpu --direct; do
  said=$("$holdfast" exec $where -- python3 -c "$refused" 2>&1)
  expect 0 "refused code, $where: $said"
  [ "$(grep -c "holdfast: code of this program is refused (CUDA_ERROR_INVALID_PTX)" <<<"$said")" -ge 1 ]
  expect 0 "why PTX is refused, $where: $said"
  [ "$(grep "is refused" <<<"$said" | sort | uniq -d)" = "" ] && ! grep -q no_thing <<<"$said"
  expect 0 "said once, and not what the program reads, $where: $said"
  [[ $said == *gone*loaded*"refused (CUDA_ERROR_INVALID_IMAGE)"* ]]
  expect 0 "what is missing, and bytes that are no image, $where: $said"
done
# With --memcheck, a store behind a buffer is an error that names it; without, nobody is told.
stray='import ctypes, sys
driver = ctypes.CDLL("libcuda.so.1")
context, module, kernel, pointer = (ctypes.c_void_p() for _ in range(4))
assert driver.cuInit(0) == 0 and driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert driver.cuCtxSetCurrent(context) == 0
code = b""".version 8.0\n.target sm_75\n.address_size 64
.visible .entry k(.param .u64 p) { .reg .u64 %a; ld.param.u64 %a, [p]; st.global.u32 [%a], 1; ret; }"""
assert driver.cuModuleLoadData(ctypes.byref(module), code) == 0
assert driver.cuModuleGetFunction(ctypes.byref(kernel), module, b"k") == 0
assert driver.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(16)) == 0
for place in 12, 16:
    address = ctypes.c_void_p(pointer.value + place)
    arguments = (ctypes.c_void_p * 1)(ctypes.addressof(address))
    assert driver.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, None, arguments, None) == 0
    print("place", place, driver.cuCtxSynchronize(), flush=True)'
for where in --memcheck "--memcheck --direct" "--memcheck --device=cpu"; do
  # shellcheck disable=SC2086
  said=$("$holdfast" exec $where -- python3 -c "$stray" 2>&1)
  [[ $said == *"place 12 0"*"place 16 700"* && $said == *"right behind the end of the buffer of 16 bytes"* ]]
  expect 0 "a stray store, $where: $said"
done
said=$("$holdfast" exec --memcheck -- python3 -c "$stray" 2>&1)
[[ $said == *"; the program's context is lost: "* && $said != *"told to recover"* ]]
expect 0 "what a fault means for the program: $said"
said=$(HOLDFAST_CUDA_LOG=1 "$holdfast" exec --memcheck -- python3 -c "$stray
assert driver.cuMemFree_v2(pointer) == 700" 2>&1)
[[ $said == *"ILLEGAL_ADDRESS: cuMemFree_v2: the program's context was lost by the fault above"* ]]
expect 0 "a call after a fault: $said"
# The log has the reason of each refusal, or the name of the function; a query is no failure.
refusals='import ctypes, struct
driver = ctypes.CDLL("libcuda.so.1")
context, module, kernel, event = (ctypes.c_void_p() for _ in range(4))
assert driver.cuCtxSynchronize() == 3
assert driver.cuInit(0) == 0 and driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert driver.cuCtxSetCurrent(context) == 0
code = b".version 8.0\n.target sm_75\n.address_size 64\n.visible .entry k() { ret; }"
assert driver.cuModuleLoadData(ctypes.byref(module), code) == 0
assert driver.cuModuleGetFunction(ctypes.byref(kernel), module, b"k") == 0
assert driver.cuLaunchKernel(kernel, 1, 1, 1, 5000, 1, 1, 0, None, None, None) == 1
assert driver.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 1 << 30, None, None, None) == 1
assert driver.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, None, None, None) == 0
assert driver.cuMemFree_v2(ctypes.c_uint64(0x1234)) == 1
assert driver.cuStreamSynchronize(ctypes.c_void_p(77)) == 400
assert driver.cuMemHostGetFlags(None, None) == 1
assert driver.cuDeviceGetLuid(None, None, 0) == 801
assert driver.cuImportExternalMemory(None, None) == 801
attribute = (ctypes.c_uint32 * 18)(9999)
launch = struct.pack("7I4xQQI4x", 1, 1, 1, 1, 1, 1, 0, 0, ctypes.addressof(attribute), 1)
assert driver.cuLaunchKernelEx(launch, kernel, None, None) == 801
assert driver.cuStreamCopyAttributes(None, ctypes.c_void_p(77)) == 400
assert driver.cuDeviceCanAccessPeer(None, 0, 9) == 101
assert driver.cuStreamQuery(None) in (0, 600)'
said=$(HOLDFAST_CUDA_LOG=1 "$holdfast" exec --device=cpu -- python3 -c "$refusals" 2>&1)
expect 0 "calls that are refused: $said"
for why in "cuCtxSynchronize has refused the call" "a block of 5000 threads: kernel k has at most 1024" \
  "1073741824 bytes of dynamic shared memory: kernel k has at most" "cuMemFree_v2: 0x1234 is not the start of memory" \
  "CUDA_ERROR_INVALID_HANDLE: cuStreamSynchronize has" "cuMemHostGetFlags has refused" \
  "cuImportExternalMemory is not served" "cuLaunchKernelEx has refused" "cuStreamCopyAttributes has refused" \
  "cuDeviceCanAccessPeer has refused"; do
  [ "$(grep -c "holdfast: CUDA_ERROR_[A-Z_]*: .*$why\|holdfast: $why" <<<"$said")" -eq 1 ]
  expect 0 "the log says $why: $said"
done
[ "$(grep -c "^holdfast: " <<<"$said")" -eq 10 ]
expect 0 "one line a refusal: $said"
said=$("$holdfast" exec --device=cpu -- python3 -c "$stray" 2>&1)
[[ $said == *"place 12 0"*"place 16 0"* ]]
expect 0 "a stray store that nobody looks for: $said"
"$holdfast" exec --memcheck --device=cuda -- true 2>/dev/null
expect 2 "a GPU has no memcheck"
# CUDA_ERROR_NOT_INITIALIZED in the child of a fork, which has no connection; the parent goes on.
"$holdfast" exec --device=cpu -- python3 -c 'import ctypes, os
driver = ctypes.CDLL("libcuda.so.1")
assert driver.cuInit(0) == 0
child = os.fork()
if child == 0:
    os._exit(driver.cuDriverGetVersion(ctypes.byref(ctypes.c_int())) or driver.cuInit(0))
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3 and driver.cuCtxSynchronize() == 201'
expect 0 "a fork"
# A terminated parent passes the signal on, and its daemon ends.
"$holdfast" exec --device=cpu -- sh -c 'echo "$HOLDFAST_ADDRESS" >"$XDG_CACHE_HOME/address"; exec sleep 60' &
parent=$!
for _ in $(seq 300); do [ ! -s "$XDG_CACHE_HOME/address" ] || break; sleep 0.1; done
kill -TERM "$parent"
wait "$parent"
expect 143 "a signal that is passed on"
address=$(cat "$XDG_CACHE_HOME/address")
[ ! -e "${address#unix:}" ]
expect 0 "the daemon is gone"
exit "$failures"
