// SPDX-License-Identifier: Apache-2.0
//
// The layout of the frame of a function that is called, not inlined
// (outlined_calls.h): the caller, parameters, results, local variables,
// registers that calls must preserve.
#ifndef HOLDFAST_CORE_SOFTWARE_TRANSFORM_CALL_FRAME_H_
#define HOLDFAST_CORE_SOFTWARE_TRANSFORM_CALL_FRAME_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "core/software/ptx/ast.h"

namespace holdfast::software::transform {

// Assigns consecutive byte offsets in a frame. Offset 0 holds the caller.
//
// Caller and callee each compute the layout, from the same declarations.
class FrameLayout {
 public:
  // Returns the next offset with this alignment; an alignment of 0 is one of 1.
  uint64_t Place(uint64_t bytes, uint64_t alignment);
  // Bytes so far, rounded up to 16.
  uint64_t size() const;

 private:
  uint64_t end_ = 8;
};

// A value that a call passes: a .param variable or a register. A predicate is
// passed as 32 bits.
struct Passed {
  uint64_t bytes;
  uint64_t alignment;
  uint64_t offset = 0;  // in the frame of the callee
};

// The beginning of a frame, which caller and callee share: parameters and
// results. The rest belongs to the callee.
struct CallInterface {
  std::vector<Passed> parameters;
  std::vector<Passed> results;
  FrameLayout layout;
};

// Returns the interface by the declaration of `function`.
CallInterface InterfaceOf(const ptx::Function& function);
// Returns the interface of a call through a register. It also determines which
// functions the call can reach.
CallInterface InterfaceOf(const ptx::Function& caller,
                          const ptx::Instruction& call);

// Returns true for a call of a function that the module defines, or of a
// function in a register; false for functions of the runtime.
bool IsOutlinedCall(const ptx::Instruction& instruction,
                    const ptx::Module& module);

// Returns, by instruction, the registers that an outlined call there must
// preserve, in ascending order.
std::map<size_t, std::vector<uint32_t>> LiveAcrossCalls(
    const ptx::Module& module, const ptx::Function& function);

}  // namespace holdfast::software::transform

#endif  // HOLDFAST_CORE_SOFTWARE_TRANSFORM_CALL_FRAME_H_
