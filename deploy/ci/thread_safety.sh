#!/usr/bin/env bash
# Clang's analysis of locks, which gcc ignores, over every C++ file that has a lock or includes one of our
# headers that has: warnings are errors. Needs a finished build, for generated headers. core/software is left
# out: it is linked without Abseil, and a std::mutex is nothing that the analysis knows.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ -d bazel-bin/proto ] || bazel build //proto/...

flags="-std=c++20 -I. -Ibazel-bin -Ibazel-bin/proto -isystem ${CUDA_HOME:-/usr/local/cuda}/include"
mapfile -t annotated < <(git grep -lE 'thread_annotations|synchronization/mutex' -- \
  'core/*.cc' 'core/*.h' 'server/*.cc' 'server/*.h' 'client/*.cc' 'client/*.h')
# A class may be declared in a header with locks and defined in the file beside it, which includes neither.
files=$(printf '%s\n' "${annotated[@]/%.h/.cc}" | grep -v '^core/software/' | sort -u)
for file in $files; do [ ! -e "$file" ] || echo "$file"; done |
  xargs -P "$(nproc)" -I{} sh -c "clang++ -fsyntax-only -Wthread-safety -Werror=thread-safety $flags {}"
