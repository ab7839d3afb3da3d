// SPDX-License-Identifier: Apache-2.0
#include "client/cli/array_text.h"

#include <cmath>
#include <cstdint>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace holdfast::cli {
namespace {

template <typename T>
T As(const char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

// Sign, exponent, mantissa.
double From16Bits(uint16_t bits, int exponent_bits, int mantissa_bits) {
  const int most = (1 << exponent_bits) - 1;
  const int exponent = bits >> mantissa_bits & most;
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  const int bias = most / 2;
  double value = 0;
  if (exponent == most) {
    value = mantissa == 0 ? INFINITY : NAN;
  } else {
    const int leading = exponent == 0 ? 0 : 1 << mantissa_bits;
    value = std::ldexp(mantissa + leading,
                       std::max(exponent, 1) - bias - mantissa_bits);
  }
  return (bits & 0x8000) != 0 ? -value : value;
}

template <typename T>
std::string ComplexText(const char* bytes) {
  const T imaginary = As<T>(bytes + sizeof(T));
  return absl::StrCat(As<T>(bytes), imaginary < 0 ? "" : "+", imaginary, "j");
}

std::string ElementText(ElementType type, const char* bytes) {
  switch (type) {
    case ElementType::kBool:
      return *bytes != 0 ? "true" : "false";
    case ElementType::kI8:
      return absl::StrCat(static_cast<int>(As<int8_t>(bytes)));
    case ElementType::kI16:
      return absl::StrCat(As<int16_t>(bytes));
    case ElementType::kI32:
      return absl::StrCat(As<int32_t>(bytes));
    case ElementType::kI64:
      return absl::StrCat(As<int64_t>(bytes));
    case ElementType::kU8:
      return absl::StrCat(static_cast<int>(As<uint8_t>(bytes)));
    case ElementType::kU16:
      return absl::StrCat(As<uint16_t>(bytes));
    case ElementType::kU32:
      return absl::StrCat(As<uint32_t>(bytes));
    case ElementType::kU64:
      return absl::StrCat(As<uint64_t>(bytes));
    case ElementType::kF16:
      return absl::StrCat(From16Bits(As<uint16_t>(bytes), 5, 10));
    case ElementType::kBF16:
      return absl::StrCat(From16Bits(As<uint16_t>(bytes), 8, 7));
    case ElementType::kF32:
      return absl::StrCat(As<float>(bytes));
    case ElementType::kF64:
      return absl::StrCat(As<double>(bytes));
    case ElementType::kC64:
      return ComplexText<float>(bytes);
    case ElementType::kC128:
      return ComplexText<double>(bytes);
  }
  return "";
}

}  // namespace

std::string ElementsText(const Array& array, size_t limit) {
  const size_t size = Size(array.type);
  const size_t count = array.bytes.size() / size;
  std::string text = "[";
  for (size_t i = 0; i < count; ++i) {
    if (i > 0) text += ", ";
    if (count > limit && i + 1 == limit) {
      text += "..., ";
      i = count - 1;
    }
    text += ElementText(array.type, array.bytes.data() + i * size);
  }
  return text + "]";
}

}  // namespace holdfast::cli
