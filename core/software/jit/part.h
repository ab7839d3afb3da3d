// SPDX-License-Identifier: Apache-2.0
//
// The functions of a kernel. Each is an object of its own, made when it is
// first needed: of most kernels, only full code ever runs.
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_PART_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_PART_H_

namespace holdfast::software::jit {

enum class Part {
  kFull,  // all lanes of a warp together
  // Masked code for warps whose lanes have diverged.
  kDivergent,
  // Masked code for warps that left full code because an affine index
  // overflowed, or because they have fewer than 32 threads. Kept apart from
  // kDivergent so that the common function stays small; made only if it has
  // much code that kDivergent lacks.
  kOverflow,
};

inline constexpr const char* kSymbols[] = {"kernel", "kernel_masked",
                                           "kernel_wrapped"};
// The symbols of the pointers through which full code calls the other parts.
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
