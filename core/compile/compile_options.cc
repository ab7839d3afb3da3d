// SPDX-License-Identifier: Apache-2.0
#include "core/compile/compile_options.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/base/status_macros.h"

namespace holdfast::compile {
namespace {

enum class Takes {
  kNothing,
  kValue,     // in the same word or in the next
  kOptional,  // in the same word or not at all
};

struct Known {
  absl::string_view name;
  absl::string_view alias;  // may be empty
  Takes takes;
};

constexpr Known kKnown[] = {
    {"--Ofast-compile", "-Ofc", Takes::kValue},
    {"--brief-diagnostics", "-brief-diag", Takes::kValue},
    {"--builtin-initializer-list", "-builtin-initializer-list", Takes::kValue},
    {"--builtin-move-forward", "-builtin-move-forward", Takes::kValue},
    {"--define-macro", "-D", Takes::kValue},
    {"--device-as-default-execution-space", "-default-device", Takes::kNothing},
    {"--device-c", "-dc", Takes::kNothing},
    {"--device-debug", "-G", Takes::kNothing},
    {"--device-float128", "-device-float128", Takes::kNothing},
    {"--device-int128", "-device-int128", Takes::kNothing},
    {"--device-stack-protector", "-device-stack-protector", Takes::kOptional},
    {"--device-w", "-dw", Takes::kNothing},
    {"--diag-error", "-diag-error", Takes::kValue},
    {"--diag-suppress", "-diag-suppress", Takes::kValue},
    {"--diag-warn", "-diag-warn", Takes::kValue},
    {"--disable-warnings", "-w", Takes::kNothing},
    {"--display-error-number", "-err-no", Takes::kNothing},
    {"--dlink-time-opt", "-dlto", Takes::kNothing},
    {"--dopt", "-dopt", Takes::kValue},
    {"--extensible-whole-program", "-ewp", Takes::kNothing},
    {"--extra-device-vectorization", "-extra-device-vectorization",
     Takes::kNothing},
    {"--fdevice-syntax-only", "-fdevice-syntax-only", Takes::kNothing},
    {"--fmad", "-fmad", Takes::kValue},
    {"--frandom-seed", "-frandom-seed", Takes::kValue},
    {"--ftz", "-ftz", Takes::kValue},
    {"--gen-opt-lto", "-gen-opt-lto", Takes::kNothing},
    {"--generate-line-info", "-lineinfo", Takes::kNothing},
    {"--jump-table-density", "-jtd", Takes::kValue},
    {"--maxrregcount", "-maxrregcount", Takes::kValue},
    {"--minimal", "-minimal", Takes::kNothing},
    {"--modify-stack-limit", "-modify-stack-limit", Takes::kValue},
    {"--no-cache", "-no-cache", Takes::kNothing},
    {"--no-display-error-number", "-no-err-no", Takes::kNothing},
    {"--no-source-include", "-no-source-include", Takes::kNothing},
    {"--optimization-info", "-opt-info", Takes::kValue},
    {"--prec-div", "-prec-div", Takes::kValue},
    {"--prec-sqrt", "-prec-sqrt", Takes::kValue},
    {"--ptxas-options", "-Xptxas", Takes::kValue},
    {"--relocatable-device-code", "-rdc", Takes::kValue},
    {"--restrict", "-restrict", Takes::kNothing},
    {"--split-compile", "-split-compile", Takes::kValue},
    {"--std", "-std", Takes::kValue},
    {"--undefine-macro", "-U", Takes::kValue},
    {"--use_fast_math", "-use_fast_math", Takes::kNothing},
};

struct Refused {
  absl::string_view name;
  absl::string_view why;
};

constexpr absl::string_view kNamesFile =
    "names a file or directory of the server; send headers with the request";
constexpr absl::string_view kWritesFile = "writes a file on the server";
constexpr absl::string_view kUseArch =
    "is set by the field for the architecture";
constexpr absl::string_view kUseTarget = "is set by the field for the target";

// Known to NVRTC, and refused with a reason. Matched as a whole word or before
// a '='.
constexpr Refused kRefused[] = {
    {"--include-path", kNamesFile},
    {"-I", kNamesFile},
    {"--pre-include", kNamesFile},
    {"-include", kNamesFile},
    {"--pch", kNamesFile},
    {"-pch", kNamesFile},
    {"--create-pch", kWritesFile},
    {"-create-pch", kWritesFile},
    {"--use-pch", kNamesFile},
    {"-use-pch", kNamesFile},
    {"--pch-dir", kNamesFile},
    {"-pch-dir", kNamesFile},
    {"--time", kWritesFile},
    {"-time", kWritesFile},
    {"--fdevice-time-trace", kWritesFile},
    {"-fdevice-time-trace", kWritesFile},
    {"--gpu-architecture", kUseArch},
    {"-arch", kUseArch},
    {"--optix-ir", kUseTarget},
    {"-optix-ir", kUseTarget},
};

// What may be handed on to ptxas, which has options of its own for files.
constexpr absl::string_view kPtxasPrefixes[] = {
    "-v",
    "--verbose",
    "-O",
    "--opt-level",
    "-dlcm",
    "--def-load-cache",
    "-dscm",
    "--def-store-cache",
    "--warn-on-spills",
    "-warn-spills",
    "--warn-on-local-memory-usage",
    "-warn-lmem-usage",
    "--allow-expensive-optimizations",
    "-allow-expensive-optimizations",
};

absl::Status Refuse(absl::string_view option, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("compiler option \"", option, "\" ", why));
}

absl::string_view NamePart(absl::string_view option) {
  return option.substr(0, option.find('='));
}

// -DN, -UN and -Ifoo join name and value without a '='.
absl::string_view JoinedName(absl::string_view option) {
  if (option.size() > 2 &&
      (absl::StartsWith(option, "-D") || absl::StartsWith(option, "-U") ||
       absl::StartsWith(option, "-I"))) {
    return option.substr(0, 2);
  }
  return NamePart(option);
}

const Known* FindKnown(absl::string_view name) {
  for (const Known& known : kKnown) {
    if (known.name == name || known.alias == name) return &known;
  }
  return nullptr;
}

absl::Status CheckPtxas(absl::string_view option, absl::string_view value) {
  for (const absl::string_view word :
       absl::StrSplit(value, absl::ByAnyChar(", "), absl::SkipEmpty())) {
    const bool number =
        std::all_of(word.begin(), word.end(), absl::ascii_isdigit);
    const bool known =
        std::any_of(std::begin(kPtxasPrefixes), std::end(kPtxasPrefixes),
                    [&](absl::string_view prefix) {
                      return NamePart(word) == prefix ||
                             (prefix == "-O" && word.size() == 3 &&
                              absl::StartsWith(word, "-O"));
                    });
    if (!number && !known) {
      return Refuse(option, absl::StrCat("passes \"", word,
                                         "\" to ptxas, which is not allowed"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckWord(absl::string_view option) {
  if (option.size() > kMaxOptionBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("a compiler option has ", option.size(),
                     " bytes; the limit is ", kMaxOptionBytes));
  }
  if (option.find('\0') != absl::string_view::npos) {
    return absl::InvalidArgumentError("a compiler option has a zero byte");
  }
  return absl::OkStatus();
}

absl::Status RefuseUnknown(absl::string_view option, absl::string_view name) {
  for (const Refused& refused : kRefused) {
    if (refused.name == name) return Refuse(option, refused.why);
  }
  return Refuse(option, "is not known");
}

}  // namespace

absl::Status CheckOptions(absl::Span<const std::string> options) {
  if (options.size() > kMaxOptions) {
    return absl::InvalidArgumentError(absl::StrCat(
        options.size(), " compiler options; the limit is ", kMaxOptions));
  }
  for (size_t i = 0; i < options.size(); ++i) {
    const absl::string_view option = options[i];
    HOLDFAST_RETURN_IF_ERROR(CheckWord(option));
    const absl::string_view name = JoinedName(option);
    const Known* known = FindKnown(name);
    if (known == nullptr) return RefuseUnknown(option, name);
    absl::string_view value = option.substr(name.size());
    if (known->takes == Takes::kNothing && !value.empty()) {
      return Refuse(option, "takes no value");
    }
    if (known->takes == Takes::kValue && value.empty()) {
      if (i + 1 == options.size()) return Refuse(option, "needs a value");
      value = options[++i];
      HOLDFAST_RETURN_IF_ERROR(CheckWord(value));
    }
    if (known->name == "--ptxas-options") {
      absl::ConsumePrefix(&value, "=");
      HOLDFAST_RETURN_IF_ERROR(CheckPtxas(option, value));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> ArchitectureName(absl::string_view arch,
                                             ObjectFormat target) {
  absl::string_view number = arch;
  if (!absl::ConsumePrefix(&number, "sm_")) {
    absl::ConsumePrefix(&number, "compute_");
  }
  absl::string_view digits = number;
  if (!absl::ConsumeSuffix(&digits, "a")) absl::ConsumeSuffix(&digits, "f");
  const bool valid =
      (digits.size() == 2 || digits.size() == 3) &&
      std::all_of(digits.begin(), digits.end(), absl::ascii_isdigit);
  if (!valid) {
    return absl::InvalidArgumentError(absl::StrCat(
        "architecture \"", arch,
        "\" is not of the form \"90\", \"sm_90\", \"compute_90\", \"90a\""));
  }
  return absl::StrCat(target == ObjectFormat::kCubin ? "sm_" : "compute_",
                      number);
}

}  // namespace holdfast::compile
