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

// Returns the maximum of the registers of a thread with which `blocks` blocks
// of `threads` threads fit on a multiprocessor. If they never fit, returns the
// number for one block.
uint32_t RegistersThatFit(uint64_t threads, uint64_t blocks);

// Returns the registers that a compiler gives a thread if the kernel's text or
// an option allows `registers`: a multiple of 8, and at least 24.
uint32_t AllowedRegisters(uint32_t registers);

// The options of a load or a link that limit kernels. For all limits, 0 means
// that there is no limit.
class KernelLimits {
 public:
  // Reads an option and its value. Does nothing if the option does not limit
  // kernels. A later value replaces an earlier one. For
  // CU_JIT_THREADS_PER_BLOCK, also sets *value to the number of threads for
  // which registers are limited. CUDA_ERROR_INVALID_VALUE: the value of
  // CU_JIT_MAX_REGISTERS or CU_JIT_THREADS_PER_BLOCK is 0.
  CUresult Read(CUjit_option option, void** value);

  // Replaces each limit that `others` has by the limit of `others`.
  void Replace(const KernelLimits& others);

  // Returns the limit of the registers of a thread: the least number that
  // results from the options; 0 if there is no limit.
  uint32_t Registers() const;

  // Returns the PTX with the limits as directives of its kernels. Does not
  // change the numbers of lines. A kernel's own directives take precedence over
  // options, unless CU_JIT_OVERRIDE_DIRECTIVE_VALUES is set:
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
