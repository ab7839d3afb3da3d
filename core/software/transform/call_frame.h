// SPDX-License-Identifier: Apache-2.0
//
// The layout of the frame of a function that is called, not inlined
// (outlined_calls.h). A frame has the number of the point to which the
// function returns, the parameters, the results, the local variables, and the
// registers that calls must preserve.
#ifndef HOLDFAST_CORE_SOFTWARE_TRANSFORM_CALL_FRAME_H_
#define HOLDFAST_CORE_SOFTWARE_TRANSFORM_CALL_FRAME_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "core/software/ptx/ast.h"

namespace holdfast::software::transform {

// Assigns consecutive byte offsets in a frame. The number of the return point
// is at offset 0, in 8 bytes. Lowering computes the layout separately for the
// caller and for the callee, from the same declarations.
class FrameLayout {
 public:
  // Assigns `bytes` bytes with this alignment, and returns their offset. An
  // alignment of 0 means 1.
  uint64_t Place(uint64_t bytes, uint64_t alignment);
  // Returns the number of assigned bytes, rounded up to a multiple of 16.
  uint64_t size() const;

 private:
  uint64_t end_ = 8;
};

// A value that a call passes: a .param variable or a register. A predicate is
// passed as 32 bits.
struct Passed {
  uint64_t bytes;
  uint64_t alignment;
  uint64_t offset = 0;  // the offset in the frame of the callee
};

// The beginning of a frame, which caller and callee share: parameters and
// results. The rest belongs to the callee.
struct CallInterface {
  std::vector<Passed> parameters;
  std::vector<Passed> results;
  FrameLayout layout;
};

// Returns the interface that the declaration of `function` determines.
CallInterface InterfaceOf(const ptx::Function& function);
// Returns the interface that the operands of a call through a register
// determine. The called function must have the same interface.
CallInterface InterfaceOf(const ptx::Function& caller,
                          const ptx::Instruction& call);

// Returns true if the instruction calls a function that the module defines, or
// a function in a register. Returns false for calls of functions of the
// runtime, and for other instructions.
bool IsOutlinedCall(const ptx::Instruction& instruction,
                    const ptx::Module& module);

// Returns, for the index of each outlined call in the body, the registers that
// the call must preserve, in ascending order.
std::map<size_t, std::vector<uint32_t>> LiveAcrossCalls(
    const ptx::Module& module, const ptx::Function& function);

}  // namespace holdfast::software::transform

#endif  // HOLDFAST_CORE_SOFTWARE_TRANSFORM_CALL_FRAME_H_
