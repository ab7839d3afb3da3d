#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A release is made, and its Debian packages install on a Debian that systemd boots, and do there what they promise.
# Where no container can be booted, they are made and looked at only. rpm.sh looks at its RPM packages.
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=deploy/ci/arguments.sh
. deploy/ci/arguments.sh
no_arguments "$@"
# shellcheck source=deploy/ci/machine.sh
. deploy/ci/machine.sh
# shellcheck source=deploy/ci/check.sh
. deploy/ci/check.sh

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
chmod 755 "$folder"
output=$folder/output

property() { in_machine systemctl show --property="$1" --value holdfastd.service; }
has_property() { [ "$(property "$1")" = "$2" ]; }
differs() { [ "$(property "$1")" != "$2" ]; }
journal_says() { in_machine journalctl --quiet --unit=holdfastd.service | grep -E "$1"; }
as() {  # USER COMMAND...
  in_machine runuser -u "$1" -- "${@:2}"
}
is_refused() { ! as "$@" >"$folder/refusal" 2>&1 && grep -i "permission denied" "$folder/refusal"; }

# The operator's manual, as far as it is marked `bash`; the folder has to be writable.
follow_manual() {
  awk '/^```bash$/ { inside = 1; next } /^```/ { inside = 0 } inside' deploy/README.md >"$folder/manual.sh"
  # shellcheck disable=SC2016
  in_machine bash -c 'cd "$(mktemp -d)" && cp -r /packages/. . && bash -eux manual.sh'
}

install_from_repository() {
  in_machine sh -c 'echo "deb [trusted=yes] file:/packages/apt stable main" >/etc/apt/sources.list.d/holdfast.list
    apt-get update -o Dir::Etc::sourcelist=/etc/apt/sources.list.d/holdfast.list -o Dir::Etc::sourceparts=- &&
    apt-get install --yes --no-install-recommends holdfast-cli && holdfast --version'
}

# shellcheck disable=SC2016
each_command_has_a_page() {
  in_machine sh -c 'zcat /usr/share/man/man1/holdfast-run.1.gz | grep -q "kernel" &&
    for command in $(holdfast __complete "" | cut -f1); do
      [ "$command" = help ] || [ -e "/usr/share/man/man1/holdfast-$command.1.gz" ] || { echo "$command has none"; exit 1; }
    done'
}

compile_example() {
  # shellcheck disable=SC2016
  in_machine sh -c 'sed "s|client/c/holdfast.h|holdfast.h|" /packages/saxpy.c >/tmp/saxpy.c &&
    gcc -o /usr/local/bin/saxpy /tmp/saxpy.c $(pkg-config --cflags --libs holdfast)'
}

completes() {  # LINE WORD: the last word of the line can become WORD
  # shellcheck disable=SC2016
  in_machine bash -c '. /usr/share/bash-completion/completions/holdfast
    read -ra COMP_WORDS <<<"$1"; COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _holdfast
    printf "%s\n" "${COMPREPLY[@]}" | grep -qx -- "$2"' - "$1" "$2"
}

confinement() {
  local mounts="files by mounts and Landlock, system calls by seccomp, own namespaces"
  journal_says "executor.*$mounts" && journal_says "compiler: .*Landlock, system calls by seccomp, own namespaces"
}

