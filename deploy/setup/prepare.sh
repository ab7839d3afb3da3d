# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sets a machine up for building Holdfast. Sourced by ./quickstart, ./check and .ci/run, from the
# tree's root.

say() { printf '\033[1m==>\033[0m %s\n' "$*"; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

# The CUDA toolkit gives the headers and the compiler NVRTC; no GPU is needed. Checked before
# anything is installed or built.
require_cuda_toolkit() {
  export CUDA_HOME="${CUDA_HOME:-/usr/local/cuda}"
  local advice="install the CUDA toolkit 13 (https://developer.nvidia.com/cuda-downloads), or set CUDA_HOME to where it is"
  [ -f "$CUDA_HOME/include/cuda.h" ] || die "no CUDA toolkit at $CUDA_HOME: $advice."
  local version
  version=$(awk '$1 == "#define" && $2 == "CUDA_VERSION" { print $3 }' "$CUDA_HOME/include/cuda.h")
  [ "${version:-0}" -ge 13000 ] ||
    die "the CUDA toolkit at $CUDA_HOME is version $((version / 1000)).$((version % 1000 / 10)), 13.0 or newer is needed: $advice."
  local library
  for library in "$CUDA_HOME"/lib64/libnvrtc.so.* "$CUDA_HOME"/lib/libnvrtc.so.*; do
    [ -e "$library" ] && return
  done
  die "the CUDA toolkit at $CUDA_HOME has no NVRTC (libnvrtc.so): $advice."
}

# Names of packages, of those given, that are not installed.
missing_packages() {
  local name
  for name in "$@"; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null)" = installed ] || echo "$name"
  done
}

# install_packages NAME...: installs those that are missing; uses sudo only if not root.
install_packages() {
  local missing sudo=""
  missing=$(missing_packages "$@" | tr '\n' ' ')
  [ -z "$missing" ] && return
  command -v apt-get >/dev/null || die "these packages are missing, and this is no Debian or Ubuntu: $missing"
  [ "$(id -u)" -eq 0 ] || sudo=sudo
  say "Installing packages: $missing"
  # shellcheck disable=SC2086
  $sudo sh -c "apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $missing" >/dev/null ||
    die "apt-get could not install: $missing"
}

prepare_machine() {
  require_cuda_toolkit
  # shellcheck disable=SC2046
  install_packages $(grep -v '^#' deploy/setup/packages.txt)
}
