// SPDX-License-Identifier: Apache-2.0
//
// Faults of generated code. Control leaves the code at once when the code
// accesses unmapped memory, when the CPU traps an instruction, or when the
// launch is cancelled.
#ifndef HOLDFAST_CORE_SOFTWARE_RUNTIME_KERNEL_FAULT_H_
#define HOLDFAST_CORE_SOFTWARE_RUNTIME_KERNEL_FAULT_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/functional/function_ref.h"
#include "core/software/abi/abi.h"
#include "core/software/jit/access_site.h"

namespace holdfast::software {

// A fault, with the facts that are known where it is detected. FaultReport
// (fault_report.h) makes the message.
struct KernelFault {
  enum class Kind {
    kNone,
    kAddress,     // an address outside of the window, or not mapped there
    kBuffer,      // in memcheck mode: an address outside of all buffers
    kMisaligned,  // an address that is no multiple of the size of the access
    kUneven,      // a size that is no multiple of the unit of a copy
    kFreedTwice,  // a free of a block of device memory that is already free
    kStack,       // no room on the stack for another call
    kFunction,    // a call through a value that is no function
    kSignal,      // the CPU trapped an instruction
    // Instructions that fault on purpose.
    kTrap,
    kAssert,
    kIllegalInstruction,
    kDeadlock,  // all warps that have not ended wait at barriers
    // Another block has faulted, or the launch was cancelled.
    kCancelled,
  };
  Kind kind = Kind::kNone;
  // kAddress, kBuffer and kMisaligned: the accessed address; 0: unknown.
  // kFreedTwice: the block. kUneven: the size.
  uintptr_t address = 0;
  uint32_t lanes = 0;         // lanes of the warp that faulted; 0: unknown
  uint32_t alignment = 0;     // kMisaligned; 0: the instruction's alignment
  jit::MachineState state;    // kAddress and kSignal
  char assertion[1024] = {};  // kAssert: expression, file, line, function
};

// Calls `code`, which runs generated code for `worker`. Returns the fault that
// ended `code`; nullopt if it ended without a fault. A fault abandons the stack
// of `code` without running destructors. Not reentrant on a thread. The first
// call installs handlers of SIGSEGV, SIGBUS, SIGFPE and SIGILL for the process.
// The handlers pass signals from other code to the previous handlers.
std::optional<KernelFault> RunGuarded(WorkerContext* worker,
                                      absl::FunctionRef<void()> code);

// Sets the function that is called first for a fault of generated code.
// `address` is the accessed address, whose page does not permit the access.
// `repair` returns true if the code can continue, for example after a stack has
// grown. It is called in a signal handler, on the thread that has faulted.
void SetFaultRepair(bool (*repair)(uintptr_t address));

// Calls `access`, which accesses memory to which a kernel points. Returns the
// address of the fault; nullopt if there was no fault. A fault abandons
// `access` without running destructors. REQUIRES: called within RunGuarded.
std::optional<uintptr_t> TryAccess(absl::FunctionRef<void()> access);

// Copies `bytes` bytes from memory to which a kernel points. Returns false,
// perhaps after a part was copied, if the bytes are outside of the window or
// not mapped. REQUIRES: called within RunGuarded.
bool ReadKernelMemory(uint64_t from, void* to, size_t bytes);

// Ends the RunGuarded of `worker` with `fault`, by a jump from any stack.
[[noreturn]] void LeaveKernel(const WorkerContext& worker,
                              const KernelFault& fault);

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_RUNTIME_KERNEL_FAULT_H_
