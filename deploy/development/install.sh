#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what programs outside of the tree compile and link with: headers, libraries, the files of CMake, pkg-config
# and Bazel, and below share/doc/libholdfast-dev a description and examples.
#
# Usage: install.sh ROOT PREFIX LIBRARIES VERSION INCLUDE ARCHIVE HEADER PC SAXPY
#   ROOT       the folder that is to be PREFIX, such as debian/libholdfast-dev/usr
#   PREFIX     where it will be, such as /usr
#   LIBRARIES  the folder of libraries below it, such as lib
#   INCLUDE    what //deploy/development:include has made
#   ARCHIVE    libholdfast.a
#   HEADER     holdfast.h of the C interface
#   PC         holdfast.pc.in
#   SAXPY      saxpy.c, the example in C
set -euo pipefail
root=$1 prefix=$2 libraries=$3 version=$4 include=$5 archive=$6 header=$7 pc=$8 saxpy=$9
here=$(dirname "$0")

# Where the system's loader does not look, programs carry the library's folder.
if [ "$prefix" = /usr ]; then rpath=; else rpath=" -Wl,--disable-new-dtags,-rpath,\${libdir}"; fi

fill_in() {
  sed -e "s|@PREFIX@|$prefix|" -e "s|@VERSION@|$version|" -e "s|^libdir=.*|libdir=\${prefix}/$libraries|" \
    -e "s|^Libs: .*|&$rpath|" "$1"
}

mkdir -p "$root/include" "$root/$libraries"/{pkgconfig,cmake/holdfast} "$root/share/holdfast/bazel"
cp -rL --no-preserve=mode "$include/holdfast" "$root/include/"
install -m 644 "$header" "$root/include/holdfast.h"
install -m 644 "$archive" "$root/$libraries/libholdfast.a"
ln -s libholdfast.so.0 "$root/$libraries/libholdfast.so"
fill_in "$pc" >"$root/$libraries/pkgconfig/holdfast.pc"
fill_in "$here/holdfast-cpp.pc.in" >"$root/$libraries/pkgconfig/holdfast-cpp.pc"
install -m 644 "$here/holdfastConfig.cmake" "$root/$libraries/cmake/holdfast"
fill_in "$here/holdfastConfigVersion.cmake.in" >"$root/$libraries/cmake/holdfast/holdfastConfigVersion.cmake"

# A workspace of Bazel's, whose folders lead to the installation.
bazel=$root/share/holdfast/bazel
install -m 644 "$here/repository.BUILD" "$bazel/BUILD.bazel"
echo 'workspace(name = "holdfast")' >"$bazel/WORKSPACE"
echo "module(name = \"holdfast\", version = \"$version\")" >"$bazel/MODULE.bazel"
# Not a link to the whole of include: -isystem /usr/include breaks the C++ library's headers.
mkdir "$bazel"/{include,lib}
for name in holdfast holdfast.h; do ln -s "../../../../include/$name" "$bazel/include/$name"; done
for name in libholdfast.so libholdfast.so.0; do ln -s "../../../../$libraries/$name" "$bazel/lib/$name"; done

doc=$root/share/doc/libholdfast-dev
install -D -m 644 -t "$doc" "$here/README.md"
install -D -m 644 -t "$doc/examples" "$here"/example/*
sed 's|client/c/holdfast.h|holdfast.h|' "$saxpy" >"$doc/examples/saxpy.c"
