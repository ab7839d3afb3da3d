#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What compiles for clients is confined by mounts, not by Landlock alone: without mounts this whole run would prove less.
# shellcheck source=tests/acceptance/checks/checks.sh
. "$CHECKS/checks.sh"
echo 'extern "C" __global__ void k(int* x) { *x = 1; }' >k.cu
works "a compilation" holdfast compile k.cu -o k.ptx
works "holdfast version" holdfast version
cp out version
works "compilers have a file system of their own" grep mounts version
finish
