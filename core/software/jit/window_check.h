// SPDX-License-Identifier: Apache-2.0
//
// The test that an address lies where kernels may access memory, and that it is
// a multiple of the size of the access, which a CPU does not require.
//
// Kernels may access the window (abi/window.h). Its size is a power of two, and
// its base is a multiple of its size. So one test is enough, with a mask that
// has a 1 for each bit that all addresses of the window share, and for each bit
// that is 0 in an aligned address:
//
//   ((address ^ base) & (~(window - 1) | (bytes - 1))) == 0
//
// The results of ^ of all lanes are joined by |, and tested once. An offset
// into shared memory is tested in the same way, against the least power of two
// that an arena fits into.
//
// Not every access needs a test of its own. Nothing is ever mapped near the
// window (kWindowGuardBytes) or near an arena. The reach of a tested address is
// half of that distance: an access within reach faults, or finds memory of
// kernels. So for lanes at a constant distance only the first lane is tested,
// if the last lane is within its reach. And the test of a register holds for
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

  // Returns true if an access to a variable by its name surely passes the test.
  // REQUIRES: the access is at a variable.
  bool IsGoodVariable(const CheckedAccess& access) const;
  // Returns true if the access surely passes the test, because an earlier
  // instruction tested `known`, which has the same start.
  bool IsCovered(const CheckedAccess& access, const TestedAddress& known) const;
  // Emits the test.
  AddressTest Test(const CheckedAccess& access) const;

 private:
  // Returns how far the addresses of a part are from the window's base.
  llvm::Value* FromBase(llvm::Value* part, bool shared) const;

  const EmitContext& c_;
  Builder& b_;
  const LaneValues v_;
};

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_WINDOW_CHECK_H_
