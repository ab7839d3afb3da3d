#!/usr/bin/env bash
# The bundle unpacks anywhere, needs only libc, and runs.
set -euo pipefail
cd "$(dirname "$0")/../.."
bazel build --noshow_progress --ui_event_filters=-info //deploy:bundle
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
for archive in bazel-bin/deploy/holdfast*.tar.gz; do tar -xzf "$archive" -C "$directory"; done

for binary in "$directory"/holdfast/bin/* "$directory"/holdfast/lib/*.so; do
  extra=$(ldd "$binary" | grep -vE 'linux-vdso|libc\.so|libm\.so|ld-linux' || true)
  [ -z "$extra" ] || { echo "$binary needs more than libc: $extra"; exit 1; }
done
(cd / && "$directory/holdfast/bin/saxpy" --address='embedded:device=cpu' --n=65536)