# Kills the daemon by what is given, and waits until systemd has started the next.
is_started_again_after() {
  local restarts
  restarts=$(property NRestarts)
  "$@"
  until_true 30 has_property NRestarts $((restarts + 1)) && until_true 30 has_property ActiveState active
}
kill_daemon() { in_machine systemctl kill --kill-who=main --signal="$1" holdfastd.service; }
# A session of alice's with numbers in device memory: waits for the file go, then looks whether they are right. One fault is told.
begin_survivor() {
  # shellcheck disable=SC2016
  in_machine sh -c 'rm -f /tmp/survivor.*; cat >/tmp/survivor.py <<EOF
import array, os, time
import holdfast
session = holdfast.connect("unix:/run/holdfast/holdfast.sock")
device = session.device(0)
stream = device.create_stream()
numbers = array.array("i", range(1 << 16))
memory = device.allocate(len(numbers) * 4, stream=stream)
memory.copy_from(numbers, stream=stream)
stream.sync()
open("/tmp/survivor.ready", "w").close()
while not os.path.exists("/tmp/survivor.go"):
    time.sleep(0.05)
back = array.array("i", bytes(len(numbers) * 4))
for attempt in range(2):
    try:
        memory.copy_to(back, stream=stream)
        stream.sync()
        break
    except holdfast.Fault as fault:
        print(fault)
assert back == numbers
EOF
    chmod 644 /tmp/survivor.py
    (runuser -u alice -- python3 /tmp/survivor.py >/tmp/survivor.out 2>&1; echo $? >/tmp/survivor.status) >/dev/null 2>&1 &'
  until_true 30 in_machine test -e /tmp/survivor.ready
}
survivor_has_its_memory() {
  in_machine touch /tmp/survivor.go
  until_true 30 in_machine test -s /tmp/survivor.status
  in_machine cat /tmp/survivor.out
  in_machine grep -qx 0 /tmp/survivor.status
}
load_collection() {
  in_machine python3 -c 'import json
header = json.dumps({"w": {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}}).encode()
open("/tmp/model.safetensors", "wb").write(len(header).to_bytes(8, "little") + header + bytes(range(16)))'
  in_machine chmod 644 /tmp/model.safetensors
  as alice holdfast collection load survivor /tmp/model.safetensors
  collection=$(as alice holdfast collection verify survivor)
}
collection_is_there() {
  [ -n "$collection" ] && [ "$(as alice holdfast collection verify survivor)" = "$collection" ]
}

