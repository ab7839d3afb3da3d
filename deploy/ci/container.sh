#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A container that podman starts with the CDI specification of `holdfast cdi` runs SAXPY on a daemon outside.
# Its root file system is this machine's, read-only: no image and no registry are needed. Skipped where podman
# is not installed.
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=deploy/ci/arguments.sh
. deploy/ci/arguments.sh
no_arguments "$@"

[ "$(id -u)" -eq 0 ] || { echo "skipped: podman is tried by root only"; exit 0; }
for program in podman runc; do
  command -v $program >/dev/null || { echo "skipped: $program is missing"; exit 0; }
done
bazel build --noshow_progress --ui_event_filters=-info //server:holdfastd //client/cli:holdfast \
  //client/examples:saxpy //core/software:libholdfast_software.so

directory=$(mktemp -d /tmp/holdfast-container-XXXXXX)
chmod 755 "$directory"
group=holdfast-container-$$
finish() {
  kill "$daemon" || true
  wait "$daemon" || true
  # runc leaves the parent group, once in every hierarchy.
  find /sys/fs/cgroup -depth -type d -path "*/$group*" -exec rmdir {} \;
  ! mountpoint --quiet "$directory/containers/overlay" || umount "$directory/containers/overlay"
  rmdir --ignore-fail-on-non-empty /run/cdi
  rm -rf "$directory"
}

mkdir -p "$directory/cdi" "$directory/root"/{dev,proc,sys,run,tmp,etc,usr,opt}
# The container sees two programs of the tree.
cp bazel-bin/client/examples/saxpy bazel-bin/client/cli/holdfast "$directory/root/opt"
for link in bin lib lib64 sbin; do ln -s usr/$link "$directory/root/$link"; done
bazel-bin/server/holdfastd --device=cpu --listen="unix:$directory/run/holdfast.sock" --socket-mode=0666 \
  --runtime-dir="$directory/run" --cache-directory="$directory/cache" 2>"$directory/log" &
daemon=$!
trap finish EXIT
until bazel-bin/client/cli/holdfast devices --address="unix:$directory/run/holdfast.sock" >/dev/null 2>&1; do
  kill -0 "$daemon"
  sleep 0.1
done
bazel-bin/client/cli/holdfast cdi --directory="$directory/run" >"$directory/cdi/holdfast.json"
cat "$directory/cdi/holdfast.json"

# CDI files are read from two fixed directories: a mount namespace gives this test its own.
run_in_container() {
  # shellcheck disable=SC2016
  unshare --mount bash -c 'mkdir -p /run/cdi && mount --bind "$1/cdi" /run/cdi && shift && exec "$@"' - "$directory" \
    podman --root "$directory/containers" --runroot "$directory/runroot" --tmpdir "$directory/libpod" \
    --cgroup-manager=cgroupfs --runtime=runc run --rm --network=none --cgroup-parent="/$group" \
    --ulimit nofile=4096:4096 --ulimit nproc=4096:4096 --user=65534:65534 --cap-drop=all --read-only \
    --volume=/usr:/usr:ro --device=holdfast.dev/daemon=all --rootfs "$directory/root" "$@"
}
run_in_container /opt/saxpy --n=65536
run_in_container /opt/holdfast devices
