// SPDX-License-Identifier: Apache-2.0
//
// PTX text: parsed, laid out and lowered, as a module is loaded.
#include <memory>

#include "core/software/runtime/executable.h"
#include "tests/core/software/fuzz/fuzz_target.h"
#include "tests/kernels/machine.h"

namespace holdfast::software {

std::vector<std::string> FuzzCorpus() {
  std::vector<std::string> corpus;
  for (const char* name :
       {"vector_add", "matmul", "reduce", "scan", "locks", "calls",
        "divergence", "histogram", "stencil", "text"}) {
    corpus.push_back(kernels::CompileToPtx(name));
  }
  return corpus;
}

}  // namespace holdfast::software

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using holdfast::software::Executable;
  std::unique_ptr<Executable> executable;
  std::string log;
  Executable::Load({reinterpret_cast<const char*>(data), size}, &executable,
                   &log);
  return 0;
}
