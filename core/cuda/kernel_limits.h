// SPDX-License-Identifier: Apache-2.0
//
// Limits of kernels: registers of a thread, threads of a block, blocks of a
// multiprocessor. A kernel's text sets them by directives (.maxnreg, .maxntid,
// .reqntid, .minnctapersm), and the program that loads or links the text by
// options (CU_JIT_MAX_REGISTERS, ...).
//
// The rules here are those of an H200's driver.
#ifndef HOLDFAST_CORE_CUDA_KERNEL_LIMITS_H_
#define HOLDFAST_CORE_CUDA_KERNEL_LIMITS_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "cuda.h"

namespace holdfast::cuda {

// The most registers of a thread with which `blocks` blocks of `threads`
// threads fit a multiprocessor. Where they never fit, the number for one block.
uint32_t RegistersThatFit(uint64_t threads, uint64_t blocks);

// The registers that a thread of a kernel may have if its text or an option
// allows `registers`. A compiler takes a multiple of 8, and at least 24.
uint32_t AllowedRegisters(uint32_t registers);

// The options of a load or a link that limit kernels. 0: there is no such
// limit.
class KernelLimits {
 public:
  // Reads one option, or does nothing if the option is another one. Sets the
  // value of CU_JIT_THREADS_PER_BLOCK to the number of threads that the limit
  // is for. A later value replaces an earlier one. CUDA_ERROR_INVALID_VALUE:
  // the number of registers or threads is 0.
  CUresult Read(CUjit_option option, void** value);

  // Replaces the limits that `others` has.
  void Replace(const KernelLimits& others);

  // The registers of a thread: the least number of the options about them.
  uint32_t Registers() const;

  // Returns the PTX with the limits as directives of its kernels. Lines keep
  // their numbers. The directives of a kernel come before options, unless
  // CU_JIT_OVERRIDE_DIRECTIVE_VALUES says otherwise:
  // - Registers are limited for kernels without .maxnreg, .maxntid and
  //   .reqntid.
  // - Threads of a block (CU_JIT_MAX_THREADS_PER_BLOCK) are limited for kernels
  //   without .maxntid. A kernel with .reqntid keeps its block in any case.
  // - Blocks (CU_JIT_MIN_CTA_PER_SM) count for kernels with a limit of threads,
  //   without .minnctapersm, if no option limits registers.
  std::string Apply(absl::string_view ptx) const;

 private:
  struct Kernel;
  class Edits;

  // Returns the directives to add to the kernel, and removes others from the
  // text.
  std::string DirectivesFor(Kernel* kernel, Edits* edits) const;
  bool IsEmpty() const {
    return Registers() == 0 && max_threads_ == 0 && min_blocks_ == 0;
  }

  uint32_t max_registers_ = 0;      // CU_JIT_MAX_REGISTERS
  uint32_t threads_per_block_ = 0;  // CU_JIT_THREADS_PER_BLOCK
  uint32_t max_threads_ = 0;        // CU_JIT_MAX_THREADS_PER_BLOCK
  uint32_t min_blocks_ = 0;         // CU_JIT_MIN_CTA_PER_SM
  bool overrides_ = false;          // CU_JIT_OVERRIDE_DIRECTIVE_VALUES
};

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_KERNEL_LIMITS_H_
