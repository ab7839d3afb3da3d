// SPDX-License-Identifier: Apache-2.0
#include "core/software/runtime/stack_switch.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <utility>

#include "core/base/sanitizer.h"

// The debugger's view (CFI) ends at the start of a warp. It leaves by a jump: a
// CPU takes for granted that a return goes behind the last call, but this goes
// to where another warp waits, which is often elsewhere (at the other barrier
// of a loop: a return cost the tiled matmul a fifth of its time).
asm(R"(
.text
.p2align 4
.globl holdfast_switch_stack
.hidden holdfast_switch_stack
.type holdfast_switch_stack, @function
holdfast_switch_stack:
  .cfi_startproc
  pushq %rbp
  .cfi_adjust_cfa_offset 8
  pushq %rbx
  .cfi_adjust_cfa_offset 8
  pushq %r12
  .cfi_adjust_cfa_offset 8
  pushq %r13
  .cfi_adjust_cfa_offset 8
  pushq %r14
  .cfi_adjust_cfa_offset 8
  pushq %r15
  .cfi_adjust_cfa_offset 8
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  .cfi_adjust_cfa_offset -8
  popq %r14
  .cfi_adjust_cfa_offset -8
  popq %r13
  .cfi_adjust_cfa_offset -8
  popq %r12
  .cfi_adjust_cfa_offset -8
  popq %rbx
  .cfi_adjust_cfa_offset -8
  popq %rbp
  .cfi_adjust_cfa_offset -8
  popq %rdx
  .cfi_adjust_cfa_offset -8
  .cfi_register rip, rdx
  jmpq *%rdx
  .cfi_endproc
.size holdfast_switch_stack, .-holdfast_switch_stack

.p2align 4
.globl holdfast_enter_stack
.hidden holdfast_enter_stack
.type holdfast_enter_stack, @function
holdfast_enter_stack:
  .cfi_startproc
  .cfi_undefined rip
  movq %rbx, %rdi
  callq *%r12
  ud2
  .cfi_endproc
.size holdfast_enter_stack, .-holdfast_enter_stack
)");

namespace holdfast::software {

extern "C" void holdfast_enter_stack();

namespace {

constexpr size_t kGuardBytes = 4096;
// Stacks begin at different distances from their ends, so that the tops of many
// do not meet in the same sets of a cache.
constexpr size_t kColours = 16;
constexpr size_t kColourBytes = 320;

// A sanitizer handles the signals of faults itself.
constexpr size_t kOpenAtFirst = kSanitized ? Stack::kBytes : Stack::kFirstBytes;

// Counts the stacks of the process. Returns false if there are as many as there
// may be.
std::atomic<int> g_stacks{0};
bool CountStack() {
  if (g_stacks.fetch_add(1) < Stack::kMost) return true;
  --g_stacks;
  return false;
}

}  // namespace

Stack::Stack(size_t number) : offset_(number % kColours * kColourBytes) {
  if (!CountStack()) return;
  void* memory = mmap(nullptr, kGuardBytes + kBytes, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory != MAP_FAILED) {
    base_ = static_cast<char*>(memory);
    open_ = base_ + kGuardBytes + kBytes - kOpenAtFirst;
    if (mprotect(open_, kOpenAtFirst, PROT_READ | PROT_WRITE) == 0) return;
    munmap(base_, kGuardBytes + kBytes);
    base_ = nullptr;
  }
  --g_stacks;
}

Stack::~Stack() {
  EndNotes(notes_);
  if (base_ == nullptr) return;
  munmap(base_, kGuardBytes + kBytes);
  --g_stacks;
}

Stack::Stack(Stack&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)),
      open_(other.open_),
      offset_(other.offset_),
      notes_(std::exchange(other.notes_, {})) {}

// Lays out a frame as holdfast_switch_stack would have left it, so that the
// first switch to the stack pops these registers and "returns" to
// holdfast_enter_stack, which calls function(argument).
StackPosition Stack::Enter(void (*function)(void*), void* argument) {
  notes_ = NotesOfNewStack(base_ + kGuardBytes, kBytes, notes_);
  auto** top = reinterpret_cast<void**>(base_ + kGuardBytes + kBytes - offset_);
  // In front of a call the stack is a multiple of 16.
  void** frame = top - 9;
  frame[0] = frame[1] = frame[2] = nullptr;      // r15, r14, r13
  frame[3] = reinterpret_cast<void*>(function);  // r12
  frame[4] = argument;                           // rbx
  frame[5] = nullptr;                            // rbp
  frame[6] = reinterpret_cast<void*>(&holdfast_enter_stack);
  frame[7] = nullptr;  // of the entry, whose stack is aligned from here
  return {frame, notes_};
}

bool Stack::Grow(uintptr_t address) {
  const auto first = reinterpret_cast<uintptr_t>(base_) + kGuardBytes;
  const auto open = reinterpret_cast<uintptr_t>(open_);
  if (base_ == nullptr || address < first || address >= open) return false;
  const uintptr_t aligned = address / kGuardBytes * kGuardBytes;
  const uintptr_t begin = std::max(first, aligned - kFirstBytes);
  auto* const from = reinterpret_cast<char*>(begin);
  if (mprotect(from, open - begin, PROT_READ | PROT_WRITE) != 0) return false;
  open_ = from;
  return true;
}

}  // namespace holdfast::software
