// SPDX-License-Identifier: Apache-2.0
//
// Faults of generated code. A fault leaves the code at once, when it accesses
// unmapped memory, when the CPU traps a division by zero or an overflow, or
// when its launch is cancelled.
#ifndef HOLDFAST_CORE_SOFTWARE_RUNTIME_KERNEL_FAULT_H_
#define HOLDFAST_CORE_SOFTWARE_RUNTIME_KERNEL_FAULT_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/functional/function_ref.h"
#include "core/software/abi/abi.h"
#include "core/software/jit/access_site.h"

namespace holdfast::software {

// A fault, with the facts that are known where it is noticed. fault_report.h
// makes the message.
struct KernelFault {
  enum class Kind {
    kNone,
    // Outside the window, or not mapped there.
    kAddress,
    kBuffer,  // in memcheck mode: outside of all buffers
    kMisaligned,
    kUneven,      // a size that is not a multiple of what is moved at once
    kFreedTwice,  // free of a block of device memory that is free
    kStack,       // no room for another call
    kFunction,    // a call through a value that is no function
    kSignal,      // the CPU refused an instruction
    // Instructions that fault on purpose.
    kTrap,
    kAssert,
    kIllegalInstruction,
    kDeadlock,  // all warps that have not ended wait at barriers
    // Another block has faulted, or the launch's time is up.
    kCancelled,
  };
  Kind kind = Kind::kNone;
  // kAddress, kBuffer and kMisaligned: the accessed address; 0: unknown.
  // kFreedTwice: the block. kUneven: the size.
  uintptr_t address = 0;
  uint32_t lanes = 0;         // lanes of the warp that faulted; 0: unknown
  uint32_t alignment = 0;     // kMisaligned; 0: that of the instruction
  jit::MachineState state;    // kAddress and kSignal
  char assertion[1024] = {};  // kAssert: expression, file, line, function
};

// Calls `code`, which runs generated code for `worker`. Returns the fault that
// ended it, if any. Signals from other code go to the previous handler. A fault
// abandons the stack of `code` without running destructors. Not reentrant on a
// thread. The first call installs handlers of SIGSEGV, SIGBUS, SIGFPE and
// SIGILL for the process.
std::optional<KernelFault> RunGuarded(WorkerContext* worker,
                                      absl::FunctionRef<void()> code);

// Sets the function that handles a fault of generated code at `address` first.
// It returns true if the code can go on, as after a stack has grown. It is
// called in a signal handler, on the thread that has faulted.
void SetFaultRepair(bool (*repair)(uintptr_t address));

// Calls `access`, which accesses memory that a kernel points at. Returns the
// address of the fault, or nullopt. A fault abandons `access` without running
// destructors. REQUIRES: called within RunGuarded.
std::optional<uintptr_t> TryAccess(absl::FunctionRef<void()> access);

// Copies `bytes` from memory that a kernel points at. Returns false, perhaps
// after a part, if they are outside of the window or not mapped. REQUIRES:
// called within RunGuarded.
bool ReadKernelMemory(uint64_t from, void* to, size_t bytes);

// Ends the RunGuarded of `worker`, from any stack, by a jump.
[[noreturn]] void LeaveKernel(const WorkerContext& worker,
                              const KernelFault& fault);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_RUNTIME_KERNEL_FAULT_H_
