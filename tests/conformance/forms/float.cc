// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic of all floating-point types: exact results, rounded once.
#include <cmath>
#include <limits>
#include <map>

#include "tests/conformance/forms/operation.h"

namespace holdfast::forms {
namespace {

using Compute = std::function<double(double, double, double)>;

const std::map<std::string, std::pair<size_t, Compute>>& Functions() {
  static const auto& functions =
      *new std::map<std::string, std::pair<size_t, Compute>>{
          {"add", {2, [](double a, double b, double) { return a + b; }}},
          {"sub", {2, [](double a, double b, double) { return a - b; }}},
          {"mul", {2, [](double a, double b, double) { return a * b; }}},
          {"fma",
           {3, [](double a, double b, double c) { return std::fma(a, b, c); }}},
          {"mad",
           {3, [](double a, double b, double c) { return std::fma(a, b, c); }}},
          {"div", {2, [](double a, double b, double) { return a / b; }}},
          {"rcp", {1, [](double a, double, double) { return 1 / a; }}},
          {"sqrt", {1, [](double a, double, double) { return std::sqrt(a); }}},
      };
  return functions;
}

uint64_t Saturated(const Kind& kind, uint64_t bits) {
  if (IsNan(kind, bits)) return 0;
  const long double value = Decode(kind, bits);
  if (!(value > 0)) return 0;
  return value > 1 ? Encode(kind, 1) : bits;
}

uint64_t Rectified(const Kind& kind, uint64_t bits) {
  if (IsNan(kind, bits)) return Canonical(kind, bits);
  return (bits & SignBit(kind)) != 0 ? 0 : bits;
}

struct Options {
  Kind kind;
  bool ftz, sat, relu;
  Rounding rounding;
};

uint64_t Finish(const Options& options, uint64_t bits) {
  if (options.ftz) bits = Flushed(options.kind, bits);
  if (options.sat) bits = Saturated(options.kind, bits);
  if (options.relu) bits = Rectified(options.kind, bits);
  return bits;
}

// The rule of .ftz: GPUs look at the result before it loses digits for being
// subnormal, so that what would round up to the least normal number is flushed.
bool IsTiny(const Options& options, long double exact) {
  const int scale = options.kind == "f16" ? 8 : 64;
  const uint64_t bits =
      Encode(options.kind, std::ldexp(exact, scale), options.rounding);
  const int least = options.kind == "f16" ? -14 : -126;
  return std::fabs(Decode(options.kind, bits)) <
         std::ldexp(1.0L, least + scale);
}

uint64_t Arithmetic(const Options& options, const Compute& compute,
                    const Sources& in) {
  double v[3] = {};
  for (int i = 0; i < 3; ++i) {
    uint64_t bits = in[i] & Mask(BitsOf(options.kind));
    if (options.ftz) bits = Flushed(options.kind, bits);
    v[i] = static_cast<double>(Decode(options.kind, bits));
  }
  const volatile double a = v[0], b = v[1], c = v[2];
  auto run = [&] { return compute(a, b, c); };
  const uint64_t bits =
      options.kind == "f64"
          ? Encode("f64", Rounded(options.rounding, run))
          : [&] {
              const double odd = ToOdd(run);
              if (options.ftz && odd != 0 && IsTiny(options, odd)) {
                return Finish(options,
                              std::signbit(odd) ? SignBit(options.kind) : 0);
              }
              // Rounded towards zero, a difference of equal numbers is +0.
              const double zero = Rounded(options.rounding, run);
              return Encode(options.kind, odd == 0 ? zero : odd,
                            options.rounding);
            }();
  return Finish(options, bits);
}

// A NaN loses, unless the form wants it to win; -0 is less than +0.
uint64_t Extreme(const Words& words, const Options& options,
                 const Sources& in) {
  const Kind& kind = options.kind;
  uint64_t a = in[0] & Mask(BitsOf(kind));
  uint64_t b = in[1] & Mask(BitsOf(kind));
  if (options.ftz) a = Flushed(kind, a), b = Flushed(kind, b);
  const uint64_t sign = (a ^ b) & SignBit(kind);
  const bool magnitudes = words.Has("xorsign");
  if (magnitudes) a &= ~SignBit(kind), b &= ~SignBit(kind);
  const bool nan_a = IsNan(kind, a), nan_b = IsNan(kind, b);
  uint64_t result;
  if (nan_a || nan_b) {
    if ((nan_a && nan_b) || words.Has("NaN")) {
      return Encode(kind, std::numeric_limits<long double>::quiet_NaN());
    }
    result = nan_a ? b : a;
  } else {
    const long double x = Decode(kind, a), y = Decode(kind, b);
    const bool less = x < y || (x == y && (a & SignBit(kind)) != 0);
    result = less == (words.opcode() == "min") ? a : b;
  }
  return magnitudes ? result | sign : result;
}

uint64_t SignChange(const Words& words, const Options& options,
                    const Sources& in) {
  const Kind& kind = options.kind;
  uint64_t a = in[0] & Mask(BitsOf(kind));
  if (options.ftz) a = Flushed(kind, a);
  return words.opcode() == "abs" ? a & ~SignBit(kind) : a ^ SignBit(kind);
}

bool Property(const std::string& name, const Kind& kind, uint64_t a) {
  const bool nan = IsNan(kind, a);
  const bool infinite = !nan && std::isinf(Decode(kind, a));
  if (name == "finite") return !nan && !infinite;
  if (name == "infinite") return infinite;
  if (name == "number") return !nan;
  if (name == "notanumber") return nan;
  if (name == "subnormal") return IsSubnormal(kind, a);
  return !nan && !infinite && !IsSubnormal(kind, a);  // zero, too
}

Operation Lift(const Kind& kind, size_t sources,
               const std::function<uint64_t(const Sources&)>& scalar) {
  if (!HalfOf(kind).empty()) return Packed(kind, sources, scalar);
  Operation operation;
  operation.results = {kind};
  operation.sources.assign(sources, kind);
  operation.compute = [scalar](const Sources& in) {
    return Results{scalar(in)};
  };
  return operation;
}

}  // namespace

std::vector<Operation> DescribeFloat(const Words& words) {
  const std::string& opcode = words.opcode();
  const Kind kind = words.Type();
  if (kind.empty() || words.types() != 1 || words.Has("approx") ||
      words.Has("full")) {
    return {};
  }
  const Kind each = HalfOf(kind).empty() ? kind : HalfOf(kind);
  if (!IsFloat(each)) return {};
  const Options options = {each, words.Has("ftz"), words.Has("sat"),
                           words.Has("relu"), words.FloatRounding()};
  if (auto found = Functions().find(opcode); found != Functions().end()) {
    const auto& [count, compute] = found->second;
    return {Lift(kind, count, [=, compute = compute](const Sources& in) {
      return Arithmetic(options, compute, in);
    })};
  }
  if (opcode == "min" || opcode == "max") {
    return {Lift(kind, 2, [=](const Sources& in) {
      return Extreme(words, options, in);
    })};
  }
  if (opcode == "neg" || opcode == "abs") {
    return {Lift(kind, 1, [=](const Sources& in) {
      return SignChange(words, options, in);
    })};
  }
  if (opcode == "copysign") {
    return {Lift(kind, 2, [=](const Sources& in) {
      return (in[0] & SignBit(each)) | (in[1] & (SignBit(each) - 1));
    })};
  }
  if (opcode == "testp") {
    const std::string property = words.OneOf(
        {"finite", "infinite", "number", "notanumber", "normal", "subnormal"});
    Operation operation;
    operation.results = {"pred"};
    operation.sources = {kind};
    operation.compute = [=](const Sources& in) {
      return Results{uint64_t{Property(property, kind, in[0])}};
    };
    return {operation};
  }
  return {};
}

}  // namespace holdfast::forms
