// SPDX-License-Identifier: Apache-2.0
//
// Conversions: the exact value of the source, rounded once.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/conformance/forms/operation.h"

namespace holdfast::forms {
namespace {

struct Conversion {
  Kind to, from;
  bool ftz, sat, relu, finite;
  Rounding rounding;
  std::string whole;  // rni, rzi, rmi, rpi, or empty
};

// -0 stays -0.
long double ToWhole(const std::string& how, long double value) {
  if (how == "rzi") return std::trunc(value);
  if (how == "rmi") return std::floor(value);
  if (how == "rpi") return std::ceil(value);
  return std::nearbyint(value);
}

uint64_t ToIntegerBits(const Kind& to, const Kind& from, long double value) {
  const int bits = BitsOf(to);
  if (std::isnan(value)) {
    return bits == 64 || from == "f64" ? uint64_t{1} << (bits - 1) : 0;
  }
  const __int128 low = IsSigned(to) ? -(__int128{1} << (bits - 1)) : 0;
  const __int128 high = (__int128{1} << (IsSigned(to) ? bits - 1 : bits)) - 1;
  if (value <= static_cast<long double>(low)) return Truncate(to, low);
  if (value >= std::ldexp(1.0L, IsSigned(to) ? bits - 1 : bits)) {
    return Truncate(to, high);
  }
  return Truncate(to, static_cast<__int128>(value));
}

uint64_t Clamped(const Kind& to, __int128 value) {
  const int bits = BitsOf(to);
  const __int128 low = IsSigned(to) ? -(__int128{1} << (bits - 1)) : 0;
  const __int128 high = (__int128{1} << (IsSigned(to) ? bits - 1 : bits)) - 1;
  return Truncate(to, std::clamp(value, low, high));
}

uint64_t ToFloat(const Conversion& conversion, long double value) {
  const Kind& to = conversion.to;
  if (!conversion.whole.empty()) value = ToWhole(conversion.whole, value);
  uint64_t bits = Encode(to, value, conversion.rounding);
  if (conversion.ftz && to == "f32") bits = Flushed(to, bits);
  if (conversion.sat) {
    const long double result = Decode(to, bits);
    if (!(result > 0)) return 0;
    if (result > 1) return Encode(to, 1);
  }
  if (conversion.relu && !std::isnan(value) && (bits & SignBit(to)) != 0) {
    return 0;
  }
  if (conversion.finite && !std::isnan(value) &&
      (bits & (SignBit(to) - 1)) > Largest(to)) {
    return (bits & SignBit(to)) | Largest(to);
  }
  return bits;
}

uint64_t Convert(const Conversion& conversion, uint64_t a) {
  const auto& [to, from, ftz, sat, relu, finite, rounding, whole] = conversion;
  if (!IsFloat(from) && !IsFloat(to)) {
    const __int128 value = ToInteger(from, a);
    return sat ? Clamped(to, value) : Truncate(to, value);
  }
  a &= Mask(BitsOf(from));
  // Beside f16 .ftz changes nothing, as GPUs do it.
  if (ftz && from == "f32" && to != "f16") a = Flushed(from, a);
  const long double value = Decode(from, a);
  if (IsFloat(to)) return ToFloat(conversion, value);
  return ToIntegerBits(to, from, ToWhole(whole, value));
}

Conversion ConversionOf(const Words& words, const Kind& to, const Kind& from) {
  return {to,
          from,
          words.Has("ftz"),
          words.Has("sat"),
          words.Has("relu"),
          words.Has("satfinite"),
          words.FloatRounding(),
          words.OneOf({"rni", "rzi", "rmi", "rpi"})};
}

// The 16-bit register that holds a narrow number, extended as its type says;
// the assembler wants it in 8 bits beside a bf16.
Kind RegisterOf(const Kind& kind, const Kind& other) {
  return BitsOf(kind) == 8 && other != "bf16" ? kind[0] + std::string("16")
                                              : kind;
}

std::vector<Operation> Scalar(const Words& words) {
  const Conversion conversion =
      ConversionOf(words, words.Type(0), words.Type(1));
  Operation operation;
  const Kind to = RegisterOf(conversion.to, conversion.from);
  operation.results = {to};
  operation.sources = {RegisterOf(conversion.from, conversion.to)};
  operation.compute = [=](const Sources& in) {
    const uint64_t bits = Convert(conversion, in[0]);
    const bool narrow = BitsOf(conversion.to) == 8 && BitsOf(to) == 16;
    return Results{narrow ? Truncate(to, ToInteger(conversion.to, bits))
                          : bits};
  };
  return {operation};
}

// Two numbers into one register: the first source becomes the high half.
std::vector<Operation> Two(const Words& words) {
  const Kind to = words.Type(0), from = words.Type(1);
  const Conversion conversion = ConversionOf(words, HalfOf(to), from);
  const int bits = BitsOf(HalfOf(to));
  Operation operation;
  operation.results = {to};
  operation.sources = {from, from};
  operation.compute = [=](const Sources& in) {
    return Results{Convert(conversion, in[0]) << bits |
                   Convert(conversion, in[1])};
  };
  return {operation};
}

std::vector<Operation> Halves(const Words& words) {
  const Kind to = words.Type(0), from = words.Type(1);
  const Conversion conversion = ConversionOf(words, HalfOf(to), HalfOf(from));
  const int out_bits = BitsOf(HalfOf(to)), in_bits = BitsOf(HalfOf(from));
  Operation operation;
  operation.results = {to};
  operation.sources = {from};
  operation.compute = [=](const Sources& in) {
    return Results{Convert(conversion, in[0] >> in_bits) << out_bits |
                   Convert(conversion, in[0] & Mask(in_bits))};
  };
  return {operation};
}

// cvt.pack: two numbers, saturated, above what the third source holds.
std::vector<Operation> PackIntegers(const Words& words) {
  const Kind to = words.Type(0), from = words.Type(1);
  const int bits = BitsOf(to);
  Operation operation;
  operation.results = {"b32"};
  operation.sources = {from, from};
  const bool merges = words.types() == 3;
  if (merges) operation.sources.push_back("b32");
  operation.compute = [=](const Sources& in) {
    const uint64_t pair = Clamped(to, ToInteger(from, in[0])) << bits |
                          Clamped(to, ToInteger(from, in[1]));
    return Results{merges ? (in[2] << (2 * bits) | pair) & Mask(32) : pair};
  };
  return {operation};
}

}  // namespace

std::vector<Operation> DescribeConversion(const Words& words) {
  if (words.opcode() != "cvt" || words.types() < 2) return {};
  if (words.Has("pack")) return PackIntegers(words);
  const bool to_packed = !HalfOf(words.Type(0)).empty();
  const bool from_packed = !HalfOf(words.Type(1)).empty();
  if (to_packed && from_packed) return Halves(words);
  return to_packed ? Two(words) : Scalar(words);
}

}  // namespace holdfast::forms
