#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The bundle unpacks anywhere, needs only libc, and runs; metrics and the C++ library need what it carries, too. A
# program in C++ compiles against it.
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=deploy/ci/arguments.sh
. deploy/ci/arguments.sh
no_arguments "$@"
bazel build --noshow_progress --ui_event_filters=-info //deploy:bundle
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
for archive in bazel-bin/deploy/holdfast*.tar.gz; do tar -xzf "$archive" -C "$directory"; done

allowed='linux-vdso|libc\.so|libm\.so|libdl\.so|libpthread\.so|ld-linux'
for binary in "$directory"/holdfast/bin/* "$directory"/holdfast/lib/*.so; do
  case "${binary##*/}" in
    libholdfast_metrics.so | libholdfast.so | libhf_c.so) also="$allowed|libstdc\+\+|libgcc_s|$directory/holdfast/lib/" ;;
    *) also=$allowed ;;
  esac
  extra=$(ldd "$binary" | grep -vE "$also" || true)
  [ -z "$extra" ] || { echo "$binary needs more than libc: $extra"; exit 1; }
done

# Metrics, with libraries from the bundle.
"$directory/holdfast/bin/holdfastd" --device=cpu --listen="unix:$directory/socket" --runtime-dir="$directory" \
  --cache-disk=0 --log-level=warning --metrics-address=127.0.0.1:0 --ready-fd=1 >"$directory/ready" &
daemon=$!
trap 'kill "$daemon"; rm -rf "$directory"' EXIT
for _ in $(seq 100); do [ ! -s "$directory/ready" ] || break; sleep 0.1; done
url=$(grep -o 'http://.*' "$directory/ready")
python3 -c 'import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1]).read().decode())' "$url" |
  grep '^holdfast_build_info'
HOLDFAST_ADDRESS=embedded:device=cpu HOLDFAST_DAEMON=$directory/holdfast/bin/holdfastd \
  deploy/ci/development.sh "$directory/holdfast" deploy/development/example
# The library of the bundle finds the daemon of the bundle.
(cd / && PATH=/usr/bin:/bin python3 - "$directory/holdfast/lib/libholdfast.so" <<'EOF'
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
library.hf_daemon_connect.restype = ctypes.c_void_p
library.hf_error_message.argtypes = [ctypes.c_void_p]
library.hf_error_message.restype = ctypes.c_char_p
error = library.hf_daemon_connect(b"embedded:device=cpu", ctypes.byref(ctypes.c_void_p()))
assert not error, library.hf_error_message(error)
EOF
)
(cd / && "$directory/holdfast/bin/saxpy" --address='embedded:device=cpu' --n=65536)

# A CUDA driver for other programs.
[ -e "$("$directory/holdfast/bin/holdfast" cuda-path --cpu)/libcuda.so.1" ]
# And in front of a daemon, for a program that knows nothing of Holdfast.
(cd / && HOLDFAST_DRIVER_LIBRARY=libcuda.so "$directory/holdfast/bin/holdfast" exec --device=cpu -- \
  "$directory/holdfast/bin/driver_conformance" --gtest_filter='LaunchTest.*' --gtest_brief=1) | tee "$directory/launches"
# A filter that matches no test is no success.
grep -qE '^\[=+\] [1-9][0-9]* tests' "$directory/launches"

# Strangers are refused, and bad policies; how long it takes is not looked at.
DEVICE=cpu "$directory/holdfast/strangers.sh" "$directory/holdfast/bin" --count=200 --policies=24 --seconds=0.2
