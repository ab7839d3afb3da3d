// SPDX-License-Identifier: Apache-2.0
#include "core/compile/nvjitlink_linker.h"

#include <algorithm>
#include <list>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/error_detail.h"
#include "core/base/status_macros.h"
#include "core/compile/compiler_error.h"
#include "core/compile/link_input.h"
#include "core/compile/lto_archive.h"
#include "core/compile/stderr_capture.h"

namespace holdfast::compile {
namespace {

// How nvJitLink marks errors on stderr.
constexpr absl::string_view kErrorMark = "@E@";

const char* ResultName(nvJitLinkResult result) {
  switch (result) {
#define HOLDFAST_NAME(name) \
  case name:                \
    return #name;
    HOLDFAST_NAME(NVJITLINK_SUCCESS)
    HOLDFAST_NAME(NVJITLINK_ERROR_UNRECOGNIZED_OPTION)
    HOLDFAST_NAME(NVJITLINK_ERROR_MISSING_ARCH)
    HOLDFAST_NAME(NVJITLINK_ERROR_INVALID_INPUT)
    HOLDFAST_NAME(NVJITLINK_ERROR_PTX_COMPILE)
    HOLDFAST_NAME(NVJITLINK_ERROR_NVVM_COMPILE)
    HOLDFAST_NAME(NVJITLINK_ERROR_INTERNAL)
#undef HOLDFAST_NAME
    default:
      return "an error of nvJitLink";
  }
}

nvJitLinkInputType InputType(ObjectFormat format) {
  switch (format) {
    case ObjectFormat::kPtx:
      return NVJITLINK_INPUT_PTX;
    case ObjectFormat::kCubin:
      return NVJITLINK_INPUT_CUBIN;
    case ObjectFormat::kLtoir:
      return NVJITLINK_INPUT_LTOIR;
    case ObjectFormat::kFatbin:
      return NVJITLINK_INPUT_FATBIN;
    case ObjectFormat::kObject:
      return NVJITLINK_INPUT_OBJECT;
    case ObjectFormat::kLibrary:
      return NVJITLINK_INPUT_LIBRARY;
  }
  return NVJITLINK_INPUT_NONE;
}

absl::Status LinkError(nvJitLinkResult result, absl::string_view call,
                       std::string explanation, std::string log = "") {
  ErrorDetail detail;
  detail.call = std::string(call);
  detail.result = static_cast<int32_t>(result);
  detail.result_name = ResultName(result);
  detail.explanation = std::move(explanation);
  detail.log = std::move(log);
  return CompilerError(absl::StatusCode::kInvalidArgument, detail);
}

// One nvJitLinkHandle, from inputs to bytes.
class Linkage {
 public:
  Linkage(const NvJitLinkApi& api, std::string arch)
      : api_(api), arch_(std::move(arch)) {}
  ~Linkage() {
    if (handle_ != nullptr) api_.nvJitLinkDestroy(&handle_);
  }
  Linkage(const Linkage&) = delete;
  Linkage& operator=(const Linkage&) = delete;

  absl::Status Run(const std::vector<std::string>& options,
                   absl::Span<const LinkInput> inputs) {
    for (const LinkInput& input : inputs) {
      HOLDFAST_RETURN_IF_ERROR(CheckLinkInput(input));
    }
    HOLDFAST_RETURN_IF_ERROR(Create(options));
    for (const LinkInput& input : inputs) {
      HOLDFAST_RETURN_IF_ERROR(Add(input));
    }
    return Status(api_.nvJitLinkComplete(handle_), "nvJitLinkComplete",
                  "The objects do not link; see the log.");
  }

  absl::Status Create(const std::vector<std::string>& options) {
    std::vector<const char*> words;
    words.reserve(options.size());
    for (const std::string& option : options) words.push_back(option.c_str());
    const nvJitLinkResult result = api_.nvJitLinkCreate(
        &handle_, static_cast<uint32_t>(words.size()), words.data());
    if (result == NVJITLINK_SUCCESS) return absl::OkStatus();
    // Not usable, not even for its log.
    handle_ = nullptr;
    return LinkError(result, "nvJitLinkCreate",
                     absl::StrCat("nvJitLink ", api_.major, ".", api_.minor,
                                  " refuses one of the options ",
                                  absl::StrJoin(options, " "), "."));
  }

  absl::Status Add(const LinkInput& input) {
    const char* data = input.bytes.data();
    if (input.format == ObjectFormat::kPtx) {
      data = texts_.emplace_back(input.bytes).c_str();
    }
    const nvJitLinkResult result =
        api_.nvJitLinkAddData(handle_, InputType(input.format), data,
                              input.bytes.size(), input.name.c_str());
    return Status(result, "nvJitLinkAddData",
                  absl::StrCat("\"", input.name, "\" cannot be linked as ",
                               ObjectFormatName(input.format), " for ", arch_,
                               "; see the log."));
  }

  absl::StatusOr<std::string> Bytes(ObjectFormat target) {
    size_t size = 0;
    const bool cubin = target == ObjectFormat::kCubin;
    HOLDFAST_RETURN_IF_ERROR(Status(
        cubin ? api_.nvJitLinkGetLinkedCubinSize(handle_, &size)
              : api_.nvJitLinkGetLinkedPtxSize(handle_, &size),
        cubin ? "nvJitLinkGetLinkedCubinSize" : "nvJitLinkGetLinkedPtxSize",
        "There is no result."));
    std::string bytes(size, '\0');
    HOLDFAST_RETURN_IF_ERROR(
        Status(cubin ? api_.nvJitLinkGetLinkedCubin(handle_, bytes.data())
                     : api_.nvJitLinkGetLinkedPtx(handle_, bytes.data()),
               cubin ? "nvJitLinkGetLinkedCubin" : "nvJitLinkGetLinkedPtx",
               "There is no result."));
    if (!cubin) return WithoutTerminator(std::move(bytes));
    return bytes;
  }

