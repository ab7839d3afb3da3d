// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic of the oracles of instruction forms, on numbers given as bits and
// the PTX name of their type. Uses no code of the software driver, because the
// oracles test that driver.
#ifndef HOLDFAST_TESTS_CONFORMANCE_FORMS_VALUE_H_
#define HOLDFAST_TESTS_CONFORMANCE_FORMS_VALUE_H_

#include <cstdint>
#include <functional>
#include <string>

namespace holdfast::forms {

// The PTX name of a type: "u32", "f16x2", "pred", ...; also "count", a 32-bit
// number that is mostly small. Lane selectors are b32.
using Kind = std::string;

bool IsKind(const std::string& word);
int BitsOf(const Kind& kind);
bool IsFloat(const Kind& kind);   // one number
bool IsSigned(const Kind& kind);  // an integer with a sign
// Returns the type of the two halves of a packed type such as f16x2; empty for
// other types.
Kind HalfOf(const Kind& kind);

enum class Rounding { kNearest, kZero, kDown, kUp, kAway };

// Returns the number, which is exact for every type.
long double Decode(const Kind& kind, uint64_t bits);
// Returns the bits of `value`, rounded once, with NaN in its canonical form.
// REQUIRES: `value` is exact or was rounded to odd.
uint64_t Encode(const Kind& kind, long double value,
                Rounding rounding = Rounding::kNearest);
// Returns the bits of the largest finite number.
uint64_t Largest(const Kind& kind);

// Returns the result of `compute` in double, rounded to odd: rounding it again
// to a type of at most 51 bits is as good as rounding the exact result.
double ToOdd(const std::function<double()>& compute);
// Returns the result of `compute` in this rounding; kAway is as kNearest.
double Rounded(Rounding rounding, const std::function<double()>& compute);

// Returns the integer, signed or unsigned as the type is.
__int128 ToInteger(const Kind& kind, uint64_t bits);
// Returns the low bits of `value`, as many as the type has.
uint64_t Truncate(const Kind& kind, __int128 value);
uint64_t Mask(int bits);

bool IsNan(const Kind& kind, uint64_t bits);
bool IsSubnormal(const Kind& kind, uint64_t bits);
uint64_t SignBit(const Kind& kind);
// Returns the bits; a subnormal number becomes the zero of its sign.
uint64_t Flushed(const Kind& kind, uint64_t bits);
// Returns the bits; every NaN becomes the canonical NaN, also in the halves of
// packed types.
uint64_t Canonical(const Kind& kind, uint64_t bits);

}  // namespace holdfast::forms

#endif  // HOLDFAST_TESTS_CONFORMANCE_FORMS_VALUE_H_
