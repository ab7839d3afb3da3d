// SPDX-License-Identifier: Apache-2.0
#include "client/cli/object_file.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/cli/file.h"
#include "client/cli/usage_error.h"
#include "core/base/status_macros.h"

namespace holdfast::cli {
namespace {

struct Format {
  v1::ObjectFormat format;
  absl::string_view name;
  absl::string_view ending;
};

constexpr Format kFormats[] = {
    {v1::OBJECT_FORMAT_PTX, "ptx", ".ptx"},
    {v1::OBJECT_FORMAT_CUBIN, "cubin", ".cubin"},
    {v1::OBJECT_FORMAT_LTOIR, "ltoir", ".ltoir"},
    {v1::OBJECT_FORMAT_FATBIN, "fatbin", ".fatbin"},
    {v1::OBJECT_FORMAT_OBJECT, "object", ".o"},
    {v1::OBJECT_FORMAT_LIBRARY, "library", ".a"},
};

constexpr size_t kSha256Digits = 64;

bool IsHash(absl::string_view text) {
  return text.size() == kSha256Digits &&
         std::all_of(text.begin(), text.end(), absl::ascii_isxdigit);
}

bool IsFor(ObjectUse use, v1::ObjectFormat format) {
  return use == ObjectUse::kLink || format == v1::OBJECT_FORMAT_PTX ||
         format == v1::OBJECT_FORMAT_CUBIN ||
         format == v1::OBJECT_FORMAT_FATBIN;
}

absl::Status NotFor(ObjectUse use, v1::ObjectFormat format,
                    absl::string_view argument) {
  if (format != v1::OBJECT_FORMAT_UNSPECIFIED) {
    return UsageError(absl::InvalidArgumentError(
        absl::StrCat(argument, ": a device does not load ", FormatName(format),
                     ": `holdfast link` makes a cubin of it")));
  }
  return UsageError(absl::InvalidArgumentError(
      absl::StrCat(argument, ": the name must end in one of ", EndingsFor(use),
                   ", or begin with the format, as in \"ptx:FILE\"")));
}

}  // namespace

absl::string_view EndingsFor(ObjectUse use) {
  return use == ObjectUse::kLoad ? ".cu .ptx .cubin .fatbin"
                                 : ".ptx .cubin .ltoir .fatbin .o .a";
}

absl::string_view FormatName(v1::ObjectFormat format) {
  for (const Format& known : kFormats) {
    if (known.format == format) return known.name;
  }
  return "unknown";
}

v1::ObjectFormat FormatNamed(absl::string_view name) {
  for (const Format& known : kFormats) {
    if (known.name == name) return known.format;
  }
  return v1::OBJECT_FORMAT_UNSPECIFIED;
}

v1::ObjectFormat FormatOfFile(absl::string_view path) {
  for (const Format& known : kFormats) {
    if (absl::EndsWith(path, known.ending)) return known.format;
  }
  return v1::OBJECT_FORMAT_UNSPECIFIED;
}

absl::StatusOr<v1::ObjectFormat> ParseTarget(absl::string_view target,
                                             const std::string& output) {
  if (target == "auto") return v1::OBJECT_FORMAT_UNSPECIFIED;
  const v1::ObjectFormat format =
      target.empty() ? FormatOfFile(output) : FormatNamed(target);
  const bool possible = format == v1::OBJECT_FORMAT_PTX ||
                        format == v1::OBJECT_FORMAT_CUBIN ||
                        format == v1::OBJECT_FORMAT_LTOIR;
  const bool left_open = target.empty() &&
                         format == v1::OBJECT_FORMAT_UNSPECIFIED &&
                         (output.empty() || output == "-");
  if (possible || left_open) return format;
  return UsageError(absl::InvalidArgumentError(
      target.empty()
          ? absl::StrCat("-o ", output,
                         ": the name must end in .ptx, .cubin or .ltoir, or "
                         "--target say what to make")
          : absl::StrCat("--target ", target,
                         ": it is auto, ptx, cubin or ltoir")));
}

absl::StatusOr<v1::SourceLanguage> ParseLanguage(absl::string_view language,
                                                 absl::string_view path) {
  const bool nvvm = absl::EndsWith(path, ".ll") || absl::EndsWith(path, ".bc");
  const bool ptx = absl::EndsWith(path, ".ptx");
  if (language == "nvvm" || (language.empty() && nvvm)) {
    return v1::SOURCE_LANGUAGE_NVVM_IR;
  }
  if (language == "ptx" || (language.empty() && ptx)) {
    return v1::SOURCE_LANGUAGE_PTX;
  }
  if (language == "c++" || language.empty()) {
    return v1::SOURCE_LANGUAGE_CUDA_CPP;
  }
  return UsageError(absl::InvalidArgumentError(
      absl::StrCat("--language ", language, ": it is c++, ptx or nvvm")));
}

absl::StatusOr<ObjectCode> PutObjectFile(Daemon& daemon,
                                         const std::string& argument,
                                         ObjectUse use) {
  absl::string_view path = argument;
  if (absl::ConsumePrefix(&path, "sha256:")) {
    if (!IsHash(path)) {
      return UsageError(absl::InvalidArgumentError(absl::StrCat(
          argument, ": a SHA-256 has ", kSha256Digits, " hexadecimal digits")));
    }
    return ObjectCode{.sha256 = absl::HexStringToBytes(path)};
  }
  path = argument;
  v1::ObjectFormat format = FormatNamed(path.substr(0, path.find(':')));
  if (format != v1::OBJECT_FORMAT_UNSPECIFIED && absl::StrContains(path, ':')) {
    path.remove_prefix(path.find(':') + 1);
  } else {
    format = FormatOfFile(path);
  }
  if (format == v1::OBJECT_FORMAT_UNSPECIFIED || !IsFor(use, format)) {
    return NotFor(use, format, argument);
  }
  HOLDFAST_ASSIGN_OR_RETURN(const std::string bytes,
                            ReadFile(std::string(path)));
  return ObjectCode::Put(daemon, bytes, format);
}

}  // namespace holdfast::cli
