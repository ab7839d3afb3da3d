// SPDX-License-Identifier: Apache-2.0
//
// Emits the test that an address lies where kernels may access memory, and that
// it is a multiple of the size of the access. The CPU itself does not require
// this alignment.
//
// Kernels may access the window (abi/window.h). The size of the window is a
// power of two, and its base is a multiple of its size. So one test is enough.
// Its mask has a 1 for each bit that all addresses of the window share, and for
// each bit that is 0 in an aligned address. `window` is the size of the window:
//
//   ((address ^ base) & (~(window - 1) | (bytes - 1))) == 0
//
// Code joins the results of ^ of all lanes by |, and tests the result once. It
// tests an offset into shared memory in the same way, against the least power
// of two that is not less than an arena, which has the shared memory of a block
// (abi/shared_memory.h).
//
// Not every access needs a test of its own. Nothing is ever mapped near the
// window (kWindowGuardBytes) or near an arena. The reach of a tested address is
// half of this distance: an access within reach faults, or accesses memory of
// kernels. So for lanes at a constant distance code tests only the first lane,
// if the last lane is within its reach. And the test of a register is valid for
// other offsets from the register that are within reach.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_WINDOW_CHECK_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_WINDOW_CHECK_H_

#include "core/software/jit/block_notes.h"
#include "core/software/jit/checked_access.h"
#include "core/software/jit/emit_context.h"
#include "core/software/jit/lane_values.h"

namespace holdfast::software::jit {

class WindowCheck {
 public:
  explicit WindowCheck(const EmitContext& context)
      : c_(context), b_(context.b), v_(context.b) {}

  // Returns true if an access to a variable by its name always passes the test.
  // REQUIRES: the access is at a variable.
  bool IsGoodVariable(const CheckedAccess& access) const;
  // Returns true if the access needs no test, because code has tested `known`,
  // which has the same start and is within reach.
  bool IsCovered(const CheckedAccess& access, const TestedAddress& known) const;
  // Emits the test, and returns its result.
  AddressTest Test(const CheckedAccess& access) const;

 private:
  // Returns the distances of the addresses of a part from the base of the
  // window, or of shared memory if `shared`.
  llvm::Value* FromBase(llvm::Value* part, bool shared) const;

  const EmitContext& c_;
  Builder& b_;
  const LaneValues v_;
};

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_WINDOW_CHECK_H_
