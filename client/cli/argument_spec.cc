// SPDX-License-Identifier: Apache-2.0
#include "client/cli/argument_spec.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "client/cli/usage_error.h"
#include "core/base/error_detail.h"
#include "core/base/printable.h"
#include "core/base/status_macros.h"

namespace holdfast::cli {
namespace {

constexpr absl::string_view kForms =
    "TYPE:VALUE, in:, out:, inout:, scratch: or raw:";

absl::Status Wanted(absl::string_view form) {
  return absl::InvalidArgumentError(absl::StrCat("wanted is ", form));
}

absl::Status WithForm(const absl::Status& status, absl::string_view form) {
  return absl::InvalidArgumentError(
      absl::StrCat(status.message(), "; wanted is ", form));
}

absl::StatusOr<ArgumentSpec> ParseRaw(absl::string_view hex) {
  const bool valid = !hex.empty() && hex.size() % 2 == 0 &&
                     std::all_of(hex.begin(), hex.end(), [](unsigned char c) {
                       return absl::ascii_isxdigit(c);
                     });
  if (!valid) return Wanted("raw:HEX, two digits a byte");
  ArgumentSpec spec;
  spec.kind = ArgumentSpec::Kind::kRaw;
  spec.bytes = absl::HexStringToBytes(hex);
  return spec;
}

absl::StatusOr<ArgumentSpec> ParseScratch(absl::string_view size) {
  uint64_t bytes = 0;
  if (!absl::SimpleAtoi(size, &bytes)) return Wanted("scratch:BYTES");
  ArgumentSpec spec;
  spec.kind = ArgumentSpec::Kind::kBuffer;
  spec.shape = {bytes};
  return spec;
}

// TYPE[N,...]; TYPE and TYPE[] are one element.
absl::Status ParseArray(absl::string_view array, absl::string_view form,
                        ArgumentSpec* spec) {
  const size_t bracket = std::min(array.find('['), array.size());
  const auto type = ParseElementType(array.substr(0, bracket));
  if (!type.ok()) return WithForm(type.status(), form);
  spec->type = *type;
  absl::string_view extents = array.substr(bracket);
  if (extents.empty() || extents == "[]") return absl::OkStatus();
  if (!absl::ConsumePrefix(&extents, "[") ||
      !absl::ConsumeSuffix(&extents, "]")) {
    return Wanted(form);
  }
  HOLDFAST_ASSIGN_OR_RETURN(spec->shape, ParseNumbers(extents, 64));
  return absl::OkStatus();
}

// FILE.npy, or arange:TYPE[N,...] and its kin.
absl::Status ParseInput(absl::string_view input, absl::string_view form,
                        ArgumentSpec* spec) {
  const size_t colon = input.find(':');
  const auto elements = ParseElements(input.substr(0, colon));
  if (colon != absl::string_view::npos && elements.has_value()) {
    spec->elements = *elements;
    return ParseArray(input.substr(colon + 1), form, spec);
  }
  if (input.empty()) return Wanted(form);
  spec->input = std::string(input);
  return absl::OkStatus();
}

absl::StatusOr<ArgumentSpec> ParseIn(absl::string_view input) {
  ArgumentSpec spec;
  spec.kind = ArgumentSpec::Kind::kBuffer;
  HOLDFAST_RETURN_IF_ERROR(
      ParseInput(input, "in:FILE.npy or in:arange:TYPE[N,...]", &spec));
  return spec;
}

absl::StatusOr<ArgumentSpec> ParseInOut(absl::string_view text) {
  constexpr absl::string_view kForm =
      "inout:FILE.npy:OUT.npy or inout:arange:TYPE[N,...]:OUT.npy";
  const size_t colon = text.rfind(':');
  if (colon == absl::string_view::npos || colon + 1 == text.size()) {
    return Wanted(kForm);
  }
  const absl::string_view input = text.substr(0, colon);
  // "arange:f32[4]" has a type for a file's name.
  if (absl::EndsWith(text, "]") && !absl::StrContains(input, ':')) {
    return Wanted(kForm);
  }
  ArgumentSpec spec;
  spec.kind = ArgumentSpec::Kind::kBuffer;
  spec.output = std::string(text.substr(colon + 1));
  HOLDFAST_RETURN_IF_ERROR(ParseInput(input, kForm, &spec));
  if (absl::StrContains(spec.input, ':')) return Wanted(kForm);
  return spec;
}

absl::StatusOr<ArgumentSpec> ParseOut(absl::string_view text) {
  constexpr absl::string_view kForm =
      "out:FILE.npy:TYPE[N,...], or inout:arange:TYPE[N,...]:OUT.npy for a "
      "buffer that the kernel reads, too";
  const size_t colon = text.rfind(':');
  if (colon == absl::string_view::npos || colon == 0) return Wanted(kForm);
  ArgumentSpec spec;
  spec.kind = ArgumentSpec::Kind::kBuffer;
  spec.output = std::string(text.substr(0, colon));
  HOLDFAST_RETURN_IF_ERROR(ParseArray(text.substr(colon + 1), kForm, &spec));
  return spec;
}

absl::StatusOr<ArgumentSpec> ParseForm(absl::string_view form,
                                       absl::string_view rest) {
  if (form == "raw") return ParseRaw(rest);
  if (form == "scratch") return ParseScratch(rest);
  if (form == "in") return ParseIn(rest);
  if (form == "inout") return ParseInOut(rest);
  if (form == "out") return ParseOut(rest);
  ArgumentSpec spec;
  const auto type = ParseElementType(form);
  if (!type.ok()) return WithForm(type.status(), kForms);
  spec.type = *type;
  HOLDFAST_ASSIGN_OR_RETURN(spec.bytes, ParseScalar(spec.type, rest));
  return spec;
}

template <typename T>
T As(const std::string& bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

}  // namespace

absl::StatusOr<ArgumentSpec> ArgumentSpec::Parse(absl::string_view text) {
  const size_t colon = text.find(':');
  const absl::string_view form = text.substr(0, colon);
  absl::StatusOr<ArgumentSpec> spec =
      colon == absl::string_view::npos
          ? Wanted(kForms)
          : ParseForm(form, text.substr(colon + 1));
  if (spec.ok()) return spec;
  return UsageError(WithPrefix(
      absl::StrCat("argument \"", ToPrintable(text), "\""), spec.status()));
}

Argument ToArgument(const ArgumentSpec& spec) {
  const std::string& bytes = spec.bytes;
  const Argument raw(
      std::as_bytes(std::span<const char>(bytes.data(), bytes.size())));
  if (spec.kind == ArgumentSpec::Kind::kRaw) return raw;
  switch (spec.type) {
    case ElementType::kBool:
      return As<bool>(bytes);
    case ElementType::kI8:
      return As<int8_t>(bytes);
    case ElementType::kI16:
      return As<int16_t>(bytes);
    case ElementType::kI32:
      return As<int32_t>(bytes);
    case ElementType::kI64:
      return As<int64_t>(bytes);
    case ElementType::kU8:
      return As<uint8_t>(bytes);
    case ElementType::kU16:
      return As<uint16_t>(bytes);
    case ElementType::kU32:
      return As<uint32_t>(bytes);
    case ElementType::kU64:
      return As<uint64_t>(bytes);
    case ElementType::kF16:
      return Half{As<uint16_t>(bytes)};
    case ElementType::kBF16:
      return BFloat16{As<uint16_t>(bytes)};
    case ElementType::kF32:
      return As<float>(bytes);
    case ElementType::kF64:
      return As<double>(bytes);
    case ElementType::kC64:
    case ElementType::kC128:
      break;
  }
  return raw;
}

absl::StatusOr<std::vector<uint64_t>> ParseNumbers(absl::string_view text,
                                                   size_t limit) {
  std::vector<uint64_t> numbers;
  for (absl::string_view part : absl::StrSplit(text, ',')) {
    uint64_t number = 0;
    if (!absl::SimpleAtoi(part, &number) || numbers.size() == limit) {
      return absl::InvalidArgumentError(absl::StrCat(
          "\"", text, "\" is not a list of 1 to ", limit, " numbers"));
    }
    numbers.push_back(number);
  }
  return numbers;
}

}  // namespace holdfast::cli
