#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# CUDA programs of Debian run unchanged on the CPU's driver: hashcat finds a password and measures itself, and
# numba passes its own CUDA tests, as many as run in SECONDS (by default 75); and once more in a daemon, by
# `holdfast exec`. Nothing but LD_LIBRARY_PATH is set for them, and for numba what brings it to CUDA 13
# (numba/sitecustomize.py).
#
# Usage: unchanged_programs.sh [SECONDS]
set -euo pipefail
cd "$(dirname "$0")/../.."
# shellcheck source=deploy/ci/arguments.sh
. deploy/ci/arguments.sh
take_help "$@"
[[ $# -le 1 && ${1:-75} =~ ^[0-9]+$ ]] || refuse "it takes a number of seconds, or nothing"
# shellcheck source=deploy/setup/prepare.sh
. deploy/setup/prepare.sh
require_cuda_toolkit
install_packages hashcat python3-numba
bazel build --noshow_progress --ui_event_filters=-info //client/cli:holdfast //client/cuda:libcuda.so.1 \
  //core/software:libholdfast_software.so //server:holdfastd

directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
# Files of the programs, hashcat's compiled kernels among them, go to a home of their own.
export HOME=$directory XDG_CACHE_HOME=$directory/cache XDG_DATA_HOME=$directory/data
# The folder of libraries is not in the cache that each start of hashcat empties.
driver=$(XDG_CACHE_HOME=$directory/libraries bazel-bin/client/cli/holdfast cuda-path --cpu)
libraries=$CUDA_HOME/lib64
[ -d "$libraries" ] || libraries=$CUDA_HOME/lib
# NVRTC's headers and libraries are the toolkit's.
export LD_LIBRARY_PATH=$libraries

# A first start, on a machine where no kernel has been compiled before. hashcat gives a kernel two seconds, or gives up
# with exit status 0; it has launched the kernel in a test of its own, with another size of blocks, by then.
run_hashcat() {
  rm -rf "$XDG_CACHE_HOME/holdfast"
  "${with[@]}" hashcat --backend-ignore-opencl --hash-type=0 "$@"
}

# In the folder `directory`, by the command `with`.
try_hashcat() {
  cd "$directory"
  rm -f found speed
  run_hashcat --attack-mode=0 --potfile-disable --quiet --outfile=found hash words
  grep ':hello$' found
  rm found
  run_hashcat --attack-mode=3 --potfile-disable --quiet --outfile=found hash '?l?l?l?l?l'
  grep ':hello$' found
  run_hashcat --benchmark --machine-readable | tee speed
  grep -q '^1:0:' speed
  cd "$OLDPWD"
}
with=(env "LD_LIBRARY_PATH=$driver:$libraries")
in_daemon=("$PWD/bazel-bin/client/cli/holdfast" exec --device=cpu --)
printf 'world\nhello\nholdfast\n' >"$directory/words"
printf '%s' hello | md5sum | cut -d " " -f 1 >"$directory/hash"
try_hashcat
say "hashcat finds a password on the processor"
with=("${in_daemon[@]}")
try_hashcat
say "hashcat finds a password in a daemon"

# numba looks for libNVVM in nvvm/lib64, which the toolkit's Python packages do not have.
toolkit=$directory/toolkit
mkdir -p "$toolkit/nvvm/lib64"
for folder in bin include; do ln -s "$CUDA_HOME/$folder" "$toolkit/$folder"; done
ln -s "$libraries" "$toolkit/lib64"
ln -s "$CUDA_HOME/nvvm/libdevice" "$toolkit/nvvm/libdevice"
nvvm=$(find -L "$CUDA_HOME/nvvm" "$libraries" -maxdepth 2 -name 'libnvvm.so.*' -print -quit)
ln -s "$nvvm" "$toolkit/nvvm/lib64/libnvvm.so"
numba_tests=(/usr/bin/python3 deploy/ci/numba/run_tests.py "${1:-75}")
export PYTHONPATH=$PWD/deploy/ci/numba
LD_LIBRARY_PATH=$driver:$libraries CUDA_HOME=$toolkit "${numba_tests[@]}"
say "The same in a daemon"
# holdfastd compiles with the toolkit's own folders.
"${in_daemon[@]}" env CUDA_HOME="$toolkit" "${numba_tests[@]}" 96
