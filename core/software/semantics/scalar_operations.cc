// SPDX-License-Identifier: Apache-2.0
#include "core/software/semantics/scalar_operations.h"

#include <bit>
#include <cmath>
#include <cstdlib>

#include "core/software/semantics/conversion.h"
#include "core/software/semantics/rounding_scope.h"
#include "core/software/semantics/scalar_video.h"
#include "core/software/semantics/video.h"

namespace holdfast::software {
namespace {

template <typename Float, typename Bits, typename Function>
uint64_t InRounding(uint32_t rounding, uint64_t a, uint64_t b, uint64_t c,
                    Function function) {
  const RoundingScope scope(rounding);
  const volatile Float x = std::bit_cast<Float>(static_cast<Bits>(a));
  const volatile Float y = std::bit_cast<Float>(static_cast<Bits>(b));
  const volatile Float z = std::bit_cast<Float>(static_cast<Bits>(c));
  const volatile Float result = function(x, y, z);
  return std::bit_cast<Bits>(static_cast<Float>(result));
}

template <typename Function>
uint64_t Doubles(uint32_t rounding, uint64_t a, uint64_t b, uint64_t c,
                 Function function) {
  return InRounding<double, uint64_t>(rounding, a, b, c, function);
}

template <typename Function>
uint64_t Floats(uint32_t rounding, uint64_t a, uint64_t b, Function function) {
  return InRounding<float, uint32_t>(rounding, a, b, 0, function);
}

uint64_t add_f64(uint64_t a, uint64_t b, uint64_t c, uint32_t rounding) {
  return Doubles(rounding, a, b, c,
                 [](double x, double y, double) { return x + y; });
}

uint64_t mul_f64(uint64_t a, uint64_t b, uint64_t c, uint32_t rounding) {
  return Doubles(rounding, a, b, c,
                 [](double x, double y, double) { return x * y; });
}

uint64_t fma_f64(uint64_t a, uint64_t b, uint64_t c, uint32_t rounding) {
  return Doubles(rounding, a, b, c, [](double x, double y, double z) {
    return std::fma(x, y, z);
  });
}

uint64_t div_f64(uint64_t a, uint64_t b, uint64_t c, uint32_t rounding) {
  return Doubles(rounding, a, b, c,
                 [](double x, double y, double) { return x / y; });
}

uint64_t sqrt_f64(uint64_t a, uint64_t b, uint64_t c, uint32_t rounding) {
  return Doubles(rounding, a, b, c,
                 [](double x, double, double) { return std::sqrt(x); });
}

uint64_t div_f32(uint64_t a, uint64_t b, uint64_t, uint32_t rounding) {
  return Floats(rounding, a, b, [](float x, float y, float) { return x / y; });
}

uint64_t sqrt_f32(uint64_t a, uint64_t b, uint64_t, uint32_t rounding) {
  return Floats(rounding, a, b,
                [](float x, float, float) { return std::sqrt(x); });
}

uint64_t convert(uint64_t a, uint64_t b, uint64_t c, uint32_t option) {
  return Convert(UnpackConversion(option), a, b, c);
}

uint64_t video(uint64_t a, uint64_t b, uint64_t c, uint32_t option) {
  return ComputeVideo(UnpackVideo(option), static_cast<uint32_t>(a),
                      static_cast<uint32_t>(b), static_cast<uint32_t>(c));
}

uint64_t scalar_video(uint64_t a, uint64_t b, uint64_t c, uint32_t option) {
  return ComputeScalarVideo(UnpackScalarVideo(option), static_cast<uint32_t>(a),
                            static_cast<uint32_t>(b), static_cast<uint32_t>(c));
}

// fns: the place of the n-th set bit of `mask` from `base`, upwards or, with a
// negative n, downwards.
uint64_t find_nth(uint64_t mask, uint64_t base, uint64_t n, uint32_t) {
  constexpr uint64_t kNone = 0xFFFFFFFF;
  const auto from = static_cast<uint32_t>(base);
  if (from > 31) return kNone;
  const auto count = static_cast<int32_t>(n);
  const bool down = count < 0;
  auto word = static_cast<uint32_t>(mask);
  word &= down ? ~uint32_t{0} >> (31 - from) : ~uint32_t{0} << from;
  if (count == 0) return (word >> from & 1) != 0 ? from : kNone;
  const auto wanted =
      static_cast<uint32_t>(std::abs(static_cast<int64_t>(count)));
  if (static_cast<uint32_t>(std::popcount(word)) < wanted) return kNone;
  for (uint32_t i = 1; i < wanted; ++i) {
    word &= down ? ~(uint32_t{1} << (31 - std::countl_zero(word))) : word - 1;
  }
  return down ? 31 - std::countl_zero(word) : std::countr_zero(word);
}

template <ScalarOperation* kOperation>
void RunLanes(const uint64_t* a, const uint64_t* b, const uint64_t* c,
              uint64_t* results, uint32_t count, uint32_t option) {
  for (uint32_t i = 0; i < count; ++i) {
    results[i] = kOperation(a[i], b[i], c[i], option);
  }
}

}  // namespace

extern "C" {
#define X(name)                                                     \
  void holdfast_scalar_##name(const uint64_t* a, const uint64_t* b, \
                              const uint64_t* c, uint64_t* results, \
                              uint32_t count, uint32_t option) {    \
    RunLanes<name>(a, b, c, results, count, option);                \
  }
HOLDFAST_SCALAR_OPERATIONS(X)
#undef X
}

}  // namespace holdfast::software
