#!/usr/bin/env bash
# clang-tidy over the C++ sources, with the checks of .clang-tidy and Clang's analysis of locks; warnings are
# errors; and shellcheck over every shell script. Needs a finished build, for generated headers. With
# arguments: those C++ files only.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ -d bazel-bin/proto ] || bazel build //proto/...

flags="-std=c++20 -I. -Ibazel-bin -Ibazel-bin/proto -isystem ${CUDA_HOME:-/usr/local/cuda}/include"
flags="$flags -isystem /usr/include/llvm-19 -isystem /usr/include/llvm-c-19"
python_headers=$(/usr/bin/python3 -c 'import sysconfig; print(sysconfig.get_path("include"))')
flags="$flags -isystem $python_headers -DPy_LIMITED_API=0x030A0000"
# The analysis of one function ends after so many steps. With the default, 225 000, a file takes a third longer.
flags="$flags -Xclang -analyzer-config -Xclang max-nodes=5000"
if [ $# -gt 0 ]; then files=("$@"); else
  mapfile -t files < <(git ls-files {core,server,client,proto,deploy/{node,slurm,kubernetes}}/'*.cc')
fi
# Also what ends clang-tidy without a finding, a crash or a file that is not there, fails the step.
log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
export flags
lint() {
  # shellcheck disable=SC2086
  clang-tidy --quiet "$1" -- $flags -Wthread-safety 2>/dev/null
}
export -f lint
printf '%s\n' "${files[@]}" | xargs -P "$(nproc)" -I{} bash -c 'lint {}' >"$log" || status=$?
if [ "$status" -ne 0 ]; then
  grep -E '(warning|error):' "$log" | sort -u || true
  echo "clang-tidy failed (xargs says $status)"
  exit 1
fi

[ $# -eq 0 ] || exit 0
mapfile -t scripts < <(git ls-files '*.sh')
shellcheck -x quickstart check .ci/run deploy/debian/holdfastd.postrm "${scripts[@]}"
