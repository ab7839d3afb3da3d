// SPDX-License-Identifier: Apache-2.0
#include "core/software/jit/host_cpu.h"

#include <cstdlib>
#include <cstring>

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/TargetParser/Host.h"

namespace holdfast::software::jit {

const Cpu& HostCpu() {
  static const Cpu cpu = [] {
    const auto features = llvm::sys::getHostCPUFeatures();
    const bool avx512 =
        features.lookup("avx512f") && features.lookup("avx512bw") &&
        features.lookup("avx512dq") && features.lookup("avx512vl");
    const char* chosen = std::getenv("HOLDFAST_SOFTWARE_LANES");
    const bool eight = chosen != nullptr && std::strcmp(chosen, "8") == 0;
    return Cpu{avx512 && !eight ? 16 : 8,
               !avx512 && llvm::sys::getHostCPUName().starts_with("znver")};
  }();
  return cpu;
}

}  // namespace holdfast::software::jit
