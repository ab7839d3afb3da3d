// SPDX-License-Identifier: Apache-2.0
#include "core/compile/compiler.h"

#include <algorithm>
#include <deque>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/error_detail.h"
#include "core/base/status_macros.h"
#include "core/compile/compile_options.h"
#include "core/compile/kernel_parameters.h"
#include "core/compile/link_input.h"
#include "core/compile/lto_ptx_linker.h"
#include "core/compile/nvjitlink_linker.h"
#include "core/compile/nvrtc_compiler.h"
#include "core/compile/nvvm_compiler.h"
#include "core/compile/ptx_linker.h"

namespace holdfast::compile {
namespace {

std::string FolderOf(const std::string& file) {
  return file.substr(0, file.rfind('/'));
}

absl::Status CannotMake(const ProgramSource& program) {
  return absl::InvalidArgumentError(
      absl::StrCat(LanguageName(program.language), " cannot be compiled to ",
                   ObjectFormatName(program.target)));
}

// Divides the options of an NVVM program that becomes a cubin: those that
// libNVVM honours go there, the rest to nvJitLink, and debug information to
// both.
void Divide(std::vector<Option> options, std::vector<Option>* nvvm,
            std::vector<Option>* nvjitlink) {
  for (Option& option : options) {
    const bool both = option.spec->name == "--device-debug" ||
                      option.spec->name == "--generate-line-info";
    if (both || option.spec->nvvm.empty()) nvjitlink->push_back(option);
    if (!option.spec->nvvm.empty()) nvvm->push_back(std::move(option));
  }
}

// PTX tells its kernels itself. Those of a cubin are known to who made it.
void AddKernelsOfPtx(ObjectCode* object) {
  if (object->format != ObjectFormat::kPtx) return;
  object->kernels = ParametersInPtx(object->bytes);
}

// A log of one step after that of the one before.
std::string Joined(std::string first, const std::string& second) {
  if (!first.empty() && !second.empty()) first += "\n";
  return first + second;
}

}  // namespace

std::unique_ptr<const Compiler> Compiler::Load(const ToolkitOptions& options) {
  return std::unique_ptr<const Compiler>(new Compiler(options));
}

Compiler::Compiler(const ToolkitOptions& options)
    : nvrtc_(LoadNvrtc(options)),
      nvjitlink_(LoadNvJitLink(options)),
      nvvm_(LoadNvvm(options)) {}

absl::Status Compiler::status() const {
  return nvjitlink_.ok() || nvvm_.ok() ? absl::OkStatus() : nvrtc_.status();
}

std::string Compiler::version() const {
  std::vector<std::string> versions;
  const auto add = [&](Backend backend, const std::string& version) {
    versions.push_back(absl::StrCat(BackendName(backend), " ", version));
  };
  if (nvrtc_.ok()) add(Backend::kNvrtc, NvrtcCompiler(**nvrtc_).version());
  if (nvjitlink_.ok()) {
    add(Backend::kNvJitLink, NvJitLinker(**nvjitlink_).version());
  }
  if (nvvm_.ok()) add(Backend::kNvvm, NvvmCompiler(**nvvm_).version());
  return absl::StrJoin(versions, ", ");
}

std::vector<std::string> Compiler::files() const {
  std::vector<std::string> files;
  if (nvrtc_.ok()) files.push_back((*nvrtc_)->path);
  if (nvjitlink_.ok()) files.push_back((*nvjitlink_)->path);
  if (!nvvm_.ok()) return files;
  files.push_back((*nvvm_)->path);
  if (!(*nvvm_)->libdevice.empty()) files.push_back((*nvvm_)->libdevice);
  return files;
}

std::vector<std::string> Compiler::directories() const {
  std::vector<std::string> directories;
  if (nvrtc_.ok()) directories = (*nvrtc_)->include_directories;
  for (const std::string& file : files()) directories.push_back(FolderOf(file));
  return directories;
}

absl::StatusOr<ObjectCode> Compiler::Compile(
    const ProgramSource& program) const {
  HOLDFAST_ASSIGN_OR_RETURN(ObjectCode object, CompileSource(program));
  AddKernelsOfPtx(&object);
  return object;
}

absl::StatusOr<ObjectCode> Compiler::CompileSource(
    const ProgramSource& program) const {
  if (program.language != Language::kNvvmIr && !program.extra_sources.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(LanguageName(program.language),
                     " is compiled from one source; extra sources are for "
                     "NVVM IR"));
  }
  if (program.language != Language::kCudaCpp &&
      !(program.headers.empty() && program.name_expressions.empty())) {
    return absl::InvalidArgumentError(
        absl::StrCat("headers and name expressions are for CUDA C++; ",
                     LanguageName(program.language), " has neither"));
  }
  switch (program.language) {
    case Language::kCudaCpp:
      if (!nvrtc_.ok()) return nvrtc_.status();
      return NvrtcCompiler(**nvrtc_).Compile(program);
    case Language::kPtx:
      return CompilePtx(program);
    case Language::kNvvmIr:
      return CompileNvvm(program);
  }
  return absl::InternalError("unknown language");
}

absl::StatusOr<NvJitLinker> Compiler::Linker() const {
  if (nvjitlink_.ok()) return NvJitLinker(**nvjitlink_);
  return WithPrefix(
      "this takes nvJitLink; without it CUDA C++ still becomes a cubin, PTX, "
      "NVVM IR and several PTX modules become PTX, and the driver compiles PTX "
      "when it is loaded",
      nvjitlink_.status());
}

