// SPDX-License-Identifier: Apache-2.0
#include "core/compile/lto_ptx_linker.h"

#include <iterator>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/error_detail.h"
#include "core/base/status_macros.h"
#include "core/compile/ptx_linker.h"
#include "core/compile/ptx_module.h"

namespace holdfast::compile {
namespace {

// The oldest that libNVVM 13.0 knows: its LTO IR links for every newer one.
constexpr char kOldestArch[] = "75";

constexpr char kIrBegin[] = R"(
target triple = "nvptx64-nvidia-cuda"
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-f32:32:32-f64:64:64-v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64"
!nvvmir.version = !{!0}
!0 = !{i32 2, i32 0}
)";

using Names = std::set<std::string>;

// The functions that the PTX inputs leave to others.
absl::StatusOr<Names> FunctionsCalled(const LinkSource& source) {
  Names called;
  Names defined;
  for (const LinkInput& input : source.inputs) {
    if (input.format != ObjectFormat::kPtx) continue;
    const absl::StatusOr<PtxModule> module = PtxModule::Parse(input.bytes);
    if (!module.ok()) {
      return WithPrefix(absl::StrCat("link input \"", input.name, "\""),
                        module.status());
    }
    for (const PtxStatement& statement : module->statements) {
      if (statement.kind != PtxStatement::Kind::kFunction) continue;
      (statement.defined ? defined : called).emplace(statement.name);
    }
  }
  for (const std::string& name : defined) called.erase(name);
  return called;
}

// LTO IR that uses these functions, whatever their types.
absl::StatusOr<std::string> KeepFunctions(const Names& names,
                                          const NvvmCompiler& nvvm) {
  ProgramSource program;
  program.name = "functions that PTX calls";
  program.language = Language::kNvvmIr;
  program.arch = kOldestArch;
  program.source = kIrBegin;
  std::string uses;
  for (const std::string& name : names) {
    absl::StrAppend(&program.source, "declare void @\"", name, "\"()\n");
    absl::StrAppend(&uses, uses.empty() ? "" : ", ",
                    "i8* bitcast (void ()* @\"", name, "\" to i8*)");
  }
  absl::StrAppend(&program.source, "@llvm.used = appending global [",
                  names.size(), " x i8*] [", uses,
                  "], section \"llvm.metadata\"\n");
  HOLDFAST_ASSIGN_OR_RETURN(ObjectCode object,
                            nvvm.Compile(program, {}, ObjectFormat::kLtoir));
  return std::move(object.bytes);
}

}  // namespace

absl::StatusOr<ObjectCode> LinkLtoAndPtx(
    const LinkSource& source, absl::Span<const Option> options,
    const NvJitLinker& linker, const absl::StatusOr<NvvmCompiler>& nvvm) {
  LinkSource lto = {{}, {}, ObjectFormat::kPtx, source.arch};
  LinkSource ptx = lto;
  for (const LinkInput& input : source.inputs) {
    (input.format == ObjectFormat::kPtx ? ptx : lto).inputs.push_back(input);
  }
  HOLDFAST_ASSIGN_OR_RETURN(const Names called, FunctionsCalled(source));
  std::string keep;
  if (!called.empty()) {
    if (!nvvm.ok()) return nvvm.status();
    HOLDFAST_ASSIGN_OR_RETURN(keep, KeepFunctions(called, *nvvm));
    lto.inputs.push_back(
        {"functions that PTX calls", ObjectFormat::kLtoir, keep});
  }
  HOLDFAST_ASSIGN_OR_RETURN(const ObjectCode compiled,
                            linker.Link(lto, options));
  ptx.inputs.insert(ptx.inputs.begin(),
                    {"the LTO IR's PTX", ObjectFormat::kPtx, compiled.bytes});
  HOLDFAST_ASSIGN_OR_RETURN(ObjectCode object, LinkPtx(ptx));
  object.log = compiled.log;
  object.backend = absl::StrCat(compiled.backend, " and ", object.backend);
  object.backend_version =
      absl::StrCat(compiled.backend_version, " and ", object.backend_version);
  return object;
}

}  // namespace holdfast::compile
