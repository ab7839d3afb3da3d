// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/forms/value.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cfenv>
#include <cmath>
#include <iterator>
#include <limits>
#include <string_view>

namespace holdfast::forms {
namespace {

struct Info {
  int bits;
  char family;       // p, b, u, s, f, x
  int exponent = 0;  // bits of it
  int fraction = 0;  // bits of it
  const char* half = "";
};

struct Entry {
  const char* kind;
  Info info;
};

constexpr Entry kEntries[] = {
    {"pred", {1, 'p'}},
    {"count", {32, 'u'}},
    {"b1", {1, 'u'}},
    {"b8", {8, 'b'}},
    {"b16", {16, 'b'}},
    {"b32", {32, 'b'}},
    {"b64", {64, 'b'}},
    {"u2", {2, 'u'}},
    {"u4", {4, 'u'}},
    {"u8", {8, 'u'}},
    {"u16", {16, 'u'}},
    {"u32", {32, 'u'}},
    {"u64", {64, 'u'}},
    {"s2", {2, 's'}},
    {"s4", {4, 's'}},
    {"s8", {8, 's'}},
    {"s16", {16, 's'}},
    {"s32", {32, 's'}},
    {"s64", {64, 's'}},
    {"f16", {16, 'f', 5, 10}},
    {"bf16", {16, 'f', 8, 7}},
    {"f32", {32, 'f', 8, 23}},
    {"tf32", {32, 'f', 8, 10}},
    {"f64", {64, 'f', 11, 52}},
    {"e4m3", {8, 'f', 4, 3}},
    {"e5m2", {8, 'f', 5, 2}},
    {"f16x2", {32, 'x', 0, 0, "f16"}},
    {"bf16x2", {32, 'x', 0, 0, "bf16"}},
    {"u16x2", {32, 'x', 0, 0, "u16"}},
    {"s16x2", {32, 'x', 0, 0, "s16"}},
    {"e4m3x2", {16, 'x', 0, 0, "e4m3"}},
    {"e5m2x2", {16, 'x', 0, 0, "e5m2"}},
    {"b128", {128, 'b'}},
};

// A name of at most eight characters: oracles look these up millions of times.
constexpr uint64_t KeyOf(std::string_view kind) {
  uint64_t key = 0;
  for (const char letter : kind) key = key << 8 | static_cast<uint8_t>(letter);
  return key;
}

constexpr auto kKeys = [] {
  std::array<uint64_t, std::size(kEntries)> keys = {};
  for (size_t i = 0; i < keys.size(); ++i) keys[i] = KeyOf(kEntries[i].kind);
  return keys;
}();

const Info* Find(const Kind& kind) {
  if (kind.size() > 8) return nullptr;
  const auto* found = std::find(kKeys.begin(), kKeys.end(), KeyOf(kind));
  return found == kKeys.end() ? nullptr : &kEntries[found - kKeys.begin()].info;
}

const Info& InfoOf(const Kind& kind) { return *Find(kind); }

// tf32 is stored as an f32.
int Shift(const Kind& kind) { return kind == "tf32" ? 13 : 0; }

// e4m3 has no infinity: there only the last pattern is no number.
bool HasInfinity(const Kind& kind) { return kind != "e4m3"; }

uint64_t Special(const Kind& kind, bool nan) {
  const Info& info = InfoOf(kind);
  if (!HasInfinity(kind)) return 0x7F;
  const uint64_t infinity = Mask(info.exponent) << info.fraction;
  return (nan ? infinity | Mask(info.fraction) : infinity) << Shift(kind);
}

}  // namespace

bool IsKind(const std::string& word) { return Find(word) != nullptr; }
int BitsOf(const Kind& kind) { return InfoOf(kind).bits; }
bool IsFloat(const Kind& kind) { return InfoOf(kind).family == 'f'; }
bool IsSigned(const Kind& kind) { return InfoOf(kind).family == 's'; }
Kind HalfOf(const Kind& kind) { return InfoOf(kind).half; }

uint64_t Mask(int bits) {
  return bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
}

uint64_t Largest(const Kind& kind) {
  if (kind == "e4m3") return 0x7E;
  const Info& info = InfoOf(kind);
  return ((Mask(info.exponent) << info.fraction) - 1) << Shift(kind);
}

uint64_t SignBit(const Kind& kind) {
  return uint64_t{1} << (InfoOf(kind).bits - 1);
}

bool IsNan(const Kind& kind, uint64_t bits) {
  const uint64_t magnitude = bits & (SignBit(kind) - 1);
  return HasInfinity(kind) ? magnitude > Special(kind, false)
                           : magnitude == Special(kind, true);
}

bool IsSubnormal(const Kind& kind, uint64_t bits) {
  const Info& info = InfoOf(kind);
  const uint64_t magnitude = bits & (SignBit(kind) - 1);
  return magnitude != 0 && (magnitude >> Shift(kind) >> info.fraction) == 0;
}

uint64_t Flushed(const Kind& kind, uint64_t bits) {
  return IsSubnormal(kind, bits) ? bits & SignBit(kind) : bits;
}

uint64_t Canonical(const Kind& kind, uint64_t bits) {
  const Kind half = HalfOf(kind);
  if (!half.empty()) {
    const int width = BitsOf(half);
    return Canonical(half, bits & Mask(width)) |
           Canonical(half, bits >> width & Mask(width)) << width;
  }
  bits &= Mask(BitsOf(kind));
  return IsFloat(kind) && IsNan(kind, bits) ? Special(kind, true) : bits;
}

long double Decode(const Kind& kind, uint64_t bits) {
  const Info& info = InfoOf(kind);
  if (info.family != 'f') {
    return static_cast<long double>(ToInteger(kind, bits));
  }
  const bool negative = (bits & SignBit(kind)) != 0;
  const uint64_t magnitude = (bits & (SignBit(kind) - 1)) >> Shift(kind);
  if (IsNan(kind, bits)) return std::numeric_limits<long double>::quiet_NaN();
  long double value;
  if (HasInfinity(kind) && magnitude == Special(kind, false) >> Shift(kind)) {
    value = std::numeric_limits<long double>::infinity();
  } else {
    const int bias = (1 << (info.exponent - 1)) - 1;
    const auto biased = static_cast<int>(magnitude >> info.fraction);
    uint64_t fraction = magnitude & Mask(info.fraction);
    if (biased > 0) fraction |= uint64_t{1} << info.fraction;
    value = std::ldexp(static_cast<long double>(fraction),
                       (biased > 0 ? biased : 1) - bias - info.fraction);
  }
  return negative ? -value : value;
}

uint64_t Encode(const Kind& kind, long double value, Rounding rounding) {
  const Info& info = InfoOf(kind);
  if (std::isnan(value)) return Special(kind, true);
  const uint64_t sign = std::signbit(value) ? SignBit(kind) : 0;
  const bool up = rounding == (sign != 0 ? Rounding::kDown : Rounding::kUp);
  const long double magnitude = std::fabs(value);
  if (magnitude == 0) return sign;
  if (std::isinf(magnitude)) {
    return sign | Special(kind, !HasInfinity(kind));
  }
  // In units of the last place.
  const int bias = (1 << (info.exponent - 1)) - 1;
  int exponent;
  std::frexp(magnitude, &exponent);
  const int place =
      std::max(exponent - 1 - info.fraction, 1 - bias - info.fraction);
  const long double scaled = std::ldexp(magnitude, -place);
  auto units = static_cast<uint64_t>(scaled);
  const long double rest = scaled - static_cast<long double>(units);
  const bool more =
      rest > 0.5L ||
      (rest == 0.5L && (rounding == Rounding::kAway || (units & 1) != 0));
  const bool nearest =
      rounding == Rounding::kNearest || rounding == Rounding::kAway;
  if (nearest ? more : (up && rest > 0)) ++units;
  // Adding the exponent lets a carry run into it.
  uint64_t result = units;
  if (units >> info.fraction != 0) {
    result += static_cast<uint64_t>(place + info.fraction + bias - 1)
              << info.fraction;
  }
  result <<= Shift(kind);
  if (result > Largest(kind)) {
    result = nearest || up ? Special(kind, !HasInfinity(kind)) : Largest(kind);
  }
  return sign | result;
}

double Rounded(Rounding rounding, const std::function<double()>& compute) {
  std::fesetround(rounding == Rounding::kZero   ? FE_TOWARDZERO
                  : rounding == Rounding::kDown ? FE_DOWNWARD
                  : rounding == Rounding::kUp   ? FE_UPWARD
                                                : FE_TONEAREST);
  const volatile double result = compute();
  std::fesetround(FE_TONEAREST);
  return result;
}

double ToOdd(const std::function<double()>& compute) {
  std::feclearexcept(FE_ALL_EXCEPT);
  const double result = Rounded(Rounding::kZero, compute);
  const bool inexact = std::fetestexcept(FE_INEXACT) != 0;
  return inexact ? std::bit_cast<double>(std::bit_cast<uint64_t>(result) | 1)
                 : result;
}

__int128 ToInteger(const Kind& kind, uint64_t bits) {
  const int width = BitsOf(kind);
  bits &= Mask(width);
  if (!IsSigned(kind)) return static_cast<__int128>(bits);
  const auto negative = static_cast<__int128>(bits >> (width - 1) & 1);
  return static_cast<__int128>(bits) - (negative << width);
}

uint64_t Truncate(const Kind& kind, __int128 value) {
  return static_cast<uint64_t>(value) & Mask(BitsOf(kind));
}

}  // namespace holdfast::forms
