// SPDX-License-Identifier: Apache-2.0
//
// Leaving generated code in the middle: when it touches memory that is not
// mapped, divides where the CPU traps, or its launch has been given up.
#ifndef HOLDFAST_CORE_SOFTWARE_RUNTIME_KERNEL_FAULT_H_
#define HOLDFAST_CORE_SOFTWARE_RUNTIME_KERNEL_FAULT_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/functional/function_ref.h"
#include "core/software/jit/access_site.h"
#include "core/software/runtime/abi.h"

namespace holdfast::software {

// A fault, as far as the place where it was noticed knows it. fault_report.h
// makes the message.
struct KernelFault {
  enum class Kind {
    kNone,
    // Outside the window, or not mapped there.
    kAddress,
    kMisaligned,
    kStack,     // no room for another call
    kFunction,  // a call through what is no pointer to a function
    kSignal,    // the CPU refused an instruction
    // An instruction of the program that asks for it.
    kTrap,
    kAssert,
    kIllegalInstruction,
    kDeadlock,  // all warps that have not ended wait at barriers
    // Another block has faulted, or the launch's time is up.
    kCancelled,
  };
  Kind kind = Kind::kNone;
  // kAddress and kMisaligned: that was touched; 0: not known.
  uintptr_t address = 0;
  uint32_t lanes = 0;         // of the warp, that caused it; 0: not known
  jit::MachineState state;    // kAddress and kSignal
  char assertion[1024] = {};  // kAssert: expression, file, line, function
};

// Calls `code`, which runs generated code for `worker`. Returns the fault that
// ended it, if one did. Signals of this thread that come from anything else go
// to the handler that was there before. A fault abandons the stack of `code`:
// nothing there may need its destructor. Not reentrant on a thread. The first
// call installs handlers of SIGSEGV, SIGBUS, SIGFPE and SIGILL for the process.
std::optional<KernelFault> RunGuarded(WorkerContext* worker,
                                      absl::FunctionRef<void()> code);

// Copies `bytes` that a kernel points at. Returns false, with part of them
// copied, if they do not lie in the window or something there is not mapped.
// REQUIRES: called within RunGuarded.
bool ReadKernelMemory(uint64_t from, void* to, size_t bytes);

// Ends the RunGuarded that `worker` belongs to, from whichever stack. Returns
// to RunGuarded by a jump.
[[noreturn]] void LeaveKernel(const WorkerContext& worker,
                              const KernelFault& fault);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_RUNTIME_KERNEL_FAULT_H_
