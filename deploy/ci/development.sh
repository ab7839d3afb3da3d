#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A program outside of the tree compiles with CMake, pkg-config and Bazel against Holdfast as it is installed, and
# computes what is right.
#
# Usage: development.sh PREFIX EXAMPLE     PREFIX: /usr, or the folder of an unpacked bundle; EXAMPLE: the folder
#                                          deploy/development/example, or where the package has it
# The daemon is the one that clients find by themselves, or $HOLDFAST_ADDRESS. RULES_CC: where a copy of the tree's
# third_party/rules_cc is, for a script that is not in the tree.
set -euo pipefail
usage() { awk 'NR <= 2 { next } /^#/ { sub(/^# ?/, ""); print; next } { exit }' "$0"; }
[[ ${1:-} != --help ]] || { usage; exit 0; }
[[ $# -eq 2 && -d $1 && -d $2 ]] || { usage >&2; exit 2; }
prefix=$(realpath "$1")
example=$(realpath "$2")
rules_cc=$(realpath "${RULES_CC:-$(dirname "$0")/../../third_party/rules_cc}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
cp "$example"/* .
libraries=$(dirname "$(find "$prefix/lib" -maxdepth 2 -name 'libholdfast.so' | head -n 1)")
expected='50000 of 50000 elements are right'

runs() {  # TITLE PROGRAM
  local said
  said=$("$2" 2>&1) || true
  [ "$said" = "$expected" ] || { echo "FAILED: $1: $said"; exit 1; }
  echo "ok: $1"
}

with_pkg_config() {
  local flags abseil
  # As where nothing is installed but Abseil, which the package depends on: without gRPC's and Protocol Buffers' files.
  abseil=$(pkg-config --variable=pcfiledir absl_status)
  mkdir pkgconfig
  cp "$abseil"/absl_*.pc pkgconfig
  sed "s|\${pcfiledir}|$libraries/pkgconfig|" "$libraries/pkgconfig/holdfast-cpp.pc" >pkgconfig/holdfast-cpp.pc
  read -ra flags < <(PKG_CONFIG_LIBDIR=$work/pkgconfig pkg-config --cflags --libs holdfast-cpp)
  g++ -std=c++20 scale.cc -o with_pkg_config "${flags[@]}"
  runs "pkg-config" ./with_pkg_config
}

# In C, where neither Abseil's development files nor a compiler for C++ are found.
with_cmake_in_c() {
  mkdir in_c
  cat >in_c/CMakeLists.txt <<'CMAKE'
cmake_minimum_required(VERSION 3.16)
project(connect C)
find_package(holdfast 0.1 REQUIRED)
add_executable(connect connect.c)
target_link_libraries(connect holdfast::c)
CMAKE
  cat >in_c/connect.c <<'C'
#include <holdfast.h>
#include <stdio.h>
int main(void) {
  hf_daemon* daemon = NULL;
  hf_error* error = hf_daemon_connect(NULL, &daemon);
  puts(error != NULL ? hf_error_message(error) : "50000 of 50000 elements are right");
  hf_daemon_free(daemon);
}
C
  cmake -S in_c -B built_in_c -Dholdfast_DIR="$libraries/cmake/holdfast" -DCMAKE_CXX_COMPILER=/nonexistent \
    -DCMAKE_DISABLE_FIND_PACKAGE_absl=ON >cmake.log 2>&1 || { cat cmake.log; exit 1; }
  cmake --build built_in_c >>cmake.log 2>&1 || { cat cmake.log; exit 1; }
  runs "CMake, C interface" built_in_c/connect
}

with_cmake() {
  local cmake=(cmake -S . -DCMAKE_PREFIX_PATH="$prefix" -Dholdfast_DIR="$libraries/cmake/holdfast")
  # As where gRPC's development files are not installed.
  PKG_CONFIG_LIBDIR=$work/pkgconfig "${cmake[@]}" -B without_grpc >cmake.log 2>&1 || { cat cmake.log; exit 1; }
  "${cmake[@]}" -B built >cmake.log 2>&1 || { cat cmake.log; exit 1; }
  if grep -A 5 'CMake Warning' cmake.log; then echo "FAILED: CMake warns"; exit 1; fi
  cmake --build built >>cmake.log 2>&1 || { tail -n 20 cmake.log; exit 1; }
  runs "CMake, shared library" built/scale
  runs "CMake, static library" built/scale_static
}

with_bazel() {
  sed "s|/usr/share/holdfast/bazel|$prefix/share/holdfast/bazel|" example.WORKSPACE >WORKSPACE
  mv example.BUILD BUILD.bazel
  # Rules that the distribution's Bazel would download otherwise.
  local options=(--override_repository=rules_java=/usr/share/bazel/rules/java --override_repository=rules_cc="$rules_cc")
  bazel --nohome_rc --output_user_root="$work/bazel" build "${options[@]}" //:scale >bazel.log 2>&1 ||
    { tail -n 20 bazel.log; exit 1; }
  runs "Bazel" bazel-bin/scale
  bazel --nohome_rc --output_user_root="$work/bazel" shutdown 2>/dev/null
  chmod -R u+w "$work/bazel"
}

with_pkg_config
if command -v cmake >/dev/null; then
  with_cmake
  with_cmake_in_c
else
  echo "skipped: CMake is not installed"
fi
if command -v bazel >/dev/null; then with_bazel; else echo "skipped: Bazel is not installed"; fi
