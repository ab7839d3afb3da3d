// SPDX-License-Identifier: Apache-2.0
#include "core/compile/compile_options.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/base/status_macros.h"

namespace holdfast::compile {
namespace {

constexpr OptionSpec kTable[] = {
#define HOLDFAST_OPTION(name, aliases, takes, nvrtc, nvvm, nvjitlink) \
  {name, aliases, Value::takes, nvrtc, nvvm, nvjitlink},
#define HOLDFAST_LTO_OPTION(name, aliases, takes, nvrtc, nvvm, nvjitlink) \
  {name, aliases, Value::takes, nvrtc, nvvm, nvjitlink, true, false},
#define HOLDFAST_STATE_OPTION(name, aliases, takes, nvrtc, nvvm, nvjitlink) \
  {name, aliases, Value::takes, nvrtc, nvvm, nvjitlink, false, true},
#include "core/compile/option_table.inc"
};

struct Refused {
  absl::string_view name;
  absl::string_view why;
};

constexpr absl::string_view kNamesFile =
    "names a file or directory of the server; headers of the client's machine "
    "go with the request: include_path, pre_include and headers of "
    "ProgramOptions, -I, --pre-include and --header of the command line";
constexpr absl::string_view kWritesFile = "writes a file on the server";
constexpr absl::string_view kUseArch =
    "is set by the field for the architecture: arch, --arch on the command "
    "line";
constexpr absl::string_view kUseTarget =
    "is set by the field for the target: --target on the command line";

// Known to a back end, and refused with a reason. Matched as a whole word or
// before a '='.
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
    {"-ptx", kUseTarget},
    {"--use-bundled-headers",
     "is of no use: the toolkit's headers are found without it"},
    {"--use-libdevice",
     "is of no use: libdevice is added where NVVM IR calls it"},
};

// The options that may be handed on to ptxas, which also has options that name
// files.
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

// Options that join name and value without a '='.
constexpr absl::string_view kJoined[] = {"-D", "-U", "-I", "-O"};

absl::Status Refuse(absl::string_view option, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("compiler option \"", option, "\" ", why));
}

absl::string_view NamePart(absl::string_view option) {
  return option.substr(0, option.find('='));
}

const OptionSpec* FindSpec(absl::string_view name) {
  for (const OptionSpec& spec : kTable) {
    if (spec.name == name) return &spec;
    for (const absl::string_view alias : absl::StrSplit(spec.aliases, ' ')) {
      if (!alias.empty() && alias == name) return &spec;
    }
  }
  return nullptr;
}

// "-DN=4" is -D with N=4, "-Ofc" is no -O.
absl::string_view OptionName(absl::string_view option) {
  const absl::string_view name = NamePart(option);
  if (FindSpec(name) != nullptr) return name;
  for (const absl::string_view joined : kJoined) {
    if (option.size() > joined.size() && absl::StartsWith(option, joined)) {
      return joined;
    }
  }
  return name;
}

bool IsNumber(absl::string_view text) {
  return !text.empty() && text.size() < 10 &&
         std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
}

std::vector<absl::string_view> PtxasWords(absl::string_view value) {
  return absl::StrSplit(value, absl::ByAnyChar(", "), absl::SkipEmpty());
}

absl::Status CheckPtxas(absl::string_view option, absl::string_view value) {
  for (const absl::string_view word : PtxasWords(value)) {
    const bool known =
        std::any_of(std::begin(kPtxasPrefixes), std::end(kPtxasPrefixes),
                    [&](absl::string_view prefix) {
                      return NamePart(word) == prefix ||
                             (prefix == "-O" && word.size() == 3 &&
                              absl::StartsWith(word, "-O"));
                    });
    if (!IsNumber(word) && !known) {
      return Refuse(option, absl::StrCat("passes \"", word,
                                         "\" to ptxas, which is not allowed"));
    }
  }
  return absl::OkStatus();
}

bool IsBool(absl::string_view value) {
  return value == "true" || value == "false" || value == "1" || value == "0";
}

