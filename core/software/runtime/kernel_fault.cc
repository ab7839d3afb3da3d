// SPDX-License-Identifier: Apache-2.0
//
// How a faulting kernel is left. RunGuarded sets a jump target on the thread's
// own stack and runs generated code; a signal handler, or a function of the
// runtime that generated code has called, notes the fault and jumps there.
// Nothing on the stacks in between is unwound, since generated code owns
// nothing.
//
// `current` says whether the thread is in generated code. A signal anywhere
// else is none of ours, and goes to the handler that was there before.
#include "core/software/runtime/kernel_fault.h"

#include <cpuid.h>
#include <ucontext.h>

#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstring>
#include <memory>
#include <mutex>

#include "core/software/abi/window.h"
#include "core/software/lower/kernel.h"
#include "core/software/runtime/sanitizer_fiber.h"

namespace holdfast::software {
namespace {

// The escape of a thread that runs generated code; null anywhere else.
struct Escape {
  sigjmp_buf stack;
  std::optional<KernelFault> fault;  // hundreds of bytes that most runs spare
  SanitizerFiber notes;              // of the stack
  bool same_stack = false;           // as the one that it is left from
};
thread_local Escape* current = nullptr;

[[noreturn]] void Leave(Escape* escape) {
  if (!escape->same_stack) BeforeJump(escape->notes);
  siglongjmp(escape->stack, 1);
}

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
struct sigaction previous[NSIG];

void PassOn(int signal, siginfo_t* info, void* context) {
  const struct sigaction& action = previous[signal];
  if ((action.sa_flags & SA_SIGINFO) != 0) {
    action.sa_sigaction(signal, info, context);
  } else if (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN) {
    // Happens again, this time with the default action.
    std::signal(signal, SIG_DFL);
  } else {
    action.sa_handler(signal);
  }
}

// The mask registers lie where CPUID says in what the kernel has saved.
void CopyMasks(const ucontext_t& context, jit::MachineState* state) {
  constexpr uint32_t kMagic = 0x46505853;  // the extended area is there
  constexpr unsigned kComponent = 5;
  const auto* area = reinterpret_cast<const char*>(context.uc_mcontext.fpregs);
  if (area == nullptr) return;
  uint32_t magic = 0;
  uint64_t saved = 0, in_use = 0;
  std::memcpy(&magic, area + 464, sizeof magic);
  std::memcpy(&saved, area + 464 + 8, sizeof saved);
  std::memcpy(&in_use, area + 512, sizeof in_use);
  if (magic != kMagic || (saved & in_use & (1u << kComponent)) == 0) return;
  unsigned size, offset, flags, unused;
  if (__get_cpuid_count(0xD, kComponent, &size, &offset, &flags, &unused) == 0)
    return;
  if (size < sizeof state->masks) return;
  std::memcpy(state->masks, area + offset, sizeof state->masks);
}

// In the order in which machine code numbers them, as the decoder will ask for
// them (jit/access_finder.cc).
jit::MachineState StateOf(const ucontext_t& context) {
  constexpr int kOrder[16] = {
      REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
      REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  jit::MachineState state;
  const greg_t* registers = context.uc_mcontext.gregs;
  state.pc = static_cast<uint64_t>(registers[REG_RIP]);
  for (int i = 0; i < 16; ++i) {
    state.registers[i] = static_cast<uint64_t>(registers[kOrder[i]]);
  }
  CopyMasks(context, &state);
  return state;
}

std::atomic<bool (*)(uintptr_t)> repair_fault{nullptr};

// The access failed because the page does not allow it.
bool Repaired(int signal, const siginfo_t& info) {
  if (signal != SIGSEGV || info.si_code != SEGV_ACCERR) return false;
  const auto repair = repair_fault.load();
  return repair != nullptr && repair(reinterpret_cast<uintptr_t>(info.si_addr));
}

void OnSignal(int signal, siginfo_t* info, void* context) {
  Escape* escape = current;
  if (escape == nullptr) return PassOn(signal, info, context);
  if (Repaired(signal, *info)) return;
  current = nullptr;
  if (signal == SIGSEGV || signal == SIGBUS) {
    escape->fault = KernelFault{KernelFault::Kind::kAddress,
                                reinterpret_cast<uintptr_t>(info->si_addr)};
    // The CPU does not report an address that no process can have.
    if (info->si_code == SI_KERNEL) escape->fault->address = 0;
  } else {
    escape->fault = KernelFault{KernelFault::Kind::kSignal};
  }
  escape->fault->state = StateOf(*static_cast<const ucontext_t*>(context));
  Leave(escape);
}

// Where handlers run, so that a kernel that has used up its stack can be
// reported as well.
class SignalStack {
 public:
  SignalStack() : memory_(new char[kBytes]) {
    stack_t stack = {};
    stack.ss_sp = memory_.get();
    stack.ss_size = kBytes;
    sigaltstack(&stack, &previous_);
  }
  ~SignalStack() { sigaltstack(&previous_, nullptr); }
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

 private:
  static constexpr size_t kBytes = size_t{64} << 10;
  std::unique_ptr<char[]> memory_;
  stack_t previous_ = {};
};

void InstallHandlers() {
  struct sigaction action = {};
  action.sa_sigaction = OnSignal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigemptyset(&action.sa_mask);
  for (const int signal : kSignals) {
    sigaction(signal, &action, &previous[signal]);
  }
}

}  // namespace

std::optional<KernelFault> RunGuarded(WorkerContext* worker,
                                      absl::FunctionRef<void()> code) {
  static std::once_flag installed;
  std::call_once(installed, InstallHandlers);
  thread_local SignalStack stack;
  Escape escape;
  escape.notes = NotesOfThread();
  worker->escape = &escape;
  if (sigsetjmp(escape.stack, kJumpsSaveSignals) == 0) {
    current = &escape;
    code();
  } else {
    AfterJump(escape.notes);
  }
  current = nullptr;
  worker->escape = nullptr;
  // To copy an empty one would copy all its bytes.
  if (!escape.fault.has_value()) return std::nullopt;
  return escape.fault;
}

void SetFaultRepair(bool (*repair)(uintptr_t address)) {
  repair_fault = repair;
}

// An address in the window may be unmapped. Instead of asking first, which
// another thread could make wrong, the access is tried under a jump target of
// its own.
std::optional<uintptr_t> TryAccess(absl::FunctionRef<void()> access) {
  Escape* const outer = current;
  Escape escape;
  escape.same_stack = true;
  if (sigsetjmp(escape.stack, kJumpsSaveSignals) == 0) {
    current = &escape;
    access();
  }
  current = outer;
  if (!escape.fault.has_value()) return std::nullopt;
  return escape.fault->address;
}

bool ReadKernelMemory(uint64_t from, void* to, size_t bytes) {
  return GetKernelWindow().Contains(from, bytes) && !TryAccess([&] {
           std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
         });
}

void LeaveKernel(const WorkerContext& worker, const KernelFault& fault) {
  auto* escape = static_cast<Escape*>(worker.escape);
  current = nullptr;
  escape->fault = fault;
  Leave(escape);
}

extern "C" void holdfast_trap(WorkerContext* worker, uint32_t lanes,
                              uint32_t reason) {
  KernelFault fault{KernelFault::Kind::kTrap, 0, lanes};
  if (reason == lower::kStackTrap) fault.kind = KernelFault::Kind::kStack;
  if (reason == lower::kFunctionTrap) fault.kind = KernelFault::Kind::kFunction;
  LeaveKernel(*worker, fault);
}

extern "C" void holdfast_cancelled(WorkerContext* worker) {
  LeaveKernel(*worker, {KernelFault::Kind::kCancelled});
}

}  // namespace holdfast::software
