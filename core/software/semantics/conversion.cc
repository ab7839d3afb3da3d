// SPDX-License-Identifier: Apache-2.0
#include "core/software/semantics/conversion.h"

#include <algorithm>
#include <bit>

namespace holdfast::software {
namespace {

using ptx::Type;
using Rounding = Conversion::Rounding;

// significand * 2^exponent, or infinity, or no number.
struct Number {
  enum class Kind : uint8_t { kFinite, kInfinite, kNan };
  Kind kind = Kind::kFinite;
  bool negative = false;
  uint64_t significand = 0;
  int exponent = 0;
};

// A binary floating-point type in `exponent_bits` and `fraction_bits`, with
// `unused` zero bits below.
struct Format {
  int exponent_bits;
  int fraction_bits;
  int unused = 0;
  bool has_infinity = true;

  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  uint64_t sign() const {
    return uint64_t{1} << (exponent_bits + fraction_bits + unused);
  }
  // Without the unused bits: of the first pattern that is no finite number.
  uint64_t beyond() const {
    return has_infinity ? ((uint64_t{1} << exponent_bits) - 1) << fraction_bits
                        : 0x7F;
  }
  uint64_t nan() const { return (sign() - 1) >> unused << unused; }
};

Format FormatOf(Type type) {
  switch (type) {
    case Type::kF16:
      return {5, 10};
    case Type::kBF16:
      return {8, 7};
    case Type::kTF32:
      return {8, 10, 13};
    case Type::kF32:
      return {8, 23};
    case Type::kE4M3:
      return {4, 3, 0, false};
    case Type::kE5M2:
      return {5, 2};
    default:
      return {11, 52};
  }
}

uint64_t MaskOf(int bits) {
  return bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
}

Number FromInteger(Type type, uint64_t bits) {
  const int width = ptx::BitsOf(type);
  bits &= MaskOf(width);
  Number number;
  number.negative = ptx::IsSigned(type) && (bits >> (width - 1) & 1) != 0;
  number.significand = number.negative ? (0 - bits) & MaskOf(width) : bits;
  return number;
}

Number FromFloat(Type type, uint64_t bits) {
  const Format format = FormatOf(type);
  Number number;
  number.negative = (bits & format.sign()) != 0;
  const uint64_t magnitude = (bits & (format.sign() - 1)) >> format.unused;
  if (magnitude >= format.beyond()) {
    number.kind = magnitude == format.beyond() && format.has_infinity
                      ? Number::Kind::kInfinite
                      : Number::Kind::kNan;
    return number;
  }
  const uint64_t hidden = uint64_t{1} << format.fraction_bits;
  const auto biased = static_cast<int>(magnitude >> format.fraction_bits);
  number.significand = (magnitude & (hidden - 1)) | (biased > 0 ? hidden : 0);
  number.exponent = std::max(biased, 1) - format.bias() - format.fraction_bits;
  return number;
}

// Whether dropping bits that are worth `half` of a place and `more` than that
// moves the magnitude up.
bool RoundsUp(Rounding rounding, bool negative, bool odd, bool half,
              bool more) {
  switch (rounding) {
    case Rounding::kNearest:
      return half && (more || odd);
    case Rounding::kAway:
      return half;
    case Rounding::kZero:
      return false;
    case Rounding::kDown:
      return negative && (half || more);
    case Rounding::kUp:
      return !negative && (half || more);
  }
  return false;
}

// In units of 2^place; the significand must have room for a carry.
uint64_t InUnits(const Number& number, int place, Rounding rounding) {
  const int shift = place - number.exponent;
  const uint64_t bits = number.significand;
  if (shift <= 0) return bits << std::min(-shift, 63);
  const bool half = shift <= 64 && (bits >> (shift - 1) & 1) != 0;
  const bool more = shift > 64 ? bits != 0 : (bits & MaskOf(shift - 1)) != 0;
  const uint64_t units = shift >= 64 ? 0 : bits >> shift;
  return units +
         RoundsUp(rounding, number.negative, (units & 1) != 0, half, more);
}

Number ToWhole(Number number, Rounding rounding) {
  if (number.kind != Number::Kind::kFinite || number.exponent >= 0) {
    return number;
  }
  number.significand = InUnits(number, 0, rounding);
  number.exponent = 0;
  return number;
}

uint64_t ToFloat(Type type, const Number& number, Rounding rounding) {
  const Format format = FormatOf(type);
  const uint64_t sign = number.negative ? format.sign() : 0;
  const uint64_t overflow = format.has_infinity ? format.beyond() : 0x7F;
  if (number.kind == Number::Kind::kNan) return format.nan();
  if (number.kind == Number::Kind::kInfinite) {
    return sign | overflow << format.unused;
  }
  if (number.significand == 0) return sign;
  const int top = 63 - std::countl_zero(number.significand);
  const int least = 1 - format.bias() - format.fraction_bits;
  const int place =
      std::max(number.exponent + top - format.fraction_bits, least);
  const uint64_t units = InUnits(number, place, rounding);
  // A carry out of the fraction counts the exponent up.
  uint64_t result = units;
  if ((units >> format.fraction_bits) != 0) {
    result += static_cast<uint64_t>(place - least) << format.fraction_bits;
  }
  if (result >= format.beyond()) {
    const bool up = RoundsUp(rounding, number.negative, true, true, true);
    result = up ? overflow : format.beyond() - 1;
  }
  return sign | result << format.unused;
}

// Clamped to the range of `to`. No number is 0, or, where 64 bits are on
// either side, the highest bit alone.
uint64_t ToInteger(Type to, Type from, const Number& number) {
  const int width = ptx::BitsOf(to);
  const bool is_signed = ptx::IsSigned(to);
  if (number.kind == Number::Kind::kNan) {
    const bool wide = width == 64 || ptx::BitsOf(from) == 64;
    return wide ? uint64_t{1} << (width - 1) : 0;
  }
  const uint64_t limit = number.negative
                             ? (is_signed ? uint64_t{1} << (width - 1) : 0)
                             : MaskOf(is_signed ? width - 1 : width);
  const int top = 63 - std::countl_zero(number.significand | 1);
  const bool large = number.kind == Number::Kind::kInfinite ||
                     (number.significand != 0 && number.exponent + top > 63);
  uint64_t magnitude = limit;
  if (!large && number.exponent >= 0) {
    magnitude = number.significand << std::min(number.exponent, 63);
  }
  magnitude = std::min(magnitude, limit);
  return (number.negative ? 0 - magnitude : magnitude) & MaskOf(width);
}

uint64_t FlushSubnormal(Type type, uint64_t bits) {
  const Format format = FormatOf(type);
  const uint64_t magnitude = bits & (format.sign() - 1);
  return (magnitude >> format.unused >> format.fraction_bits) == 0
             ? bits & format.sign()
             : bits;
}

// To [0, 1]; what is no number becomes 0.
uint64_t ToUnit(Type type, uint64_t bits) {
  const Format format = FormatOf(type);
  const uint64_t one = static_cast<uint64_t>(format.bias())
                       << format.fraction_bits << format.unused;
  const uint64_t magnitude = bits & (format.sign() - 1);
  if ((bits & format.sign()) != 0) return 0;
  if (magnitude >> format.unused > format.beyond()) return 0;
  return std::min(bits, one);
}

uint64_t FinishFloat(const Conversion& how, bool nan, uint64_t bits) {
  const Format format = FormatOf(how.to);
  const uint64_t sign = bits & format.sign();
  const uint64_t magnitude = (bits & (format.sign() - 1)) >> format.unused;
  if (how.ftz && how.to == Type::kF32) bits = FlushSubnormal(how.to, bits);
  if (how.saturate) bits = ToUnit(how.to, bits);
  if (how.finite && !nan && magnitude >= format.beyond()) {
    bits = sign | (format.beyond() - 1) << format.unused;
  }
  return how.relu && !nan && sign != 0 ? 0 : bits;
}

bool IsFloating(Type type) {
  return ptx::IsFloat(type) || type == Type::kTF32 || type == Type::kE4M3 ||
         type == Type::kE5M2;
}

// Without a rounding of its own: integers beyond the range wrap.
uint64_t ConvertOne(const Conversion& how, uint64_t bits) {
  const bool from_float = IsFloating(how.from);
  bits &= MaskOf(ptx::BitsOf(how.from));
  // Beside f16 .ftz changes nothing, as on an H200.
  if (from_float && how.ftz && how.from == Type::kF32 && how.to != Type::kF16) {
    bits = FlushSubnormal(how.from, bits);
  }
  Number number =
      from_float ? FromFloat(how.from, bits) : FromInteger(how.from, bits);
  if (IsFloating(how.to)) {
    if (how.whole) number = ToWhole(number, how.rounding);
    return FinishFloat(how, number.kind == Number::Kind::kNan,
                       ToFloat(how.to, number, how.rounding));
  }
  if (from_float) {
    return ToInteger(how.to, how.from, ToWhole(number, how.rounding));
  }
  if (how.saturate) return ToInteger(how.to, how.from, number);
  const uint64_t value =
      number.negative ? 0 - number.significand : number.significand;
  return value & MaskOf(ptx::BitsOf(how.to));
}

}  // namespace

uint32_t PackConversion(const Conversion& how) {
  return static_cast<uint32_t>(how.to) | static_cast<uint32_t>(how.from) << 8 |
         static_cast<uint32_t>(how.rounding) << 16 | uint32_t{how.whole} << 20 |
         uint32_t{how.ftz} << 21 | uint32_t{how.saturate} << 22 |
         uint32_t{how.relu} << 23 | uint32_t{how.finite} << 24 |
         uint32_t{how.pack} << 25;
}

Conversion UnpackConversion(uint32_t option) {
  Conversion how;
  how.to = static_cast<Type>(option & 0xFF);
  how.from = static_cast<Type>(option >> 8 & 0xFF);
  how.rounding = static_cast<Rounding>(option >> 16 & 0xF);
  how.whole = (option >> 20 & 1) != 0;
  how.ftz = (option >> 21 & 1) != 0;
  how.saturate = (option >> 22 & 1) != 0;
  how.relu = (option >> 23 & 1) != 0;
  how.finite = (option >> 24 & 1) != 0;
  how.pack = (option >> 25 & 1) != 0;
  return how;
}

uint64_t Convert(const Conversion& how, uint64_t a, uint64_t b, uint64_t c) {
  const Type half = ptx::HalfOf(how.to);
  if (half == Type::kNone && !how.pack) return ConvertOne(how, a);
  Conversion each = how;
  if (half != Type::kNone) each.to = half;
  if (const Type from = ptx::HalfOf(how.from); from != Type::kNone) {
    each.from = from;
    b = a;
    a >>= ptx::BitsOf(from);
  }
  const int bits = ptx::BitsOf(each.to);
  const uint64_t pair = ConvertOne(each, a) << bits | ConvertOne(each, b);
  return how.pack ? (c << (2 * bits) | pair) & MaskOf(32) : pair;
}

}  // namespace holdfast::software
