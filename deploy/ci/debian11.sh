#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The bundle and the programs of the wheel run on Debian 11, which has glibc 2.31 and the C++ library of GCC 10, as
# root, also behind chroot, and as an ordinary user: every library finds every symbol, a daemon with the software device
# serves and confines its executors as here, kernels run, and a C program compiles. The kernel is this machine's. Debian
# 11 has Python 3.9, so the Python package is not tried.
#
# Usage: debian11.sh [ARCHIVE-OR-WHEEL...]     by default the bundle and the full wheel, which it builds
# The system is made by mmdebstrap from a mirror, in a minute, and kept as $XDG_CACHE_HOME/holdfast/debian11.tar.
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=deploy/ci/arguments.sh
. deploy/ci/arguments.sh
only_files "$@"
# shellcheck source=deploy/ci/check.sh
. deploy/ci/check.sh

[ "$(id -u)" -eq 0 ] || { echo "skipped: only root can enter a root of its own"; exit 0; }
if [ $# -eq 0 ]; then
  bazel build --noshow_progress --ui_event_filters=-info //deploy:bundle //client/python:full_wheel
  set -- bazel-bin/deploy/holdfast*.tar.gz bazel-bin/client/python/full.whl
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
chmod 755 "$folder"
output=$folder/output
root=$folder/root
system=${XDG_CACHE_HOME:-$HOME/.cache}/holdfast/debian11.tar

# The mirrors of Debian that this machine's apt knows. A mirror keeps a release until some time after its last update.
mirrors() {
  # shellcheck disable=SC2016
  apt-get indextargets --format '$(ORIGIN) $(SITE)' 'Created-By: Packages' |
    awk '$1 == "Debian" && $2 !~ /security/ { print $2 }' | sort -u
}

# Lists of packages expire when a release gets no more updates.
make_system() {
  local mirror new=${system%.tar}.new.tar
  mkdir -p "${system%/*}"
  for mirror in $(mirrors); do
    mmdebstrap --quiet --variant=apt --include=gcc,libc6-dev,mount,pkg-config \
      --aptopt='Acquire::Check-Valid-Until "false"' bullseye "$new" "deb $mirror bullseye main" || continue
    mv "$new" "$system"
    return
  done
  echo "no mirror of this machine's apt has bullseye"
  return 1
}

unpack() {
  local file
  mkdir "$root" && tar -xf "$system" -C "$root" && mkdir -p "$root/opt/wheel" "$root/usr/local/cuda" || return 1
  for file in "$@"; do
    case "$file" in
      *.whl) python3 -m zipfile -e "$file" "$root/opt/wheel" && find "$root/opt/wheel" -type f -exec chmod 755 {} + ;;
      *) tar -xzf "$file" -C "$root/opt" --no-same-owner ;;
    esac || return 1
  done
  cp client/c/examples/saxpy.c deploy/ci/debian11_session.sh "$root/opt" && chmod 755 "$root/opt/debian11_session.sh" &&
    useradd --root "$root" --create-home alice
}

# Runs a command in the root, with the toolkit where there is one, as a user. The root is a mount, so that executors can
# mount files anew.
as() {  # USER COMMAND...
  # shellcheck disable=SC2016
  unshare --mount --pid --fork --kill-child --propagation=private bash -euc '
    root=$1 cuda=$2 user=$3
    shift 3
    mount --bind "$root" "$root"
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    mount --rbind /sys "$root/sys"
    [ ! -d "$cuda" ] || mount --bind "$(realpath "$cuda")" "$root/usr/local/cuda"
    cd "$root"
    pivot_root . mnt
    exec -c /bin/bash -euc "
      export PATH=/opt/holdfast/bin:/usr/bin:/usr/sbin:/bin:/sbin
      cd /
      umount --lazy /mnt
      user=\$1
      shift
      export HOME=\$(getent passwd \$user | cut -d: -f6)
      exec setpriv --reuid=\$user --regid=\$user --init-groups \"\$@\"" - "$user" "$@"
  ' - "$root" "${CUDA_HOME:-/usr/local/cuda}" "$@"
}

# Runs a command as root where the root directory is no mount point, so that no files can be mounted anew.
behind_chroot() {  # COMMAND...
  # shellcheck disable=SC2016
  unshare --mount --pid --fork --kill-child --propagation=private bash -euc '
    root=$1 cuda=$2
    shift 2
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    mount --rbind /sys "$root/sys"
    [ ! -d "$cuda" ] || mount --bind "$(realpath "$cuda")" "$root/usr/local/cuda"
    exec env -i PATH=/opt/holdfast/bin:/usr/bin:/usr/sbin:/bin:/sbin HOME=/root chroot "$root" "$@"
  ' - "$root" "${CUDA_HOME:-/usr/local/cuda}" "$@"
}

is_debian_11() { [ "$(as root getconf GNU_LIBC_VERSION)" = "glibc 2.31" ] && as root grep bullseye /etc/os-release; }

# A library that lies in the same folder is found, as by the rpath of the program that loads both. The interpreter that
# loads an extension module has the symbols of Python.
# shellcheck disable=SC2016
every_symbol_is_found() {
  as root sh -c 'find /opt -type f >/tmp/files
    while read -r file; do
      [ "$(head -c 4 "$file" | tail -c 3)" = ELF ] || continue
      LD_LIBRARY_PATH=${file%/*} ldd -r "$file" | grep -E "not found|undefined symbol" |
        grep -vE "undefined symbol: _?Py" | sed "s|^|$file: |"
      echo . >>/tmp/looked_at
    done </tmp/files >/tmp/missing
    cat /tmp/missing
    [ ! -s /tmp/missing ] && [ "$(wc -l </tmp/looked_at)" -gt 50 ]'
}

programs_start() {
  local program
  for program in /opt/holdfast/bin/holdfast /opt/holdfast/bin/holdfastd /opt/wheel/holdfast/holdfast \
    /opt/wheel/holdfast/holdfastd; do
    as "$1" "$program" --version || return 1
  done
}

if [ ! -e "$system" ] && ! make_system >"$output" 2>&1; then
  tail -n 5 "$output"
  echo "skipped: no Debian 11 could be made"
  exit 0
fi
check "the root is made" unpack "$@"
[ "$failures" -eq 0 ] || exit 1
check "it is Debian 11" is_debian_11
check "every library finds every symbol" every_symbol_is_found
# shellcheck disable=SC2016
check "a C program compiles" as root sh -c 'sed "s|client/c/holdfast.h|holdfast.h|" /opt/saxpy.c >/tmp/saxpy.c &&
  export PKG_CONFIG_PATH=/opt/holdfast/lib/pkgconfig &&
  gcc -o /usr/bin/c_saxpy /tmp/saxpy.c $(pkg-config --cflags --libs holdfast)'
for user in root alice; do
  check "$user: programs start" programs_start "$user"
  for installed in /opt/holdfast/bin /opt/wheel/holdfast; do
    check "$user: a session with the daemon of $installed" as "$user" /opt/debian11_session.sh "$installed"
    grep -E 'Landlock|holdfast_build_info|tests from' "$output" | sed 's/^/  /'
  done
done
check "root: a session behind chroot" behind_chroot /opt/debian11_session.sh /opt/holdfast/bin
grep -E 'chroot|Landlock' "$output" | sed 's/^/  /'
[ "$failures" -eq 0 ]
