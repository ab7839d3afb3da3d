// SPDX-License-Identifier: Apache-2.0
#include "core/software/ptx/link.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"

namespace holdfast::software::ptx {
namespace {

bool Defined(const Variable& variable) { return !variable.external; }
bool Defined(const Function& function) { return function.defined; }

// Can the linker see it? A declaration refers to what others can see.
bool Shared(const Variable& variable) {
  return variable.visible || variable.external;
}
bool Shared(const Function& function) {
  return function.visible || function.external || !function.defined;
}

bool SameKind(const Variable& a, const Variable& b) {
  return a.space == b.space;
}
bool SameKind(const Function& a, const Function& b) {
  return a.kernel == b.kernel && a.results.size() == b.results.size() &&
         a.parameters.size() == b.parameters.size();
}

class Linker {
 public:
  Linker(Module* joined, std::vector<std::string>* errors)
      : joined_(*joined), errors_(*errors) {}

  void Add(Module module) {
    joined_.version = std::max(joined_.version, module.version);
    joined_.target = std::max(joined_.target, module.target);
    joined_.own_features = joined_.own_features || module.own_features;
    joined_.address_bits = module.address_bits;
    variables_.clear();
    functions_.clear();
    first_file_ = static_cast<uint32_t>(joined_.files.size());
    joined_.files.insert(joined_.files.end(), module.files.begin(),
                         module.files.end());
    // First where everything goes, since references go in all directions.
    std::vector<bool> own_variables, own_functions;
    Place(module.variables, &joined_.variables, &variable_names_, &variables_,
          &own_variables);
    Place(module.functions, &joined_.functions, &function_names_, &functions_,
          &own_functions);
    for (size_t i = 0; i < own_variables.size(); ++i) {
      if (own_variables[i]) Relocate(&joined_.variables[variables_[i]]);
    }
    for (size_t i = 0; i < own_functions.size(); ++i) {
      if (own_functions[i]) Relocate(&joined_.functions[functions_[i]]);
    }
  }

  void Finish() {
    for (const Variable& variable : joined_.variables) {
      // An extern array in shared memory is sized by the launch.
      if (variable.external && variable.space != Space::kShared) {
        errors_.push_back(
            absl::StrCat("undefined reference to '", variable.name, "'"));
      }
    }
  }

 private:
  using Names = std::map<std::string, uint32_t>;

  // Moves each symbol to its place among all; `own` tells for which ones the
  // joined module now holds this module's version.
  template <typename Symbol>
  void Place(std::vector<Symbol>& symbols, std::vector<Symbol>* all,
             Names* names, std::vector<uint32_t>* places,
             std::vector<bool>* own) {
    for (Symbol& symbol : symbols) {
      const auto next = static_cast<uint32_t>(all->size());
      uint32_t place = next;
      if (Shared(symbol))
        place = names->emplace(symbol.name, next).first->second;
      places->push_back(place);
      own->push_back(place == next || Replaces((*all)[place], symbol));
      if (place == next) {
        all->push_back(std::move(symbol));
      } else if (own->back()) {
        (*all)[place] = std::move(symbol);
      }
    }
  }

  // Does `symbol` take the place of `first`, of the same name?
  template <typename Symbol>
  bool Replaces(const Symbol& first, const Symbol& symbol) {
    if (!SameKind(first, symbol)) {
      errors_.push_back(absl::StrCat("'", symbol.name,
                                     "' is declared differently by two "
                                     "modules"));
      return false;
    }
    if (!Defined(symbol)) return false;
    if (!Defined(first)) return true;
    if (first.weak && !symbol.weak) return true;
    if (!symbol.weak) {
      errors_.push_back(
          absl::StrCat("multiple definition of '", symbol.name, "'"));
    }
    return false;
  }

  void Relocate(Operand* operand) const {
    if (operand->kind == Operand::Kind::kVariable) {
      operand->index = variables_[operand->index];
    } else if (operand->kind == Operand::Kind::kFunction) {
      operand->index = functions_[operand->index];
    }
    for (Operand& element : operand->elements) Relocate(&element);
  }

  void Relocate(Variable* variable) const {
    for (Relocation& relocation : variable->relocations) {
      relocation.index =
          (relocation.function ? functions_ : variables_)[relocation.index];
    }
  }

  void Relocate(Function* function) const {
    for (Variable& variable : function->variables) Relocate(&variable);
    for (Instruction& instruction : function->body) {
      instruction.source.file += first_file_;
      for (Operand& operand : instruction.operands) Relocate(&operand);
    }
  }

  Module& joined_;
  std::vector<std::string>& errors_;
  Names variable_names_, function_names_;
  // Maps the indices of the module that is being added to the joined ones.
  std::vector<uint32_t> variables_, functions_;
  uint32_t first_file_ = 0;
};

// Calls see(name, defined) for each symbol that a linker can see. An extern
// array in shared memory needs no definition.
template <typename See>
void ForEachShared(const Module& module, See see) {
  for (const Variable& variable : module.variables) {
    if (Shared(variable) && variable.space != Space::kShared) {
      see(variable.name, Defined(variable));
    }
  }
  for (const Function& function : module.functions) {
    if (Shared(function)) see(function.name, Defined(function));
  }
}

}  // namespace

void MemberChoice::Add(const Module& module) {
  ForEachShared(module, [&](const std::string& name, bool defined) {
    if (defined) {
      defined_.insert(name);
      missing_.erase(name);
    } else if (defined_.count(name) == 0 && !provided_(name)) {
      missing_.insert(name);
    }
  });
}

bool MemberChoice::Defines(const Module& member) const {
  bool defines = false;
  ForEachShared(member, [&](const std::string& name, bool defined) {
    defines |= defined && missing_.count(name) > 0;
  });
  return defines;
}

std::vector<size_t> MemberChoice::Choose(const std::vector<Module>& members) {
  std::vector<size_t> chosen;
  std::vector<bool> taken(members.size());
  for (bool again = true; again;) {
    again = false;
    for (size_t i = 0; i < members.size(); ++i) {
      if (taken[i] || !Defines(members[i])) continue;
      Add(members[i]);
      chosen.push_back(i);
      taken[i] = again = true;
    }
  }
  return chosen;
}

bool Link(std::vector<Module> modules, Module* joined,
          std::vector<std::string>* errors) {
  *joined = Module();
  Linker linker(joined, errors);
  for (Module& module : modules) linker.Add(std::move(module));
  linker.Finish();
  return errors->empty();
}

}  // namespace holdfast::software::ptx
