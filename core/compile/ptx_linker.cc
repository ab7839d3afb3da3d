// SPDX-License-Identifier: Apache-2.0
#include "core/compile/ptx_linker.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/error_detail.h"
#include "core/base/status_macros.h"
#include "core/compile/compile_options.h"
#include "core/compile/compiler_error.h"
#include "core/compile/link_input.h"
#include "core/compile/ptx_module.h"
#include "core/cuda/kernel_limits.h"
#include "cuda.h"

namespace holdfast::compile {
namespace {

using Kind = PtxStatement::Kind;
using Linkage = PtxStatement::Linkage;

constexpr char kVersion[] = "1";

// Functions that every device has.
constexpr absl::string_view kBuiltIn[] = {"vprintf", "malloc", "free",
                                          "__assertfail"};

// The functions of NVIDIA's device runtime about grids are not in a library of
// PTX: a device that runs PTX has them itself.
bool IsBuiltIn(absl::string_view name) {
  return absl::StartsWith(name, "cudaCG") ||
         std::find(std::begin(kBuiltIn), std::end(kBuiltIn), name) !=
             std::end(kBuiltIn);
}

// Says why some functions have no definition: nvcc's code calls functions with
// this prefix where a kernel launches a kernel, and NVIDIA's driver has them.
absl::string_view ReasonFor(absl::string_view name) {
  return absl::StartsWith(name, "__cudaCDP2")
             ? ": kernels cannot launch kernels (dynamic parallelism)"
             : "";
}

// "sm_90" before "sm_90a" before "sm_100".
bool TargetLess(absl::string_view a, absl::string_view b) {
  const auto digits = [](absl::string_view target) {
    return std::count_if(target.begin(), target.end(),
                         [](char c) { return c >= '0' && c <= '9'; });
  };
  return digits(a) != digits(b) ? digits(a) < digits(b) : a < b;
}

bool IsExternal(const PtxStatement& statement) {
  return statement.entry || statement.linkage != Linkage::kInternal;
}

class PtxLinker {
 public:
  explicit PtxLinker(const cuda::KernelLimits& limits = {}) : limits_(limits) {}

