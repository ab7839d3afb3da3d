// SPDX-License-Identifier: Apache-2.0
//
// Emits the check of an address in front of the access. WindowCheck emits the
// test itself, or BufferCheck in memcheck mode. AddressCheck decides whether a
// test is needed, and emits the branch and the report of a bad address.
//
// The tested value is always the accessed value. An address is frozen before
// the test, because LLVM may otherwise choose another value for a poison
// address at each use. LLVM moves no access over the branch of its test,
// because the address is a number, and LLVM cannot know that an access at it is
// safe.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_ADDRESS_CHECK_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_ADDRESS_CHECK_H_

#include "core/software/jit/buffer_check.h"
#include "core/software/jit/window_check.h"

namespace holdfast::software::jit {

class AddressCheck {
 public:
  // `notes` has the addresses in registers. Emit() records in `notes` which
  // addresses it has tested.
  AddressCheck(const EmitContext& context, BlockNotes& notes)
      : c_(context),
        b_(context.b),
        runtime_(context),
        window_(context),
        buffers_(context),
        notes_(notes) {}

  // Emits the check of `address`, the address of `operand`, which the
  // instruction will access. The emitted code continues if the address is good.
  // Otherwise it calls the runtime, which reports the fault. Emits nothing if
  // the address is known to be good.
  void Emit(const Step& step, const ptx::Operand& operand, ptx::Space space,
            const Value& address) const;

 private:
  bool IsKnownGood(const CheckedAccess& access) const;
  void NoteGood(const CheckedAccess& access) const;
  void Branch(llvm::Value* outside, llvm::BasicBlock* bad,
              llvm::BasicBlock* good) const;
  void Report(const CheckedAccess& access, bool sure) const;
  void StoreAddresses(const Value& address) const;

  const EmitContext& c_;
  Builder& b_;
  const RuntimeCalls runtime_;
  const WindowCheck window_;
  const BufferCheck buffers_;
  BlockNotes& notes_;
};

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_ADDRESS_CHECK_H_
