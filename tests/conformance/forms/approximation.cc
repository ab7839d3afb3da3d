// SPDX-License-Identifier: Apache-2.0
//
// Functions that PTX gives with an error bound. The exact value is long
// double's, which is far more exact than any bound.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "tests/conformance/forms/operation.h"

namespace holdfast::forms {
namespace {

using Real = long double;

struct Function {
  size_t sources;
  std::function<Real(Real, Real)> exact;
  // The largest permitted error, by argument and exact result.
  std::function<Real(Real, Real)> error;
};

constexpr Real kAnything = std::numeric_limits<Real>::infinity();

Real Relative(Real exponent, Real value) {
  return std::exp2(exponent) * std::fabs(value);
}

// Sine and cosine: an absolute error near zero that grows with the argument;
// far away any number of at most one.
Real OfAngle(Real a, Real) {
  const Real size = std::fabs(a);
  const Real pi = std::acos(Real{-1});
  if (size <= pi) return std::exp2(Real{-20.5});
  return size <= 100 * pi ? std::exp2(Real{-14.7}) : kAnything;
}

Real OfLog(Real a, Real value) {
  return a > 0.5L && a < 2 ? std::exp2(Real{-22}) : Relative(-22, value);
}

const std::map<std::string, Function>& Functions() {
  static const auto& functions = *new std::map<std::string, Function>{
      {"ex2",
       {1, [](Real a, Real) { return std::exp2(a); },
        [](Real, Real value) { return Relative(-22, value); }}},
      {"lg2", {1, [](Real a, Real) { return std::log2(a); }, OfLog}},
      {"sin", {1, [](Real a, Real) { return std::sin(a); }, OfAngle}},
      {"cos", {1, [](Real a, Real) { return std::cos(a); }, OfAngle}},
      {"tanh",
       {1, [](Real a, Real) { return std::tanh(a); },
        [](Real, Real value) { return Relative(-10.98, value); }}},
      {"rcp",
       {1, [](Real a, Real) { return 1 / a; },
        [](Real, Real value) { return Relative(-23, value); }}},
      {"sqrt",
       {1, [](Real a, Real) { return std::sqrt(a); },
        [](Real, Real value) { return Relative(-22.99, value); }}},
      {"rsqrt",
       {1, [](Real a, Real) { return 1 / std::sqrt(a); },
        [](Real, Real value) { return Relative(-22.9, value); }}},
      {"div",
       {2, [](Real a, Real b) { return a / b; },
        [](Real, Real value) { return Relative(-22, value); }}},
  };
  return functions;
}

// The last place of a small type is larger than the function's own error.
Real PlaceOf(const Kind& kind, Real value) {
  if (!std::isfinite(value) || value == 0) return 0;
  const int digits = kind == "f16" ? 10 : kind == "bf16" ? 7 : 23;
  const int least = kind == "f16" ? -24 : kind == "bf16" ? -133 : -149;
  int exponent;
  std::frexp(value, &exponent);
  return std::exp2(static_cast<Real>(std::max(exponent - 1 - digits, least)));
}

Approximation::Bound BoundOf(const Words& words, const Kind& kind, uint64_t a,
                             uint64_t b) {
  const Function& function = Functions().at(words.opcode());
  const bool ftz = words.Has("ftz");
  if (ftz && kind != "f64") a = Flushed(kind, a), b = Flushed(kind, b);
  if (kind == "f64" && ftz) {
    a &= ~Mask(32);  // only the high word counts
    a = Flushed(kind, a);
  }
  const Real x = Decode(kind, a), y = Decode(kind, b);
  Real exact = function.exact(x, y);
  Real error = function.error(x, exact);
  if (kind == "f64") error = Relative(-20, exact);
  if (kind == "f16" || kind == "bf16") {
    error = std::max(error, PlaceOf(kind, exact));
    // For halves the error is absolute; an H200 exceeds 2^-8 by a little.
    if (words.opcode() == "tanh") {
      error = std::max(error,
                       std::exp2(kind == "f16" ? Real{-10.987} : Real{-7.99}));
    }
  }
  // div.approx has no bound for very large divisors.
  if (words.opcode() == "div" && words.Has("approx") &&
      std::fabs(y) > 0x1p126L) {
    error = kAnything;
  }
  // Beyond the largest and below the smallest number: as rounding goes, one
  // place more or less.
  const Real largest = Decode(kind, Largest(kind));
  if (std::fabs(exact) > largest && std::isfinite(exact)) {
    exact = std::copysign(std::numeric_limits<Real>::infinity(), exact);
  }
  const Real normal = kind == "f16"   ? 0x1p-14L
                      : kind == "f64" ? 0x1p-1022L
                                      : 0x1p-126L;
  if (std::fabs(exact) < normal && error != kAnything) {
    error += ftz || kind == "f64" ? normal : PlaceOf(kind, exact);
  }
  return {exact, error};
}

}  // namespace

std::vector<Operation> DescribeApproximation(const Words& words) {
  const bool approximate = words.Has("approx") || words.Has("full");
  const auto found = Functions().find(words.opcode());
  if (!approximate || found == Functions().end()) return {};
  const Kind kind = words.Type();
  const Kind half = HalfOf(kind);
  Operation operation;
  operation.results = {kind};
  operation.sources.assign(found->second.sources, kind);
  operation.approximation.emplace();
  operation.approximation->bounds = [=](const Sources& in) {
    if (half.empty()) {
      return std::vector<Approximation::Bound>{
          BoundOf(words, kind, in[0], in[1])};
    }
    return std::vector<Approximation::Bound>{
        BoundOf(words, half, in[0] & 0xFFFF, 0),
        BoundOf(words, half, in[0] >> 16 & 0xFFFF, 0)};
  };
  return {operation};
}

}  // namespace holdfast::forms