  std::string InfoLog() const {
    return Log(api_.nvJitLinkGetInfoLogSize, api_.nvJitLinkGetInfoLog);
  }

 private:
  std::string Log(decltype(NvJitLinkApi::nvJitLinkGetInfoLogSize) get_size,
                  decltype(NvJitLinkApi::nvJitLinkGetInfoLog) get) const {
    size_t size = 0;
    if (get_size(handle_, &size) != NVJITLINK_SUCCESS || size == 0) return "";
    std::string log(size, '\0');
    if (get(handle_, log.data()) != NVJITLINK_SUCCESS) return "";
    return log.c_str();  // Drops the terminating zero.
  }

  // Success counts only if nothing was said on stderr.
  absl::Status Status(nvJitLinkResult result, absl::string_view call,
                      std::string explanation) const {
    const std::string said = stderr_.Text();
    if (result == NVJITLINK_SUCCESS && !absl::StrContains(said, kErrorMark)) {
      return absl::OkStatus();
    }
    if (result == NVJITLINK_SUCCESS) result = NVJITLINK_ERROR_INTERNAL;
    return LinkError(result, call, std::move(explanation),
                     absl::StrCat(Log(api_.nvJitLinkGetErrorLogSize,
                                      api_.nvJitLinkGetErrorLog),
                                  said));
  }

  const NvJitLinkApi& api_;
  const std::string arch_;  // for messages
  const StderrCapture stderr_;
  std::list<std::string> texts_;  // PTX, which is read up to a zero
  nvJitLinkHandle handle_ = nullptr;
};

bool IsLto(const LinkInput& input) {
  return input.format == ObjectFormat::kLtoir;
}

absl::Status CheckTarget(ObjectFormat target,
                         absl::Span<const LinkInput> inputs,
                         absl::Span<const Option> options) {
  if (target == ObjectFormat::kCubin) return absl::OkStatus();
  if (target != ObjectFormat::kPtx && target != ObjectFormat::kLtoir) {
    return absl::UnimplementedError(
        absl::StrCat("nothing is linked to a ", ObjectFormatName(target),
                     "; targets are a cubin, PTX and LTO IR"));
  }
  const auto other = std::find_if_not(inputs.begin(), inputs.end(), IsLto);
  if (other != inputs.end()) {
    return absl::UnimplementedError(
        absl::StrCat("LTO IR", target == ObjectFormat::kPtx ? " and PTX" : "",
                     " can be linked to ", ObjectFormatName(target), "; \"",
                     other->name, "\" is ", ObjectFormatName(other->format)));
  }
  for (const Option& option : options) {
    if (target == ObjectFormat::kPtx) break;
    if (option.spec->name == "--dlink-time-opt") continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "compiler option \"", option.text,
        "\" cannot be honoured: LTO IR that is linked to LTO IR is not "
        "compiled; give it where that is linked to a cubin or PTX"));
  }
  return absl::OkStatus();
}

absl::Status CheckLto(absl::Span<const Option> options, bool any_lto) {
  for (const Option& option : options) {
    if (option.spec->name == "--dlink-time-opt" && !any_lto) {
      return absl::InvalidArgumentError(absl::StrCat(
          "compiler option \"", option.text,
          "\" cannot be honoured by nvJitLink without LTO IR to link"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::string NvJitLinker::version() const {
  return absl::StrCat(api_.major, ".", api_.minor);
}

absl::StatusOr<ObjectCode> NvJitLinker::Link(
    const LinkSource& source, absl::Span<const Option> options) const {
  HOLDFAST_ASSIGN_OR_RETURN(const std::vector<LinkInput> inputs,
                            WithLtoPieces(source.inputs));
  const bool lto = std::any_of(inputs.begin(), inputs.end(), IsLto);
  HOLDFAST_RETURN_IF_ERROR(CheckLto(options, lto));
  HOLDFAST_RETURN_IF_ERROR(CheckTarget(source.target, inputs, options));
  HOLDFAST_ASSIGN_OR_RETURN(
      std::vector<std::string> flags,
      RenderOptions(options, Backend::kNvJitLink, source.target, lto));
  ObjectCode object;
  object.format = source.target;
  object.backend = std::string(BackendName(Backend::kNvJitLink));
  object.backend_version = version();
  HOLDFAST_ASSIGN_OR_RETURN(object.arch,
                            ArchitectureName(source.arch, source.target));
  flags.push_back(absl::StrCat("-arch=", object.arch));
  if (lto) flags.push_back("-lto");
  if (source.target != ObjectFormat::kCubin) flags.push_back("-ptx");
  Linkage linkage(api_, object.arch);
  HOLDFAST_RETURN_IF_ERROR(linkage.Run(flags, inputs));
  object.log = linkage.InfoLog();
  if (source.target == ObjectFormat::kLtoir) {
    object.bytes = MakeLtoArchive(inputs);
  } else {
    HOLDFAST_ASSIGN_OR_RETURN(object.bytes, linkage.Bytes(source.target));
  }
  return object;
}

absl::Status NvJitLinker::CheckPtx(const LinkInput& ptx,
                                   absl::string_view arch) const {
  HOLDFAST_RETURN_IF_ERROR(CheckLinkInput(ptx));
  HOLDFAST_ASSIGN_OR_RETURN(const std::string name,
                            ArchitectureName(arch, ObjectFormat::kCubin));
  Linkage linkage(api_, name);
  HOLDFAST_RETURN_IF_ERROR(linkage.Create({absl::StrCat("-arch=", name)}));
  return linkage.Add(ptx);
}

}  // namespace holdfast::compile
