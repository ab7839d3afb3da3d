# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# A Debian that systemd boots in a container, to install packages in: a copy of this machine that forgets
# all changes, or a minimal system made for the purpose. Sourced.
#
#   machine_can_boot || ...      says why not
#   machine_boot FOLDER          FOLDER, which has to be open to all users, is its /packages
#   in_machine COMMAND...        as root
#   machine_halt
#
# HOLDFAST_MACHINE=minimal takes a system with nothing but essential packages, systemd, and those that
# HOLDFAST_MACHINE_PACKAGES names, with commas between; that needs mmdebstrap, a mirror, and a minute.

machine_can_boot() {
  [ "$(id -u)" -eq 0 ] || { echo "a container can be booted by root only"; return 1; }
  command -v systemd-nspawn >/dev/null || { echo "systemd-nspawn is missing: install systemd-container"; return 1; }
  [ -n "$(machine_cgroups)" ] || { echo "no cgroup2 hierarchy is mounted"; return 1; }
}

machine_cgroups() { findmnt --noheadings --types cgroup2 --output TARGET --first-only; }

# until_true SECONDS COMMAND...: polls.
until_true() {
  local deadline=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    [ "$SECONDS" -lt "$deadline" ] || return 1
    sleep 0.05
  done
}

in_machine() { nsenter --target "$machine_init" --all "$@"; }
machine_is_up() {
  machine_init=$(pgrep --parent "$machine_nspawn") && in_machine systemctl is-active basic.target
}

# The root directory: what lies below is not changed.
machine_make_root() {
  local below=/
  mount -t tmpfs tmpfs "$machine"
  mkdir "$machine"/{below,changes,work,root}
  if [ "${HOLDFAST_MACHINE:-}" = minimal ]; then
    below=$machine/below
    mmdebstrap --quiet --variant=apt \
      --include="systemd,systemd-sysv${HOLDFAST_MACHINE_PACKAGES:+,$HOLDFAST_MACHINE_PACKAGES}" bookworm "$below"
  fi
  mount -t overlay overlay -o "lowerdir=$below,upperdir=$machine/changes,workdir=$machine/work" "$machine/root"
  # Container images forbid packages to start services.
  rm -f "$machine/root/usr/sbin/policy-rc.d"
}

machine_boot() {
  local options=() folder
  # systemd-nspawn does not know Landlock yet.
  local landlock="landlock_create_ruleset landlock_add_rule landlock_restrict_self"
  machine=$(mktemp -d)
  machine_make_root
  # systemd-nspawn needs a group of its own below cgroup2's root, and offers the older hierarchies of a
  # machine with both unless it is told not to.
  machine_group=$(machine_cgroups)/holdfast-$$
  mkdir "$machine_group"
  # Where toolkits live may be a file system of its own.
  for folder in "${CUDA_HOME:-/usr/local/cuda}" "$(realpath "${CUDA_HOME:-/usr/local/cuda}")"; do
    [ ! -d "$folder" ] || options+=("--bind-ro=$(realpath "$folder"):$folder")
  done
  (
    echo "$BASHPID" >"$machine_group/cgroup.procs"
    UNIFIED_CGROUP_HIERARCHY=1 exec systemd-nspawn --quiet --directory="$machine/root" --bind-ro="$1:/packages" \
      "${options[@]}" --system-call-filter="$landlock" --machine="holdfast$$" --register=no --keep-unit --private-network --link-journal=no \
      --console=pipe --boot systemd.unit=basic.target systemd.mask=systemd-firstboot.service
  ) </dev/null >"$machine/console.log" 2>&1 &
  machine_nspawn=$!
  until_true 30 machine_is_up || { cat "$machine/console.log"; return 1; }
}

machine_halt() {
  # SIGRTMIN+14: power off at once.
  [ -z "${machine_init:-}" ] || kill -s SIGRTMIN+14 "$machine_init" || true
  [ -z "${machine_nspawn:-}" ] || wait "$machine_nspawn" || true
  # Beside cgroup2, systemd-nspawn makes a group of the same name in the hierarchy that is named systemd.
  find /sys/fs/cgroup -depth -type d -path "*/${machine_group##*/}*" -exec rmdir {} \;
  umount "$machine/root" "$machine" && rmdir "$machine"
}