absl::Status CheckValue(const Option& option) {
  const absl::string_view value = option.value;
  int number = 0;
  switch (option.spec->value) {
    case Value::kNone:
      return absl::OkStatus();
    case Value::kBool:
      if (IsBool(value)) return absl::OkStatus();
      return Refuse(option.text, "takes true or false");
    case Value::kOn:
      if (value == "on" || value == "off") return absl::OkStatus();
      return Refuse(option.text, "takes on or off");
    case Value::kNumber:
      if (IsNumber(value)) return absl::OkStatus();
      return Refuse(option.text, "takes a number");
    case Value::kThreads:
      if (IsNumber(value) && absl::SimpleAtoi(value, &number) &&
          number <= kMaxThreads) {
        return absl::OkStatus();
      }
      return Refuse(option.text,
                    absl::StrCat("takes a number from 0 to ", kMaxThreads));
    case Value::kLevel:
      if (value == "0" || value == "3") return absl::OkStatus();
      return Refuse(option.text, "takes 0 or 3");
    case Value::kText:
      // A compiler could take it for an option of its own.
      if (!absl::StartsWith(value, "-")) return absl::OkStatus();
      return Refuse(option.text, "has a value that begins with a dash");
    case Value::kPtxas:
      return CheckPtxas(option.text, value);
  }
  return absl::InternalError("unknown kind of option value");
}

absl::Status CheckWord(absl::string_view word) {
  if (word.size() > kMaxOptionBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("a compiler option has ", word.size(),
                     " bytes; the limit is ", kMaxOptionBytes));
  }
  for (const char c : word) {
    if (!absl::ascii_iscntrl(static_cast<unsigned char>(c))) continue;
    return absl::InvalidArgumentError(
        c == '\0' ? "a compiler option has a zero byte"
                  : absl::StrCat("a compiler option has the control character ",
                                 static_cast<int>(c), " (10 is a newline)"));
  }
  return absl::OkStatus();
}

const Refused* FindRefused(absl::string_view name) {
  for (const Refused& refused : kRefused) {
    if (refused.name == name) return &refused;
  }
  return nullptr;
}

absl::StatusOr<const OptionSpec*> FindAllowed(absl::string_view option,
                                              absl::string_view name,
                                              bool has_value) {
  const OptionSpec* spec = FindSpec(name);
  const bool odd = spec != nullptr && spec->value == Value::kNone && has_value;
  if (spec != nullptr && !odd) return spec;
  if (const Refused* refused = FindRefused(name)) {
    return Refuse(option, refused->why);
  }
  return Refuse(option, odd ? "takes no value" : "is not known");
}

std::string BoolOf(absl::string_view value, absl::string_view yes,
                   absl::string_view no) {
  return std::string(value == "true" || value == "1" ? yes : no);
}

// The words for one option.
std::vector<std::string> Render(const Option& option, Backend backend) {
  const absl::string_view flag = option.spec->flag(backend);
  const bool nvrtc = backend == Backend::kNvrtc;
  switch (option.spec->value) {
    case Value::kNone:
      return {std::string(flag)};
    case Value::kBool:
      return {absl::StrCat(flag, "=",
                           nvrtc ? BoolOf(option.value, "true", "false")
                                 : BoolOf(option.value, "1", "0"))};
    case Value::kOn: {
      if (nvrtc) return {absl::StrCat(flag, "=", option.value)};
      const char* level = option.value == "on" ? "3" : "0";
      return {absl::StrCat(flag, flag == "-O" ? "" : "=", level)};
    }
    case Value::kLevel:
      return {absl::StrCat(flag, flag == "-O" ? "" : "=", option.value)};
    case Value::kPtxas: {
      if (nvrtc) return {absl::StrCat(flag, "=", option.value)};
      std::vector<std::string> words;
      for (const absl::string_view word : PtxasWords(option.value)) {
        words.push_back(absl::StrCat(flag, "=", word));
      }
      return words;
    }
    case Value::kThreads:
      if (int number = 0;
          absl::SimpleAtoi(option.value, &number) && number == 0) {
        return {absl::StrCat(flag, "=", kMaxThreads)};
      }
      return {absl::StrCat(flag, "=", option.value)};
    case Value::kNumber:
    case Value::kText:
      return {absl::StrCat(flag, "=", option.value)};
  }
  return {};
}

absl::Status CannotHonour(const Option& option, Backend backend,
                          absl::string_view when) {
  return Refuse(option.text, absl::StrCat("cannot be honoured by ",
                                          BackendName(backend), when));
}

// Compilers make LTO IR when that is the target, whatever the option says.
bool IsImplied(const Option& option, Backend backend, ObjectFormat target) {
  return option.spec->name == "--dlink-time-opt" &&
         (backend == Backend::kNvJitLink || target == ObjectFormat::kLtoir ||
          target == ObjectFormat::kPtx);
}

