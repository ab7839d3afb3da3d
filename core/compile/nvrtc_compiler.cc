// SPDX-License-Identifier: Apache-2.0
#include "core/compile/nvrtc_compiler.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "core/base/error_detail.h"
#include "core/base/status_macros.h"
#include "core/compile/compile_options.h"
#include "core/compile/compiler_error.h"
#include "core/compile/kernel_parameters.h"

namespace holdfast::compile {
namespace {

// The word between `before` and the next quote; empty if it is not there.
absl::string_view QuotedAfter(absl::string_view log, absl::string_view before) {
  const size_t at = log.find(before);
  if (at == absl::string_view::npos) return "";
  log.remove_prefix(at + before.size());
  return log.substr(0, log.find('"'));
}

// Explains a name expression that names no instance. The compiler reads the
// expressions as a file of this name.
std::string ExplainName(absl::string_view log) {
  if (!absl::StartsWith(log, "__nv_name_map")) return "";
  const absl::string_view name = QuotedAfter(
      log, "cannot determine which instance of function template \"");
  if (!name.empty()) {
    return absl::StrCat("\"", name, "\" is a template: name an instance, ",
                        name, "<float>.");
  }
  return "A name expression names nothing in the source; see the log.";
}

// Whether a part of a log is about a header of CUB or Thrust:
// "/usr/include/cub/device/x.cuh(7): error: ...".
bool IsOfLibraryForHosts(absl::string_view part) {
  const absl::string_view file = part.substr(0, part.find('('));
  return absl::StrContains(file, "/cub/") ||
         absl::StrContains(file, "/thrust/");
}

bool LacksHeader(absl::string_view text) {
  return absl::StrContains(text, "cannot open source file");
}

// Whether a source includes code of the host: a header of CUB or Thrust needs
// one of the host's library.
bool IsForHost(absl::string_view log) {
  const std::vector<absl::string_view> parts = absl::StrSplit(log, "\n\n");
  return std::any_of(parts.begin(), parts.end(), [](absl::string_view part) {
    return IsOfLibraryForHosts(part) && LacksHeader(part);
  });
}

// The log of a source that includes code of the host, without the other errors
// of that code: they follow from where it is compiled.
std::string WithoutErrorsOfHost(absl::string_view log) {
  std::vector<absl::string_view> parts = absl::StrSplit(log, "\n\n");
  const auto follows = [](absl::string_view part) {
    return IsOfLibraryForHosts(part) && absl::StrContains(part, ": error: ") &&
           !LacksHeader(part);
  };
  parts.erase(std::remove_if(parts.begin(), parts.end(), follows), parts.end());
  return absl::StrJoin(parts, "\n\n");
}

// Explains why a source does not compile.
std::string Explain(absl::string_view log) {
  if (std::string name = ExplainName(log); !name.empty()) return name;
  if (IsForHost(log)) {
    return "<cub/cub.cuh>, <cub/device/...> and <thrust/...> are code of the "
           "host, which is not compiled here; include <cub/block/...> and "
           "<cub/warp/...>.";
  }
  if (LacksHeader(log)) {
    return "A header is not found; see the log. The CUDA toolkit's are, among "
           "them <cuda/std/...> and <cub/...>, but none of the host's C and "
           "C++ library, nor are printf, assert and malloc in need of one; "
           "your own are sent with the source.";
  }
  if (absl::StrContains(log, "error")) {
    return "The source does not compile; see the log.";
  }
  return "The compiler gave up and names no error; it does so over what is too "
         "large for it, such as a constant of many megabytes.";
}

absl::Status NvrtcStatus(const NvrtcApi& api, nvrtcResult result,
                         absl::string_view call, std::string log = "",
                         absl::string_view options = "") {
  if (result == NVRTC_SUCCESS) return absl::OkStatus();
  ErrorDetail detail;
  detail.call = std::string(call);
  detail.result = static_cast<int32_t>(result);
  detail.result_name = api.nvrtcGetErrorString(result);
  detail.log = std::move(log);
  switch (result) {
    case NVRTC_ERROR_COMPILATION:
      if (IsForHost(detail.log)) detail.log = WithoutErrorsOfHost(detail.log);
      detail.explanation = Explain(detail.log);
      return CompilerError(absl::StatusCode::kInvalidArgument, detail);
    case NVRTC_ERROR_INVALID_OPTION:
      detail.explanation = absl::StrCat("NVRTC ", api.major, ".", api.minor,
                                        " refuses one of ", options, ".");
      return CompilerError(absl::StatusCode::kInvalidArgument, detail);
    case NVRTC_ERROR_INVALID_INPUT:
    case NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID:
      detail.explanation = "The compiler refuses a name.";
      return CompilerError(absl::StatusCode::kInvalidArgument, detail);
    case NVRTC_ERROR_OUT_OF_MEMORY:
      detail.explanation = "The compiler ran out of memory.";
      return CompilerError(absl::StatusCode::kResourceExhausted, detail);
    default:
      detail.explanation = "The compiler failed inside.";
      return CompilerError(absl::StatusCode::kInternal, detail);
  }
}

#define NVRTC_RETURN_IF_ERROR(api, name, ...) \
  HOLDFAST_RETURN_IF_ERROR(NvrtcStatus(api, (api).name(__VA_ARGS__), #name))

constexpr absl::string_view kSetConditional = "cudaGraphSetConditional";

// The source with a declaration of the device runtime's function for graphs, if
// it or a header calls that: NVRTC declares its type, and no header that
// compiles here has the function.
std::string WithDeclarations(const ProgramSource& source) {
  const bool calls =
      absl::StrContains(source.source, kSetConditional) ||
      std::any_of(source.headers.begin(), source.headers.end(),
                  [](const auto& header) {
                    return absl::StrContains(header.second, kSetConditional);
                  });
  if (!calls) return source.source;
  // In messages, the source's lines keep their numbers.
  return absl::StrCat(
      "extern \"C\" __device__ void ", kSetConditional,
      "(cudaGraphConditionalHandle handle, unsigned int value);\n#line 1 \"",
      absl::StrReplaceAll(source.name, {{"\\", "\\\\"}, {"\"", "\\\""}}),
      "\"\n", source.source);
}

// One nvrtcProgram, from source to bytes.
class Compilation {
 public:
  explicit Compilation(const NvrtcApi& api) : api_(api) {}
  ~Compilation() {
    if (program_ != nullptr) api_.nvrtcDestroyProgram(&program_);
  }
  Compilation(const Compilation&) = delete;
  Compilation& operator=(const Compilation&) = delete;

  absl::Status Create(const ProgramSource& source) {
    std::vector<const char*> names;
    std::vector<const char*> texts;
    for (const auto& [name, text] : source.headers) {
      names.push_back(name.c_str());
      texts.push_back(text.c_str());
    }
    NVRTC_RETURN_IF_ERROR(api_, nvrtcCreateProgram, &program_,
                          WithDeclarations(source).c_str(), source.name.c_str(),
                          static_cast<int>(names.size()), texts.data(),
                          names.data());
    for (const std::string& expression : source.name_expressions) {
      HOLDFAST_RETURN_IF_ERROR(WithPrefix(
          absl::StrCat("name expression \"", expression, "\""),
          NvrtcStatus(api_,
                      api_.nvrtcAddNameExpression(program_, expression.c_str()),
                      "nvrtcAddNameExpression")));
    }
    return absl::OkStatus();
  }

  absl::Status Compile(const std::vector<std::string>& options) {
    std::vector<const char*> words;
    words.reserve(options.size());
    for (const std::string& option : options) words.push_back(option.c_str());
    const nvrtcResult result = api_.nvrtcCompileProgram(
        program_, static_cast<int>(words.size()), words.data());
    if (result == NVRTC_SUCCESS) return absl::OkStatus();
    return NvrtcStatus(api_, result, "nvrtcCompileProgram", Log(),
                       absl::StrJoin(options, " "));
  }

  std::string Log() const {
    size_t size = 0;
    if (api_.nvrtcGetProgramLogSize(program_, &size) != NVRTC_SUCCESS)
      return "";
    std::string log(size, '\0');
    if (api_.nvrtcGetProgramLog(program_, log.data()) != NVRTC_SUCCESS) {
      return "";
    }
    return log.c_str();  // Drops the terminating zero.
  }

  absl::StatusOr<std::string> Bytes(ObjectFormat format) const {
    switch (format) {
      case ObjectFormat::kPtx:
        return Text(Get("nvrtcGetPTX", api_.nvrtcGetPTXSize, api_.nvrtcGetPTX));
      case ObjectFormat::kCubin:
        return Get("nvrtcGetCUBIN", api_.nvrtcGetCUBINSize, api_.nvrtcGetCUBIN);
      case ObjectFormat::kLtoir:
        return Get("nvrtcGetLTOIR", api_.nvrtcGetLTOIRSize, api_.nvrtcGetLTOIR);
      default:
        return absl::InvalidArgumentError(
            absl::StrCat("NVRTC cannot make a ", ObjectFormatName(format)));
    }
  }

  // NVRTC has the PTX of which it made a cubin.
  KernelParameters Kernels() const {
    const absl::StatusOr<std::string> ptx = Bytes(ObjectFormat::kPtx);
    return ptx.ok() ? ParametersInPtx(*ptx) : KernelParameters();
  }

  absl::StatusOr<std::string> LoweredName(const std::string& expression) const {
    const char* name = nullptr;
    NVRTC_RETURN_IF_ERROR(api_, nvrtcGetLoweredName, program_,
                          expression.c_str(), &name);
    return std::string(name);
  }

 private:
  static absl::StatusOr<std::string> Text(absl::StatusOr<std::string> bytes) {
    if (!bytes.ok()) return bytes;
    return WithoutTerminator(*std::move(bytes));
  }

  absl::StatusOr<std::string> Get(
      absl::string_view call, nvrtcResult (*get_size)(nvrtcProgram, size_t*),
      nvrtcResult (*get)(nvrtcProgram, char*)) const {
    size_t size = 0;
    HOLDFAST_RETURN_IF_ERROR(
        NvrtcStatus(api_, get_size(program_, &size), call));
    std::string bytes(size, '\0');
    HOLDFAST_RETURN_IF_ERROR(
        NvrtcStatus(api_, get(program_, bytes.data()), call));
    return bytes;
  }

  const NvrtcApi& api_;
  nvrtcProgram program_ = nullptr;
};

// A zero byte would cut a text short without a word.
absl::Status CheckTexts(const ProgramSource& program) {
  const auto check = [](absl::string_view what, absl::string_view text) {
    if (!absl::StrContains(text, '\0')) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(what, " has a zero byte"));
  };
  HOLDFAST_RETURN_IF_ERROR(check("the source", program.source));
  HOLDFAST_RETURN_IF_ERROR(check("the source's name", program.name));
  for (const auto& [name, text] : program.headers) {
    HOLDFAST_RETURN_IF_ERROR(check("a header's name", name));
    HOLDFAST_RETURN_IF_ERROR(
        check(absl::StrCat("header \"", name, "\""), text));
  }
  for (const std::string& expression : program.name_expressions) {
    HOLDFAST_RETURN_IF_ERROR(check("a name expression", expression));
  }
  return absl::OkStatus();
}

}  // namespace

std::string NvrtcCompiler::version() const {
  return absl::StrCat(api_.major, ".", api_.minor);
}

absl::StatusOr<ObjectCode> NvrtcCompiler::Compile(
    const ProgramSource& program) const {
  HOLDFAST_ASSIGN_OR_RETURN(const auto parsed, ParseOptions(program.options));
  HOLDFAST_ASSIGN_OR_RETURN(
      std::vector<std::string> options,
      RenderOptions(parsed, Backend::kNvrtc, program.target));
  HOLDFAST_RETURN_IF_ERROR(CheckTexts(program));
  ObjectCode object;
  object.format = program.target;
  object.backend = std::string(BackendName(Backend::kNvrtc));
  object.backend_version = version();
  HOLDFAST_ASSIGN_OR_RETURN(object.arch,
                            ArchitectureName(program.arch, program.target));
  options.push_back(absl::StrCat("--gpu-architecture=", object.arch));
  if (program.target == ObjectFormat::kLtoir) options.push_back("-dlto");
  for (const std::string& directory : api_.include_directories) {
    options.push_back(absl::StrCat("--include-path=", directory));
  }
  Compilation compilation(api_);
  HOLDFAST_RETURN_IF_ERROR(compilation.Create(program));
  HOLDFAST_RETURN_IF_ERROR(compilation.Compile(options));
  object.log = compilation.Log();
  HOLDFAST_ASSIGN_OR_RETURN(object.bytes, compilation.Bytes(program.target));
  if (program.target == ObjectFormat::kCubin) {
    object.kernels = compilation.Kernels();
  }
  for (const std::string& expression : program.name_expressions) {
    HOLDFAST_ASSIGN_OR_RETURN(object.symbols[expression],
                              compilation.LoweredName(expression));
  }
  return object;
}

}  // namespace holdfast::compile
