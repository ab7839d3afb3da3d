// SPDX-License-Identifier: Apache-2.0
#include "core/software/runtime/kernel_fault.h"

#include <csetjmp>
#include <csignal>
#include <memory>
#include <mutex>

namespace holdfast::software {
namespace {

// Of the thread that runs generated code; null anywhere else.
struct Escape {
  sigjmp_buf stack;
  KernelFault fault;
};
thread_local Escape* current = nullptr;

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

void OnSignal(int signal, siginfo_t* info, void* context) {
  Escape* escape = current;
  if (escape == nullptr) return PassOn(signal, info, context);
  current = nullptr;
  if (signal == SIGSEGV || signal == SIGBUS) {
    escape->fault = {KernelFault::Kind::kAddress,
                     reinterpret_cast<uintptr_t>(info->si_addr)};
  } else {
    escape->fault = {KernelFault::Kind::kTrap};
  }
  siglongjmp(escape->stack, 1);
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

KernelFault RunGuarded(WorkerContext* worker,
                       const std::function<void()>& code) {
  static std::once_flag installed;
  std::call_once(installed, InstallHandlers);
  thread_local SignalStack stack;
  Escape escape;
  worker->escape = &escape;
  if (sigsetjmp(escape.stack, 0) == 0) {
    current = &escape;
    code();
  }
  current = nullptr;
  return escape.fault;
}

void LeaveKernel(const WorkerContext& worker, const KernelFault& fault) {
  auto* escape = static_cast<Escape*>(worker.escape);
  current = nullptr;
  escape->fault = fault;
  siglongjmp(escape->stack, 1);
}

extern "C" void holdfast_trap(WorkerContext* worker, uint32_t lanes) {
  LeaveKernel(*worker, {KernelFault::Kind::kTrap, 0, lanes});
}

extern "C" void holdfast_cancelled(WorkerContext* worker) {
  LeaveKernel(*worker, {KernelFault::Kind::kCancelled});
}

}  // namespace holdfast::software