  absl::Status Add(const LinkInput& input) {
    HOLDFAST_RETURN_IF_ERROR(CheckLinkInput(input));
    absl::StatusOr<PtxModule> module = PtxModule::Parse(input.bytes);
    if (!module.ok()) {
      return WithPrefix(absl::StrCat("link input \"", input.name, "\""),
                        module.status());
    }
    if (module->address_size != "64") {
      return absl::InvalidArgumentError(
          absl::StrCat("link input \"", input.name, "\" has addresses of \"",
                       module->address_size, "\" bits, not of 64"));
    }
    modules_.push_back(*std::move(module));
    inputs_.push_back(input.name);
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> Link() {
    for (size_t i = 0; i < modules_.size(); ++i) Define(i);
    for (size_t i = 0; i < modules_.size(); ++i) Refer(i);
    if (!errors_.empty()) return Failure();
    for (size_t i = 0; i < modules_.size(); ++i) renames_.push_back(Rename(i));
    WriteHeader();
    WriteDeclarations();
    WriteVariables();
    WriteRest();
    return std::move(text_);
  }

 private:
  struct Definition {
    size_t module = 0;
    const PtxStatement* statement = nullptr;
  };

  // Enters what a module defines for all.
  void Define(size_t i) {
    for (const PtxStatement& statement : modules_[i].statements) {
      if (statement.kind == Kind::kOther) continue;
      users_[statement.name].insert(i);
      if (!statement.defined) continue;
      if (!IsExternal(statement)) {
        if (statement.kind == Kind::kVariable) {
          own_variables_[{i, statement.name}] = &statement;
        }
        continue;
      }
      const auto [at, added] =
          definitions_.emplace(statement.name, Definition{i, &statement});
      if (added) continue;
      Definition& first = at->second;
      if (statement.linkage == Linkage::kWeak) continue;
      if (first.statement->linkage == Linkage::kWeak) {
        first = {i, &statement};
        continue;
      }
      errors_.push_back(absl::StrCat(
          "multiple definition of '", statement.name, "' in '", inputs_[i],
          "', first defined in '", inputs_[first.module], "'"));
    }
  }

  // Finds what a module leaves to others; keeps what no module has.
  void Refer(size_t i) {
    for (const PtxStatement& statement : modules_[i].statements) {
      if (statement.linkage != Linkage::kExtern) continue;
      const auto found = definitions_.find(statement.name);
      if (found == definitions_.end()) {
        const bool function = statement.kind == Kind::kFunction;
        if (function ? IsBuiltIn(statement.name) : statement.shared) {
          undefined_.emplace(statement.name, &statement);
        } else {
          errors_.push_back(absl::StrCat("undefined reference to '",
                                         statement.name, "' in '", inputs_[i],
                                         "'", ReasonFor(statement.name)));
        }
      } else if (found->second.statement->kind != statement.kind) {
        errors_.push_back(absl::StrCat(
            "'", statement.name,
            "' is a function in one and a variable in "
            "another of '",
            inputs_[i], "' and '", inputs_[found->second.module], "'"));
      }
    }
  }

  // The names that a module keeps to itself and others use, too.
  PtxNames Rename(size_t i) const {
    PtxNames names;
    for (const PtxStatement& statement : modules_[i].statements) {
      if (statement.kind == Kind::kOther || IsExternal(statement)) continue;
      if (users_.at(statement.name).size() < 2) continue;
      std::string name = absl::StrCat(statement.name, "$", i);
      while (users_.count(name) > 0) name += "$";
      names.emplace(statement.name, std::move(name));
    }
    return names;
  }

  // Does the joined module take this statement from module `i`?
  bool Taken(size_t i, const PtxStatement& statement) const {
    if (statement.kind == Kind::kOther) return true;
    if (!statement.defined) return false;
    if (!IsExternal(statement)) return true;
    return definitions_.at(statement.name).statement == &statement;
  }

  void Write(size_t i, absl::string_view text, absl::string_view end = "\n") {
    absl::StrAppend(&text_, RenamePtx(text, renames_[i]), end);
  }

  void WriteHeader() {
    int version = 0;
    absl::string_view target;
    for (const PtxModule& module : modules_) {
      version = std::max(version, module.version);
      if (target.empty() || TargetLess(target, module.target)) {
        target = module.target;
      }
    }
    absl::StrAppend(&text_, "//\n// Linked by Holdfast\n//\n.version ",
                    version / 10, ".", version % 10, "\n.target ", target,
                    "\n.address_size 64\n\n");
  }

  // Writes declarations of all functions, in their definitions' words, so that
  // order matters no more.
  void WriteDeclarations() {
    for (const auto& [name, statement] : undefined_) {
      absl::StrAppend(&text_, RenamePtx(statement->text, {}), "\n");
    }
    for (size_t i = 0; i < modules_.size(); ++i) {
      for (const PtxStatement& statement : modules_[i].statements) {
        if (statement.kind == Kind::kFunction && !statement.entry &&
            Taken(i, statement)) {
          Write(i, statement.head, ";\n");
        }
      }
    }
  }

  // Each after those that its initial value refers to.
  void WriteVariables() {
    for (size_t i = 0; i < modules_.size(); ++i) {
      for (const PtxStatement& statement : modules_[i].statements) {
        if (statement.kind == Kind::kVariable) WriteVariable(i, statement);
      }
    }
  }

  const PtxStatement* FindVariable(size_t* i, absl::string_view name) const {
    const auto own = own_variables_.find({*i, name});
    if (own != own_variables_.end()) return own->second;
    const auto found = definitions_.find(name);
    if (found == definitions_.end() ||
        found->second.statement->kind != Kind::kVariable) {
      return nullptr;
    }
    *i = found->second.module;
    return found->second.statement;
  }

  void WriteVariable(size_t i, const PtxStatement& statement) {
    if (!Taken(i, statement) || !written_.insert(&statement).second) return;
    const size_t value = statement.text.find('=');
    if (value != absl::string_view::npos) {
      std::set<absl::string_view> words;
      for (const absl::string_view word :
           PtxWords(statement.text.substr(value))) {
        if (word[0] < '0' || word[0] > '9') words.insert(word);
      }
      for (const absl::string_view word : words) {
        if (users_.count(word) == 0) continue;
        size_t module = i;
        const PtxStatement* other = FindVariable(&module, word);
        if (other != nullptr) WriteVariable(module, *other);
      }
    }
    Write(i, statement.text);
  }

  void WriteFunction(size_t i, const PtxStatement& function) {
    Write(i, function.entry ? limits_.Apply(function.text)
                            : std::string(function.text));
  }

  void WriteRest() {
    for (size_t i = 0; i < modules_.size(); ++i) {
      for (const PtxStatement& statement : modules_[i].statements) {
        if (statement.kind == Kind::kFunction && Taken(i, statement)) {
          WriteFunction(i, statement);
        }
      }
    }
    for (size_t i = 0; i < modules_.size(); ++i) {
      for (const PtxStatement& statement : modules_[i].statements) {
        if (statement.kind == Kind::kOther) Write(i, statement.text);
      }
    }
  }

  absl::Status Failure() const {
    ErrorDetail detail;
    detail.call = "LinkPtx";
    detail.result_name = "errors";
    detail.explanation = "The PTX modules do not link; see the log.";
    detail.log = absl::StrJoin(errors_, "\n");
    return CompilerError(absl::StatusCode::kInvalidArgument, detail);
  }

  const cuda::KernelLimits limits_;
  std::vector<PtxModule> modules_;
  std::vector<std::string> inputs_;  // their names
  std::vector<std::string> errors_;
  // Which modules have a statement on a name.
  std::map<absl::string_view, std::set<size_t>> users_;
  std::map<absl::string_view, Definition> definitions_;
  // Those that a module keeps to itself.
  std::map<std::pair<size_t, absl::string_view>, const PtxStatement*>
      own_variables_;
  std::map<absl::string_view, const PtxStatement*> undefined_;
  std::vector<PtxNames> renames_;  // as modules_
  std::set<const PtxStatement*> written_;
  std::string text_;
};

absl::StatusOr<ObjectCode> Object(std::string bytes, const std::string& arch) {
  ObjectCode object;
  object.bytes = std::move(bytes);
  object.backend = "Holdfast";
  object.backend_version = kVersion;
  HOLDFAST_ASSIGN_OR_RETURN(object.arch,
                            ArchitectureName(arch, ObjectFormat::kPtx));
  return object;
}

absl::Status ReadMaxRegisters(const Option& option,
                              cuda::KernelLimits* limits) {
  uintptr_t registers = 0;
  void* value = nullptr;
  if (absl::SimpleAtoi(option.value, &registers)) {
    value = reinterpret_cast<void*>(registers);
  }
  return limits->Read(CU_JIT_MAX_REGISTERS, &value) == CUDA_SUCCESS
             ? absl::OkStatus()
             : absl::InvalidArgumentError(
                   absl::StrCat("compiler option \"", option.text,
                                "\" needs a number of registers from 1"));
}

}  // namespace

absl::StatusOr<ObjectCode> LinkPtx(const LinkSource& source) {
  HOLDFAST_ASSIGN_OR_RETURN(const auto options, ParseOptions(source.options));
  cuda::KernelLimits limits;
  for (const Option& option : options) {
    if (option.spec->name != "--maxrregcount") {
      return absl::InvalidArgumentError(
          absl::StrCat("compiler option \"", option.text,
                       "\" cannot be honoured by Holdfast's linker, which "
                       "joins PTX into PTX "
                       "as it is"));
    }
    HOLDFAST_RETURN_IF_ERROR(ReadMaxRegisters(option, &limits));
  }
  PtxLinker linker(limits);
  for (const LinkInput& input : source.inputs) {
    HOLDFAST_RETURN_IF_ERROR(linker.Add(input));
  }
  HOLDFAST_ASSIGN_OR_RETURN(std::string bytes, linker.Link());
  return Object(std::move(bytes), source.arch);
}

absl::StatusOr<ObjectCode> KeepPtx(const LinkInput& ptx,
                                   const std::string& arch) {
  HOLDFAST_RETURN_IF_ERROR(PtxLinker().Add(ptx));
  return Object(std::string(ptx.bytes), arch);
}

}  // namespace holdfast::compile
