// SPDX-License-Identifier: Apache-2.0
//
// The functions of a kernel. Each function is an object of its own, which is
// made when it is first needed. Most kernels only ever run their full code.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_PART_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_PART_H_

namespace holdfast::software::jit {

enum class Part {
  kFull,  // full code: all lanes of a warp run together
  // Masked code for warps whose lanes have diverged.
  kDivergent,
  // Masked code for warps that left full code because an affine index
  // overflowed, or because they have fewer than 32 threads. It is a function of
  // its own so that kDivergent, which is more common, stays small. If it would
  // have little code that kDivergent lacks, kDivergent has this code, too.
  kOverflow,
};

// The symbols of the functions.
inline constexpr const char* kSymbols[] = {"kernel", "kernel_masked",
                                           "kernel_wrapped"};
// The symbols of the slots through which full code calls the other parts.
inline constexpr const char* kSlotSymbols[] = {"", "holdfast_masked_slot",
                                               "holdfast_wrapped_slot"};

inline const char* SymbolOf(Part part) {
  return kSymbols[static_cast<int>(part)];
}
inline const char* SlotSymbolOf(Part part) {
  return kSlotSymbols[static_cast<int>(part)];
}

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_PART_H_
