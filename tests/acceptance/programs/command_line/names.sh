#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Kernels by long names: instantiations of templates, names of compilers for Python, a thousand characters.
# shellcheck source=tests/acceptance/checks/checks.sh
. "$CHECKS/checks.sh"
cat >long.cu <<'SOURCE'
namespace library { namespace detail {
template <int Threads, int Items, typename Value> struct tuning_policy_of_this_architecture { Value values[Items]; };
template <typename Policy, typename Iterator, typename Result>
__global__ void reduce_by_segments_kernel(Result* out) { out[threadIdx.x] = sizeof(Policy) + sizeof(Iterator); }
} }
SOURCE
run() { works "a name of ${#2} characters" holdfast run "$1" --kernel "$2" --grid 1 --block 3 'out:o.npy:i32[3]' && same "its result" "$(array o.npy)" "$3"; }
policy='library::detail::tuning_policy_of_this_architecture'
run long.cu "library::detail::reduce_by_segments_kernel<$policy<128, 4, double>, const float*, int>" "[40, 40, 40]"
run long.cu "library::detail::reduce_by_segments_kernel<$policy<256, 2, unsigned long long>, unsigned long long, int>" "[24, 24, 24]"
long=$(printf 'n%.0s' $(seq 1000))
echo "extern \"C\" __global__ void $long(int* out) { out[threadIdx.x] = 5; }" >thousand.cu
run thousand.cu "$long" "[5, 5, 5]"
refused "a name that is not there" 1 'other' holdfast run thousand.cu --kernel other --grid 1 --block 1 scratch:4
finish
