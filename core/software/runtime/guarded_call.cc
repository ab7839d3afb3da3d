// SPDX-License-Identifier: Apache-2.0
#include "core/software/runtime/guarded_call.h"

#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <cstdlib>

#include "core/software/jit/compiler.h"

// holdfast_enter calls body(argument) and returns 0; holdfast_leave, given the
// stack that holdfast_enter stored, makes that call return 1.
asm(R"(
.text
.globl holdfast_enter
.hidden holdfast_enter
.type holdfast_enter, @function
holdfast_enter:
  push %rbp
  push %rbx
  push %r12
  push %r13
  push %r14
  push %r15
  sub $8, %rsp
  mov %rsp, (%rdx)
  mov %rdi, %rax
  mov %rsi, %rdi
  call *%rax
  xor %eax, %eax
1:
  add $8, %rsp
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %rbx
  pop %rbp
  ret
.size holdfast_enter, .-holdfast_enter
.globl holdfast_leave
.hidden holdfast_leave
.type holdfast_leave, @function
holdfast_leave:
  mov %rdi, %rsp
  mov $1, %eax
  jmp 1b
.size holdfast_leave, .-holdfast_leave
)");

extern "C" int holdfast_enter(void (*body)(void*), void* argument,
                              void** stack);
extern "C" [[noreturn]] void holdfast_leave(void* stack);

namespace holdfast::software {
namespace {

thread_local WorkerContext* current_worker = nullptr;
thread_local CallOutcome* current_outcome = nullptr;

struct sigaction previous_segv;
struct sigaction previous_bus;

void Chain(int signal, siginfo_t* info, void* context) {
  const struct sigaction& previous =
      signal == SIGSEGV ? previous_segv : previous_bus;
  if ((previous.sa_flags & SA_SIGINFO) != 0) {
    previous.sa_sigaction(signal, info, context);
  } else if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
    previous.sa_handler(signal);
  } else {
    // Comes again at once, and now ends the process.
    sigaction(signal, &previous, nullptr);
  }
}

void OnFault(int signal, siginfo_t* info, void* context) {
  if (current_worker == nullptr) return Chain(signal, info, context);
  current_outcome->end = CallEnd::kFault;
  current_outcome->fault_address = reinterpret_cast<uintptr_t>(info->si_addr);
  auto* registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  registers[REG_RIP] = reinterpret_cast<greg_t>(&holdfast_leave);
  registers[REG_RDI] = reinterpret_cast<greg_t>(current_worker->escape);
}

void InstallHandlers() {
  static const bool installed = [] {
    struct sigaction action = {};
    action.sa_sigaction = OnFault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGSEGV, &action, &previous_segv);
    sigaction(SIGBUS, &action, &previous_bus);
    return true;
  }();
  (void)installed;
}

// A fault may have used up the thread's stack, so the handler has its own.
class AlternateStack {
 public:
  AlternateStack() {
    stack_t present = {};
    sigaltstack(nullptr, &present);
    if ((present.ss_flags & SS_DISABLE) == 0) return;
    memory_ = std::malloc(kBytes);
    stack_t own = {};
    own.ss_sp = memory_;
    own.ss_size = kBytes;
    sigaltstack(&own, nullptr);
  }
  ~AlternateStack() {
    if (memory_ == nullptr) return;
    stack_t none = {};
    none.ss_flags = SS_DISABLE;
    sigaltstack(&none, nullptr);
    std::free(memory_);
  }

 private:
  static constexpr size_t kBytes = 64 * 1024;
  void* memory_ = nullptr;
};

}  // namespace

CallOutcome GuardedCall(WorkerContext* worker, void (*body)(void*),
                        void* argument) {
  InstallHandlers();
  static thread_local AlternateStack stack;
  (void)stack;
  CallOutcome outcome;
  current_outcome = &outcome;
  current_worker = worker;
  holdfast_enter(body, argument, &worker->escape);
  current_worker = nullptr;
  current_outcome = nullptr;
  return outcome;
}

namespace jit {

extern "C" void holdfast_cancelled(WorkerContext* worker) {
  current_outcome->end = CallEnd::kCancelled;
  holdfast_leave(worker->escape);
}

}  // namespace jit
}  // namespace holdfast::software
