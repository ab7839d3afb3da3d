// SPDX-License-Identifier: Apache-2.0
//
// The properties of this machine's CPU on which the emitters depend.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_HOST_CPU_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_HOST_CPU_H_

namespace holdfast::software::jit {

struct Cpu {
  // The number of lanes of a chunk, which is one vector: 16 with AVX-512,
  // otherwise 8. HOLDFAST_SOFTWARE_LANES=8 selects 8 in any case.
  int lanes = 8;
  // True for AMD's cores without AVX-512. They take about 19 cycles for a
  // masked store of a vector (measured on Zen 3), so that it is faster to store
  // one lane after the other.
  bool slow_masked_stores = false;
};

// Returns the properties of this machine's CPU. Thread-safe.
const Cpu& HostCpu();

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_HOST_CPU_H_
