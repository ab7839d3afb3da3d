// SPDX-License-Identifier: Apache-2.0
#include "core/base/array_layout.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/printable.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

struct Dtype {
  absl::string_view name;
  uint32_t bits;
};

// All that the library of the safetensors format writes.
constexpr Dtype kDtypes[] = {
    {"BOOL", 8},    {"U8", 8},   {"I8", 8},      {"F8_E4M3", 8}, {"F8_E5M2", 8},
    {"F8_E8M0", 8}, {"F4", 4},   {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"U16", 16},
    {"I16", 16},    {"F16", 16}, {"BF16", 16},   {"U32", 32},    {"I32", 32},
    {"F32", 32},    {"U64", 64}, {"I64", 64},    {"F64", 64},    {"C64", 64},
    {"C128", 128}};

absl::Status TooLarge(absl::Span<const uint64_t> shape) {
  return absl::InvalidArgumentError(
      absl::StrCat("shape [", absl::StrJoin(shape, ","),
                   "] has more bits than 64 bits can count"));
}

absl::StatusOr<uint64_t> CheckedElementBits(absl::string_view dtype,
                                            size_t dimensions) {
  const uint32_t bits = ElementBits(dtype);
  if (bits == 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("unknown dtype \"", ToPrintable(dtype), "\""));
  }
  if (dimensions > kMaxDimensions) {
    return absl::InvalidArgumentError(
        absl::StrCat(dimensions, " dimensions; limit: ", kMaxDimensions));
  }
  return bits;
}

}  // namespace

uint32_t ElementBits(absl::string_view dtype) {
  for (const Dtype& known : kDtypes) {
    if (known.name == dtype) return known.bits;
  }
  return 0;
}

absl::StatusOr<uint64_t> ArrayBytes(absl::string_view dtype,
                                    absl::Span<const uint64_t> shape) {
  HOLDFAST_ASSIGN_OR_RETURN(uint64_t bits,
                            CheckedElementBits(dtype, shape.size()));
  for (const uint64_t extent : shape) {
    if (__builtin_mul_overflow(bits, extent, &bits)) return TooLarge(shape);
  }
  if (bits % 8 == 0) return bits / 8;
  return absl::InvalidArgumentError(
      absl::StrCat(bits, " bits are not whole bytes"));
}

absl::StatusOr<uint64_t> ArrayExtent(absl::string_view dtype,
                                     absl::Span<const uint64_t> shape,
                                     absl::Span<const int64_t> strides) {
  HOLDFAST_ASSIGN_OR_RETURN(const uint64_t dense, ArrayBytes(dtype, shape));
  if (strides.empty() || dense == 0) return dense;
  const uint64_t bits = ElementBits(dtype);
  if (strides.size() != shape.size() || bits % 8 != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(strides.size(), " strides for ", shape.size(),
                     " dimensions of ", dtype));
  }
  uint64_t last = 0;  // Bytes before the last element.
  for (size_t i = 0; i < shape.size(); ++i) {
    if (strides[i] < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("stride ", strides[i], " is below 0"));
    }
    uint64_t reach = 0;
    if (__builtin_mul_overflow(shape[i] - 1, static_cast<uint64_t>(strides[i]),
                               &reach) ||
        __builtin_mul_overflow(reach, bits / 8, &reach) ||
        __builtin_add_overflow(last, reach, &last)) {
      return TooLarge(shape);
    }
  }
  if (__builtin_add_overflow(last, bits / 8, &last)) return TooLarge(shape);
  return last;
}

}  // namespace holdfast