bool Has(absl::Span<const Option> options, absl::string_view name) {
  return std::any_of(options.begin(), options.end(), [&](const Option& option) {
    return option.spec->name == name;
  });
}

// The option also says that the code is to be linked. NVRTC itself would give
// LTO IR and an empty text for PTX.
bool IsRelocatable(const Option& option, Backend backend, ObjectFormat target) {
  return option.spec->name == "--dlink-time-opt" &&
         backend == Backend::kNvrtc && target == ObjectFormat::kPtx;
}

absl::Status CheckHonoured(const Option& option, Backend backend,
                           ObjectFormat target, bool lto) {
  if (option.spec->flag(backend).empty()) {
    return CannotHonour(option, backend, "");
  }
  if (backend == Backend::kNvJitLink) {
    if (option.spec->lto_only && !lto) {
      return CannotHonour(option, backend, " without LTO IR to link");
    }
    return absl::OkStatus();
  }
  if (option.spec->name == "--dlink-time-opt" &&
      target != ObjectFormat::kLtoir && target != ObjectFormat::kPtx) {
    return CannotHonour(
        option, backend,
        absl::StrCat(" for the target ", ObjectFormatName(target)));
  }
  if (backend == Backend::kNvrtc && option.value == "off" &&
      option.spec->value == Value::kOn) {
    return CannotHonour(option, backend, ", which only knows \"on\"");
  }
  return absl::OkStatus();
}

}  // namespace

absl::string_view BackendName(Backend backend) {
  switch (backend) {
    case Backend::kNvrtc:
      return "NVRTC";
    case Backend::kNvvm:
      return "libNVVM";
    case Backend::kNvJitLink:
      return "nvJitLink";
  }
  return "?";
}

absl::string_view OptionSpec::flag(Backend backend) const {
  switch (backend) {
    case Backend::kNvrtc:
      return nvrtc;
    case Backend::kNvvm:
      return nvvm;
    case Backend::kNvJitLink:
      return nvjitlink;
  }
  return "";
}

absl::Span<const OptionSpec> OptionTable() { return kTable; }

absl::StatusOr<std::vector<Option>> ParseOptions(
    absl::Span<const std::string> words) {
  if (words.size() > kMaxOptions) {
    return absl::InvalidArgumentError(absl::StrCat(
        words.size(), " compiler options; the limit is ", kMaxOptions));
  }
  std::vector<Option> options;
  for (size_t i = 0; i < words.size(); ++i) {
    const absl::string_view word = words[i];
    HOLDFAST_RETURN_IF_ERROR(CheckWord(word));
    const absl::string_view name = OptionName(word);
    absl::string_view value = word.substr(name.size());
    Option option;
    HOLDFAST_ASSIGN_OR_RETURN(option.spec,
                              FindAllowed(word, name, !value.empty()));
    option.text = std::string(word);
    if (option.spec->value != Value::kNone && value.empty()) {
      if (i + 1 == words.size()) return Refuse(word, "needs a value");
      value = words[++i];
      HOLDFAST_RETURN_IF_ERROR(CheckWord(value));
      absl::StrAppend(&option.text, " ", value);
    } else {
      absl::ConsumePrefix(&value, "=");
    }
    option.value = std::string(value);
    HOLDFAST_RETURN_IF_ERROR(CheckValue(option));
    options.push_back(std::move(option));
  }
  return options;
}

bool LeavesState(absl::Span<const Option> options) {
  return std::any_of(options.begin(), options.end(), [](const Option& option) {
    return option.spec->leaves_state;
  });
}

absl::StatusOr<std::vector<std::string>> RenderOptions(
    absl::Span<const Option> options, Backend backend, ObjectFormat target,
    bool lto) {
  std::vector<std::string> flags;
  for (const Option& option : options) {
    HOLDFAST_RETURN_IF_ERROR(CheckHonoured(option, backend, target, lto));
    if (IsRelocatable(option, backend, target) &&
        !Has(options, "--relocatable-device-code")) {
      flags.push_back("--relocatable-device-code=true");
    }
    if (IsImplied(option, backend, target)) continue;
    for (std::string& word : Render(option, backend)) {
      flags.push_back(std::move(word));
    }
  }
  return flags;
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
