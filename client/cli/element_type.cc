// SPDX-License-Identifier: Apache-2.0
#include "client/cli/element_type.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/base/printable.h"
#include "core/base/status_macros.h"

namespace holdfast::cli {
namespace {

struct Row {
  ElementType type;
  absl::string_view name;
  size_t size;
  absl::string_view numpy;
};

constexpr Row kRows[] = {
    {ElementType::kBool, "bool", 1, "|b1"},
    {ElementType::kI8, "i8", 1, "|i1"},
    {ElementType::kI16, "i16", 2, "<i2"},
    {ElementType::kI32, "i32", 4, "<i4"},
    {ElementType::kI64, "i64", 8, "<i8"},
    {ElementType::kU8, "u8", 1, "|u1"},
    {ElementType::kU16, "u16", 2, "<u2"},
    {ElementType::kU32, "u32", 4, "<u4"},
    {ElementType::kU64, "u64", 8, "<u8"},
    {ElementType::kF16, "f16", 2, "<f2"},
    {ElementType::kBF16, "bf16", 2, "|V2"},
    {ElementType::kF32, "f32", 4, "<f4"},
    {ElementType::kF64, "f64", 8, "<f8"},
    {ElementType::kC64, "c64", 8, "<c8"},
    {ElementType::kC128, "c128", 16, "<c16"},
};

// The rows stand in the order of the enumeration.
const Row& RowOf(ElementType type) { return kRows[static_cast<size_t>(type)]; }

template <typename T>
std::string BytesOf(T value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

absl::Status NotOfType(ElementType type, absl::string_view text) {
  return absl::InvalidArgumentError(
      absl::StrCat("\"", text, "\" is not a value of ", Name(type)));
}

template <typename T>
absl::StatusOr<std::string> ParseInteger(ElementType type,
                                         absl::string_view text) {
  using Wide = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
  Wide value = 0;
  const bool hex = absl::StartsWith(text, "0x") || absl::StartsWith(text, "0X");
  const bool parsed =
      hex ? absl::SimpleHexAtoi(text, &value) : absl::SimpleAtoi(text, &value);
  if (!parsed || value < static_cast<Wide>(std::numeric_limits<T>::min()) ||
      value > static_cast<Wide>(std::numeric_limits<T>::max())) {
    return NotOfType(type, text);
  }
  return BytesOf(static_cast<T>(value));
}

// The nearest value with so many bits, ties to even: sign, exponent, mantissa.
uint16_t RoundTo16Bits(double value, int exponent_bits, int mantissa_bits) {
  const uint32_t infinity = ((1u << exponent_bits) - 1) << mantissa_bits;
  const uint32_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return sign | infinity | 1u << (mantissa_bits - 1);
  if (std::isinf(value)) return sign | infinity;
  if (value == 0) return sign;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  int exponent = 0;
  std::frexp(value, &exponent);
  exponent = std::max(exponent - 1, 1 - bias);  // subnormals share the lowest
  const double steps =
      std::nearbyint(std::ldexp(std::fabs(value), mantissa_bits - exponent));
  // A normal number's steps include the leading 1, which adds to the exponent.
  const double bits = std::ldexp(exponent + bias - 1, mantissa_bits) + steps;
  return sign | (bits >= infinity ? infinity : static_cast<uint32_t>(bits));
}

// Does the text name a number other than 0, by a digit before the exponent?
bool IsNonzeroNumber(absl::string_view text) {
  return text.substr(0, text.find_first_of("eE")).find_first_of("123456789") !=
         absl::string_view::npos;
}

// "inf", "-Infinity"; 1e400 is not.
bool NamesInfinity(absl::string_view text) {
  return text.find_first_of("iI") != absl::string_view::npos;
}

// Neither infinity nor 0 stands for a number that is too large or too small.
absl::StatusOr<std::string> ParseFloat(ElementType type,
                                       absl::string_view text) {
  double value = 0;
  if (!absl::SimpleAtod(text, &value)) return NotOfType(type, text);
  std::string bytes;
  double rounded = value;
  if (type == ElementType::kF64) {
    bytes = BytesOf(value);
  } else if (type == ElementType::kF32) {
    rounded = static_cast<float>(value);
    bytes = BytesOf(static_cast<float>(value));
  } else {
    const bool half = type == ElementType::kF16;
    const uint16_t bits =
        half ? RoundTo16Bits(value, 5, 10) : RoundTo16Bits(value, 8, 7);
    bytes = BytesOf(bits);
    const uint16_t size = bits & 0x7fff;
    if (size == (half ? 0x7c00 : 0x7f80)) rounded = HUGE_VAL;
    if (size == 0) rounded = 0;
  }
  const bool lost = (std::isinf(rounded) && !NamesInfinity(text)) ||
                    (rounded == 0 && IsNonzeroNumber(text));
  return lost ? NotOfType(type, text) : absl::StatusOr<std::string>(bytes);
}

absl::StatusOr<std::string> ParseBool(absl::string_view text) {
  if (text == "true" || text == "1") return std::string(1, '\1');
  if (text == "false" || text == "0") return std::string(1, '\0');
  return NotOfType(ElementType::kBool, text);
}

}  // namespace

absl::string_view Name(ElementType type) { return RowOf(type).name; }
size_t Size(ElementType type) { return RowOf(type).size; }
absl::string_view NumpyDescription(ElementType type) {
  return RowOf(type).numpy;
}

absl::StatusOr<ElementType> ParseElementType(absl::string_view name) {
  std::string names;
  for (const Row& row : kRows) {
    if (row.name == name) return row.type;
    absl::StrAppend(&names, names.empty() ? "" : ", ", row.name);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown type \"", name, "\"; there are ", names));
}

absl::StatusOr<ElementType> ParseNumpyDescription(absl::string_view text) {
  for (const Row& row : kRows) {
    if (row.numpy == text) return row.type;
    // One byte has no order, whatever is written.
    if (row.size == 1 && text.size() == 3 &&
        row.numpy.substr(1) == text.substr(1)) {
      return row.type;
    }
  }
  if (text == "<V2") return ElementType::kBF16;
  const absl::string_view why =
      absl::StartsWith(text, ">")    ? "big-endian data"
      : absl::StrContains(text, "O") ? "Python objects"
      : absl::StrContains(text, "U") || absl::StrContains(text, "S")
          ? "strings"
          : "such elements";
  return absl::InvalidArgumentError(absl::StrCat(
      "the dtype is '", ToPrintable(text), "': ", why, " are not supported"));
}

absl::StatusOr<std::string> ParseScalar(ElementType type,
                                        absl::string_view text) {
  switch (type) {
    case ElementType::kBool:
      return ParseBool(text);
    case ElementType::kI8:
      return ParseInteger<int8_t>(type, text);
    case ElementType::kI16:
      return ParseInteger<int16_t>(type, text);
    case ElementType::kI32:
      return ParseInteger<int32_t>(type, text);
    case ElementType::kI64:
      return ParseInteger<int64_t>(type, text);
    case ElementType::kU8:
      return ParseInteger<uint8_t>(type, text);
    case ElementType::kU16:
      return ParseInteger<uint16_t>(type, text);
    case ElementType::kU32:
      return ParseInteger<uint32_t>(type, text);
    case ElementType::kU64:
      return ParseInteger<uint64_t>(type, text);
    case ElementType::kF16:
    case ElementType::kBF16:
    case ElementType::kF32:
    case ElementType::kF64:
      return ParseFloat(type, text);
    case ElementType::kC64:
    case ElementType::kC128:
      break;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("there are no scalars of type ", Name(type), "; use raw:"));
}

}  // namespace holdfast::cli
