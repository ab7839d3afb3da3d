// SPDX-License-Identifier: Apache-2.0
//
// Numbers as bits, by the PTX name of their type: what the oracles of
// instruction forms compute with. Written without a line of the software
// driver, which is what they judge.
#ifndef HOLDFAST_TESTS_CONFORMANCE_FORMS_VALUE_H_
#define HOLDFAST_TESTS_CONFORMANCE_FORMS_VALUE_H_

#include <cstdint>
#include <functional>
#include <string>

namespace holdfast::forms {

// "u32", "f16x2", "pred", ...; also "count", a 32-bit number that is mostly
// small, and "lane selectors" are plain b32.
using Kind = std::string;

bool IsKind(const std::string& word);
int BitsOf(const Kind& kind);
bool IsFloat(const Kind& kind);   // one number
bool IsSigned(const Kind& kind);  // an integer with a sign
// The type of the two halves of f16x2 and the like; else empty.
Kind HalfOf(const Kind& kind);

enum class Rounding { kNearest, kZero, kDown, kUp, kAway };

// Exact, for every type.
long double Decode(const Kind& kind, uint64_t bits);
// Rounded once, NaN in its canonical form. If `value` is itself not exact, it
// must have been rounded to odd.
uint64_t Encode(const Kind& kind, long double value,
                Rounding rounding = Rounding::kNearest);
// The magnitude next above the largest finite number.
uint64_t Largest(const Kind& kind);

// The result of `compute` in double, rounded to odd: rounding it again to a
// type of at most 51 bits is as good as rounding the exact result.
double ToOdd(const std::function<double()>& compute);
// In that rounding, and no other.
double Rounded(Rounding rounding, const std::function<double()>& compute);

// Signed or unsigned, as the type says.
__int128 ToInteger(const Kind& kind, uint64_t bits);
uint64_t Truncate(const Kind& kind, __int128 value);
uint64_t Mask(int bits);

bool IsNan(const Kind& kind, uint64_t bits);
bool IsSubnormal(const Kind& kind, uint64_t bits);
uint64_t SignBit(const Kind& kind);
// A subnormal number as the zero of its sign.
uint64_t Flushed(const Kind& kind, uint64_t bits);
// All NaNs are one, in either half of packed types.
uint64_t Canonical(const Kind& kind, uint64_t bits);

}  // namespace holdfast::forms

#endif  // HOLDFAST_TESTS_CONFORMANCE_FORMS_VALUE_H_
