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

// As the declaration of `function` says.
CallInterface InterfaceOf(const ptx::Function& function);
// As a call through a register passes it, which also tells which functions can
// be meant.
CallInterface InterfaceOf(const ptx::Function& caller,
                          const ptx::Instruction& call);

// A call of a function that the module defines, or of one in a register.
// Functions that the runtime provides are not among them.
bool IsOutlinedCall(const ptx::Instruction& instruction,
                    const ptx::Module& module);

// By instruction: registers that an outlined call there must preserve.
// Ascending.
std::map<size_t, std::vector<uint32_t>> LiveAcrossCalls(
    const ptx::Module& module, const ptx::Function& function);

}  // namespace holdfast::software::transform

#endif  // HOLDFAST_CORE_SOFTWARE_TRANSFORM_CALL_FRAME_H_
