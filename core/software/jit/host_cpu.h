// SPDX-License-Identifier: Apache-2.0
//
// The properties of the CPU that the emitter depends on; LLVM knows the rest.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_HOST_CPU_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_HOST_CPU_H_

namespace holdfast::software::jit {

struct Cpu {
  // Lanes of a chunk: 16 with AVX-512, else 8. HOLDFAST_SOFTWARE_LANES may ask
  // for 8.
  int lanes = 8;
  // AMD's cores without AVX-512 take about 19 cycles to store some lanes of a
  // vector (measured on Zen 3): one after the other is faster.
  bool slow_masked_stores = false;
};

const Cpu& HostCpu();

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_HOST_CPU_H_
