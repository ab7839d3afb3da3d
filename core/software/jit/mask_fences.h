// SPDX-License-Identifier: Apache-2.0
//
// Works around an endless loop in LLVM 19's instruction selection. The loop
// occurs if masks are combined by `or` or `xor`, are also used alone, and are
// split in two because their lanes' values are wide (64 bits with AVX-512). One
// rule turns or(bits(x), bits(y)) into bits(or(x, y)), and another rule turns
// this back. A fence between the scalar and the vector disables the second
// rule.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_MASK_FENCES_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_MASK_FENCES_H_

namespace llvm {
class Function;
}

namespace holdfast::software::jit {

// Adds the fences to the function. Must be called after all other passes,
// before code generation. A fence adds no CPU instruction, except a move for a
// combined mask, which is rare.
void FenceMasks(llvm::Function* function);

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_MASK_FENCES_H_