absl::StatusOr<ObjectCode> Compiler::CompilePtx(
    const ProgramSource& program) const {
  HOLDFAST_ASSIGN_OR_RETURN(const auto options, ParseOptions(program.options));
  const LinkInput input{program.name, ObjectFormat::kPtx, program.source};
  if (program.target == ObjectFormat::kCubin) {
    HOLDFAST_ASSIGN_OR_RETURN(const NvJitLinker linker, Linker());
    HOLDFAST_ASSIGN_OR_RETURN(
        ObjectCode object,
        linker.Link({{input}, {}, program.target, program.arch}, options));
    object.kernels = ParametersInPtx(program.source);
    return object;
  }
  if (program.target != ObjectFormat::kPtx) return CannotMake(program);
  if (!options.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("compiler option \"", options.front().text,
                     "\" cannot be honoured: PTX stays as it is for the "
                     "target PTX"));
  }
  if (!nvjitlink_.ok()) return KeepPtx(input, program.arch);
  const NvJitLinker linker(**nvjitlink_);
  HOLDFAST_RETURN_IF_ERROR(linker.CheckPtx(input, program.arch));
  ObjectCode object;
  object.bytes = program.source;
  object.backend = std::string(BackendName(Backend::kNvJitLink));
  object.backend_version = linker.version();
  HOLDFAST_ASSIGN_OR_RETURN(object.arch,
                            ArchitectureName(program.arch, program.target));
  return object;
}

absl::StatusOr<ObjectCode> Compiler::CompileNvvm(
    const ProgramSource& program) const {
  HOLDFAST_ASSIGN_OR_RETURN(const NvvmCompiler nvvm, Nvvm());
  HOLDFAST_ASSIGN_OR_RETURN(auto options, ParseOptions(program.options));
  if (program.target == ObjectFormat::kPtx ||
      program.target == ObjectFormat::kLtoir) {
    return nvvm.Compile(program, options, program.target);
  }
  if (program.target != ObjectFormat::kCubin) return CannotMake(program);
  HOLDFAST_ASSIGN_OR_RETURN(const NvJitLinker linker, Linker());
  std::vector<Option> compile;
  std::vector<Option> link;
  Divide(std::move(options), &compile, &link);
  HOLDFAST_ASSIGN_OR_RETURN(const ObjectCode ptx,
                            nvvm.Compile(program, compile, ObjectFormat::kPtx));
  const LinkInput input{program.name, ObjectFormat::kPtx, ptx.bytes};
  HOLDFAST_ASSIGN_OR_RETURN(
      ObjectCode object,
      linker.Link({{input}, {}, program.target, program.arch}, link));
  object.kernels = ParametersInPtx(ptx.bytes);
  object.log = Joined(ptx.log, object.log);
  object.backend = absl::StrCat(ptx.backend, " and ", object.backend);
  object.backend_version =
      absl::StrCat(ptx.backend_version, " and ", object.backend_version);
  return object;
}

absl::StatusOr<NvvmCompiler> Compiler::Nvvm() const {
  if (!nvvm_.ok()) return nvvm_.status();
  return NvvmCompiler(**nvvm_);
}

// Joined by us, and read again by nvJitLink, if it is there.
absl::StatusOr<ObjectCode> Compiler::Checked(absl::StatusOr<ObjectCode> joined,
                                             const std::string& arch) const {
  if (joined.ok() && nvjitlink_.ok()) {
    HOLDFAST_RETURN_IF_ERROR(
        NvJitLinker(**nvjitlink_)
            .CheckPtx({"joined.ptx", ObjectFormat::kPtx, joined->bytes}, arch));
  }
  return joined;
}

absl::StatusOr<ObjectCode> Compiler::LinkUnpacked(
    const LinkSource& source) const {
  std::deque<std::string> texts;
  LinkSource unpacked = source;
  unpacked.inputs.clear();
  for (const LinkInput& input : source.inputs) {
    if (!IsContainer(input)) {
      unpacked.inputs.push_back(input);
      continue;
    }
    HOLDFAST_ASSIGN_OR_RETURN(std::vector<std::string> modules,
                              UnpackPtx(input, source.arch));
    for (std::string& module : modules) {
      texts.push_back(std::move(module));
      unpacked.inputs.push_back({input.name, ObjectFormat::kPtx, texts.back()});
    }
  }
  return LinkInputs(unpacked);
}

absl::StatusOr<ObjectCode> Compiler::Link(const LinkSource& source) const {
  HOLDFAST_ASSIGN_OR_RETURN(ObjectCode object, LinkInputs(source));
  AddKernelsOfPtx(&object);
  if (object.format != ObjectFormat::kCubin) return object;
  for (const LinkInput& input : source.inputs) {
    if (input.format != ObjectFormat::kPtx) continue;
    object.kernels.merge(ParametersInPtx(input.bytes));
  }
  return object;
}

absl::StatusOr<ObjectCode> Compiler::LinkInputs(
    const LinkSource& source) const {
  std::set<ObjectFormat> formats;
  for (const LinkInput& input : source.inputs) formats.insert(input.format);
  const bool to_ptx = source.target == ObjectFormat::kPtx;
  if (to_ptx &&
      std::any_of(source.inputs.begin(), source.inputs.end(), IsContainer)) {
    return LinkUnpacked(source);
  }
  if (to_ptx && formats == std::set{ObjectFormat::kPtx}) {
    return Checked(LinkPtx(source), source.arch);
  }
  HOLDFAST_ASSIGN_OR_RETURN(const NvJitLinker linker, Linker());
  HOLDFAST_ASSIGN_OR_RETURN(const auto options, ParseOptions(source.options));
  if (to_ptx && formats == std::set{ObjectFormat::kPtx, ObjectFormat::kLtoir}) {
    return Checked(LinkLtoAndPtx(source, options, linker, Nvvm()), source.arch);
  }
  return linker.Link(source, options);
}

}  // namespace holdfast::compile