# A program that knows CUDA's driver alone, in front of the installed daemon.
unchanged_program_runs() {
  as alice holdfast exec -- python3 -c "import ctypes
driver = ctypes.CDLL(\"libcuda.so\")
runtime = ctypes.CDLL(\"libcudart.so.13\")
count = ctypes.c_int()
assert driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value >= 1
assert runtime.cudaGetDeviceCount(ctypes.byref(count)) == 0 and count.value >= 1"
}

# shellcheck disable=SC2016
cpu_driver_is_there() {
  as alice sh -c 'LD_LIBRARY_PATH=$(holdfast cuda-path --cpu) python3 -c "import ctypes
driver = ctypes.CDLL(\"libcuda.so.1\")
count = ctypes.c_int()
assert driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value == 1
runtime = ctypes.CDLL(\"libcudart.so.13\")
assert runtime.cudaGetDeviceCount(ctypes.byref(count)) == 0 and count.value == 1"'
}

watch_closely() {
  in_machine sh -c 'mkdir -p /run/systemd/system/holdfastd.service.d
    printf "[Service]\nWatchdogSec=1s\nWatchdogSignal=SIGKILL\n" >/run/systemd/system/holdfastd.service.d/test.conf
    systemctl daemon-reload && systemctl restart holdfastd.service'
}

upgrade_leaves_it_alone() {
  local daemon
  daemon=$(property MainPID)
  in_machine dpkg --install /packages/holdfastd_*.deb
  has_property MainPID "$daemon"
}

nothing_is_left() {
  in_machine apt-get purge --yes holdfastd holdfast-cpu
  # shellcheck disable=SC2016
  in_machine sh -c 'for path in /etc/holdfast/holdfastd.toml /var/cache/holdfast /var/lib/holdfast /run/holdfast \
    /lib/systemd/system/holdfastd.service /usr/lib/holdfast/holdfastd /usr/lib/holdfast/cpu; do [ ! -e $path ] || { echo "$path is left"; exit 1; }; done'
}

test_machine() {
  machine_boot "$folder" || return 1
  trap 'machine_halt; rm -rf "$folder"' EXIT
  check "apt installs from the release's repository" install_from_repository
  # Also makes alice, a member of the group.
  check "every command of the operator's manual" follow_manual
  in_machine useradd --create-home bob
  check "the service is active" until_true 60 has_property ActiveState active
  check "it is not root's" in_machine pgrep --uid holdfast --full '^/usr/bin/holdfastd'
  check "holdfast devices, by a member of the group" as alice holdfast devices
  if in_machine sh -c 'command -v gcc pkg-config' >/dev/null; then
    check "a C program compiles with pkg-config holdfast" compile_example
    check "SAXPY by a member of the group" as alice saxpy unix:/run/holdfast/holdfast.sock
    check "SAXPY by another user is refused" is_refused bob saxpy unix:/run/holdfast/holdfast.sock
  fi
  if in_machine sh -c 'command -v g++ pkg-config && test -e /usr/share/doc/libabsl-dev' >/dev/null; then
    check "a C++ program compiles with CMake, pkg-config and Bazel" in_machine \
      env RULES_CC=/packages/rules_cc bash /packages/development.sh /usr \
      /usr/share/doc/libholdfast-dev/examples
    sed 's/^/  /' "$output"
  fi
  check "another user is refused" is_refused bob holdfast devices
  check "an unchanged CUDA program in the daemon" unchanged_program_runs
  check "the CPU's CUDA driver is where holdfast says" cpu_driver_is_there
  check "pip knows the Python package" as alice python3 -c 'import importlib.metadata
assert importlib.metadata.version("holdfast") == "0.1.0"'
  check "import holdfast" as alice python3 -c 'import holdfast; holdfast.connect(
"unix:/run/holdfast/holdfast.sock").device(0).create_stream().sync()'
  check "executors and compilers are confined within the unit" until_true 30 confinement
  check "the journal names driver and device" until_true 30 journal_says "device 0: "
  check "exposure of at most 3.0" in_machine systemd-analyze security --threshold=30 --no-pager holdfastd.service
  in_machine systemd-analyze security --no-pager holdfastd.service | tail -n 1
  check "completion of a command" completes "holdfast sess" sessions
  check "completion of an option" completes "holdfast sessions --us" --usage
  check "each command has a page of the manual" each_command_has_a_page
  check "completion for zsh" in_machine test -s /usr/share/zsh/vendor-completions/_holdfast
  check "completion for fish" in_machine test -s /usr/share/fish/vendor_completions.d/holdfast.fish
  check "a daemon that is killed is started again" is_started_again_after kill_daemon SIGKILL
  check "and serves" as alice holdfast devices
  check "a collection is loaded" load_collection
  check "a session has memory" begin_survivor
  check "the daemon is killed again" is_started_again_after kill_daemon SIGKILL
  check "the collection is there, with the same digests" collection_is_there
  check "the session goes on" survivor_has_its_memory
  check "systemctl restart" watch_closely
  check "a daemon that hangs is started again" is_started_again_after kill_daemon SIGSTOP
  in_machine rm -r /run/systemd/system/holdfastd.service.d
  in_machine systemctl daemon-reload
  in_machine systemctl stop holdfastd.service
  check "a client starts a daemon that was stopped" as alice holdfast devices
  check "an upgrade leaves the running daemon alone" upgrade_leaves_it_alone
  check "purge leaves nothing" nothing_is_left
}

# Those of setup/packages.txt that are compiled against. The rest are tools of the checks.
control_names_every_library() {
  local package missing=0
  while read -r package; do
    grep -qE "^( |Build-Depends:).*\b$package\b" deploy/debian/control || { echo "$package is not in control"; missing=1; }
  done < <(grep -E -- '-dev$' deploy/setup/packages.txt)
  return $missing
}

check "control names every library that setup/packages.txt installs" control_names_every_library
# Also looks at what all of it needs of glibc.
check "a release is made" deploy/release.sh --dirty --no-image "$folder/release"
# shellcheck disable=SC2016
check "its sums are right" sh -c 'cd "$1" && sha256sum --quiet --check SHA256SUMS' - "$folder/release"
check "each library's licence is in what contains it" deploy/ci/licenses.sh "$folder"/release/*.whl \
  "$folder"/release/*.tar.gz "$folder"/release/apt/pool/*.deb "$folder"/release/rpm/*.rpm
deploy/ci/rpm.sh "$folder/release/apt/pool" "$folder/release/rpm" || failures=$((failures + 1))
mv "$folder/release/apt" "$folder/apt"
rm -r "$folder/release"
cp "$folder"/apt/pool/*.deb "$folder"
ls -sh "$folder"/*.deb
cp -r client/c/examples/saxpy.c deploy/ci/development.sh third_party/rules_cc "$folder"
if command -v lintian >/dev/null; then check "lintian" lintian --fail-on=error,warning "$folder"/*.deb; fi
if reason=$(machine_can_boot); then
  test_machine || failures=$((failures + 1))
else
  echo "skipped: installing the packages: $reason"
fi
[ "$failures" -eq 0 ]
