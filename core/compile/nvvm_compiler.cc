// SPDX-License-Identifier: Apache-2.0
#include "core/compile/nvvm_compiler.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/error_detail.h"
#include "core/base/status_macros.h"
#include "core/compile/compiler_error.h"

namespace holdfast::compile {
namespace {

// The prefix of names in libdevice. Bitcode keeps names as bytes, too.
constexpr absl::string_view kLibdevicePrefix = "__nv_";

absl::Status NvvmStatus(const NvvmApi& api, nvvmResult result,
                        absl::string_view call, std::string log = "") {
  if (result == NVVM_SUCCESS) return absl::OkStatus();
  ErrorDetail detail;
  detail.call = std::string(call);
  detail.result = static_cast<int32_t>(result);
  detail.result_name = api.nvvmGetErrorString(result);
  detail.log = std::move(log);
  if (result == NVVM_ERROR_OUT_OF_MEMORY) {
    detail.explanation = "libNVVM ran out of memory.";
    return CompilerError(absl::StatusCode::kResourceExhausted, detail);
  }
  detail.explanation = absl::StrCat(
      "libNVVM refuses the IR or an option; it reads NVVM IR up to version ",
      api.ir_major, ".", api.ir_minor, ".");
  return CompilerError(absl::StatusCode::kInvalidArgument, detail);
}

// One nvvmProgram, from modules to bytes.
class NvvmProgram {
 public:
  explicit NvvmProgram(const NvvmApi& api) : api_(api) {}
  ~NvvmProgram() {
    if (program_ != nullptr) api_.nvvmDestroyProgram(&program_);
  }
  NvvmProgram(const NvvmProgram&) = delete;
  NvvmProgram& operator=(const NvvmProgram&) = delete;

  absl::Status Create() {
    return Status(api_.nvvmCreateProgram(&program_), "nvvmCreateProgram");
  }

  absl::Status Add(const std::string& name, const std::string& ir) {
    return WithPrefix(
        name, Status(api_.nvvmAddModuleToProgram(program_, ir.data(), ir.size(),
                                                 name.c_str()),
                     "nvvmAddModuleToProgram"));
  }

  // Only what is called of it is linked in.
  absl::Status AddLibrary(const std::string& ir) {
    return Status(api_.nvvmLazyAddModuleToProgram(program_, ir.data(),
                                                  ir.size(), "libdevice"),
                  "nvvmLazyAddModuleToProgram");
  }

  absl::Status Compile(const std::vector<std::string>& options) {
    std::vector<const char*> words;
    words.reserve(options.size());
    for (const std::string& option : options) words.push_back(option.c_str());
    const int count = static_cast<int>(words.size());
    HOLDFAST_RETURN_IF_ERROR(
        Status(api_.nvvmVerifyProgram(program_, count, words.data()),
               "nvvmVerifyProgram"));
    return Status(api_.nvvmCompileProgram(program_, count, words.data()),
                  "nvvmCompileProgram");
  }

  absl::StatusOr<std::string> Bytes() {
    size_t size = 0;
    HOLDFAST_RETURN_IF_ERROR(
        Status(api_.nvvmGetCompiledResultSize(program_, &size),
               "nvvmGetCompiledResultSize"));
    std::string bytes(size, '\0');
    HOLDFAST_RETURN_IF_ERROR(
        Status(api_.nvvmGetCompiledResult(program_, bytes.data()),
               "nvvmGetCompiledResult"));
    return bytes;
  }

  std::string Log() const {
    size_t size = 0;
    if (api_.nvvmGetProgramLogSize(program_, &size) != NVVM_SUCCESS) return "";
    std::string log(size, '\0');
    if (api_.nvvmGetProgramLog(program_, log.data()) != NVVM_SUCCESS) return "";
    return log.c_str();  // Drops the terminating zero.
  }

 private:
  absl::Status Status(nvvmResult result, absl::string_view call) const {
    return NvvmStatus(
        api_, result, call,
        result == NVVM_SUCCESS || program_ == nullptr ? "" : Log());
  }

  const NvvmApi& api_;
  nvvmProgram program_ = nullptr;
};

bool CallsLibdevice(const ProgramSource& program) {
  return absl::StrContains(program.source, kLibdevicePrefix) ||
         std::any_of(program.extra_sources.begin(), program.extra_sources.end(),
                     [](const ExtraSource& extra) {
                       return absl::StrContains(extra.source, kLibdevicePrefix);
                     });
}

absl::StatusOr<std::string> ReadLibdevice(const NvvmApi& api) {
  std::ifstream file(api.libdevice, std::ios::binary);
  std::string bytes(std::istreambuf_iterator<char>(file), {});
  if (!bytes.empty()) return bytes;
  return absl::UnavailableError(absl::StrCat(
      "the IR calls libdevice (__nv_...), and libdevice.10.bc is not "
      "installed in the toolkit of ",
      api.path));
}

absl::Status AddModules(const NvvmApi& api, const ProgramSource& program,
                        NvvmProgram* nvvm) {
  HOLDFAST_RETURN_IF_ERROR(nvvm->Create());
  HOLDFAST_RETURN_IF_ERROR(nvvm->Add(program.name, program.source));
  for (const ExtraSource& extra : program.extra_sources) {
    HOLDFAST_RETURN_IF_ERROR(nvvm->Add(extra.name, extra.source));
  }
  if (!CallsLibdevice(program)) return absl::OkStatus();
  HOLDFAST_ASSIGN_OR_RETURN(const std::string library, ReadLibdevice(api));
  return nvvm->AddLibrary(library);
}

}  // namespace

std::string NvvmCompiler::version() const {
  return absl::StrCat(api_.major, ".", api_.minor);
}

absl::StatusOr<ObjectCode> NvvmCompiler::Compile(
    const ProgramSource& program, absl::Span<const Option> options,
    ObjectFormat target) const {
  HOLDFAST_ASSIGN_OR_RETURN(std::vector<std::string> flags,
                            RenderOptions(options, Backend::kNvvm, target));
  ObjectCode object;
  object.format = target;
  object.backend = std::string(BackendName(Backend::kNvvm));
  object.backend_version = version();
  HOLDFAST_ASSIGN_OR_RETURN(object.arch,
                            ArchitectureName(program.arch, target));
  flags.push_back(absl::StrCat("-arch=", object.arch));
  if (target == ObjectFormat::kLtoir) flags.push_back("-gen-lto");
  NvvmProgram nvvm(api_);
  HOLDFAST_RETURN_IF_ERROR(AddModules(api_, program, &nvvm));
  HOLDFAST_RETURN_IF_ERROR(nvvm.Compile(flags));
  object.log = nvvm.Log();
  HOLDFAST_ASSIGN_OR_RETURN(object.bytes, nvvm.Bytes());
  if (target == ObjectFormat::kPtx) {
    object.bytes = WithoutTerminator(std::move(object.bytes));
  }
  return object;
}

}  // namespace holdfast::compile
