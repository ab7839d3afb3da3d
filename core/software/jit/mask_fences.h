// SPDX-License-Identifier: Apache-2.0
//
// LLVM 19 selects instructions forever where masks are combined by `or` or
// `xor`, their lanes' values are so wide that masks are split in two (64 bits
// with AVX-512), and the same masks are used alone, too: one rule turns
// or(bits(x), bits(y)) into bits(or(x, y)), another one turns it back. A fence
// between scalar and vector keeps the second from seeing through.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_MASK_FENCES_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_MASK_FENCES_H_

namespace llvm {
class Function;
}

namespace holdfast::software::jit {

// To be called when nothing but code generation is left to do. Costs no
// instructions but those of moving a combined mask, which is rare.
void FenceMasks(llvm::Function* function);

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_MASK_FENCES_H_
