# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What tools need that read C++ files of the tree outside of Bazel: clang-tidy and clangd. Sourced from the tree's root.

# Headers that are generated. Their folders are below bazel-bin.
build_generated_headers() { bazel build --noshow_progress //proto/... //tests/bench/software:kernels_text; }

# shellcheck disable=SC2034  # for those who source it
cxx_flags=(
  -std=c++20 -I. -Ibazel-bin -Ibazel-bin/proto
  -isystem "${CUDA_HOME:-/usr/local/cuda}/include"
  -iquote tests/acceptance/checks -isystem client/c
  -isystem /usr/include/llvm-19 -isystem /usr/include/llvm-c-19
  -isystem "$(/usr/bin/python3 -c 'import sysconfig; print(sysconfig.get_path("include"))')" -DPy_LIMITED_API=0x030A0000
  -Wthread-safety -Wthread-safety-beta
)
