// SPDX-License-Identifier: Apache-2.0
#include "core/software/lower/inline.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/software/lower/parameters.h"

namespace holdfast::software::lower {
namespace {

using ptx::Function;
using ptx::Instruction;
using ptx::Opcode;
using ptx::Operand;

constexpr size_t kMaxInstructions = size_t{1} << 20;
constexpr size_t kMaxDepth = 256;

Instruction Branch(uint32_t label) {
  Instruction branch;
  branch.form = ptx::MatchForm("bra", {}, &branch.modifiers);
  Operand target;
  target.kind = Operand::Kind::kLabel;
  target.index = label;
  branch.operands.push_back(target);
  return branch;
}

class Inliner {
 public:
  explicit Inliner(const ptx::Module& module) : module_(module) {}

  InlinedKernel Run(const Function& kernel) {
    result_ = kernel;
    result_.body.clear();
    result_.registers.clear();
    result_.variables.clear();
    result_.labels.clear();
    result_.branch_targets.clear();
    if (!Append(kernel, nullptr, nullptr)) {
      return {std::nullopt, error_, unsupported_};
    }
    return {std::move(result_)};
  }

 private:
  // How the names of one copy of a function are numbered in the result.
  struct Frame {
    uint32_t registers = 0;
    uint32_t labels = 0;
    std::vector<uint32_t> variables;
    uint32_t end = 0;  // label: where a return goes
  };

  bool Fail(const Instruction& at, absl::string_view reason) {
    error_ =
        absl::StrCat(at.location.line, ":", at.location.column, ": ", reason);
    return false;
  }

  uint32_t NewLabel() {
    result_.labels.emplace_back();
    return static_cast<uint32_t>(result_.labels.size()) - 1;
  }

  void PlaceLabel(uint32_t label) {
    result_.labels[label].instruction =
        static_cast<int64_t>(result_.body.size());
  }

  // Adds the names of `function`. The formals of a call are the variables that
  // the caller names.
  Frame Enter(const Function& function, const Instruction* call,
              const Frame* caller) {
    Frame frame;
    frame.registers = static_cast<uint32_t>(result_.registers.size());
    result_.registers.insert(result_.registers.end(),
                             function.registers.begin(),
                             function.registers.end());
    frame.labels = static_cast<uint32_t>(result_.labels.size());
    for (const ptx::Label& label : function.labels) {
      result_.labels.push_back(label);
      result_.labels.back().instruction = -1;
    }
    constexpr uint32_t kNew = UINT32_MAX;
    frame.variables.assign(function.variables.size(), kNew);
    if (call != nullptr) {
      Bind(function.results, *call, 0, *caller, &frame);
      Bind(function.parameters, *call, call->results + 1, *caller, &frame);
    }
    for (size_t i = 0; i < function.variables.size(); ++i) {
      if (frame.variables[i] != kNew) continue;
      frame.variables[i] = static_cast<uint32_t>(result_.variables.size());
      result_.variables.push_back(function.variables[i]);
    }
    return frame;
  }

  void Bind(const std::vector<Operand>& formals, const Instruction& call,
            size_t first, const Frame& caller, Frame* frame) {
    for (size_t i = 0; i < formals.size(); ++i) {
      const Operand& actual = call.operands[first + i];
      if (formals[i].kind == Operand::Kind::kLocalVariable &&
          actual.kind == Operand::Kind::kLocalVariable) {
        frame->variables[formals[i].index] = caller.variables[actual.index];
      }
    }
  }

  Operand Renamed(Operand operand, const Frame& frame) {
    switch (operand.kind) {
      case Operand::Kind::kRegister:
        operand.index += frame.registers;
        break;
      case Operand::Kind::kLabel:
        operand.index += frame.labels;
        break;
      case Operand::Kind::kLocalVariable:
        operand.index = frame.variables[operand.index];
        break;
      default:
        break;
    }
    for (Operand& element : operand.elements) {
      element = Renamed(std::move(element), frame);
    }
    return operand;
  }

  bool Append(const Function& function, const Instruction* call,
              const Frame* caller) {
    Frame frame = Enter(function, call, caller);
    frame.end = NewLabel();
    active_.push_back(&function);
    std::vector<std::pair<int64_t, uint32_t>> places;
    for (uint32_t i = 0; i < function.labels.size(); ++i) {
      places.emplace_back(function.labels[i].instruction, frame.labels + i);
    }
    std::sort(places.begin(), places.end());
    auto place = places.begin();
    for (size_t i = 0; i <= function.body.size(); ++i) {
      for (; place != places.end() && place->first == static_cast<int64_t>(i);
           ++place) {
        PlaceLabel(place->second);
      }
      if (i < function.body.size() &&
          !AppendInstruction(function.body[i], frame, caller != nullptr)) {
        return false;
      }
    }
    for (auto [label, targets] : function.branch_targets) {
      for (uint32_t& target : targets) target += frame.labels;
      result_.branch_targets.emplace_back(label + frame.labels,
                                          std::move(targets));
    }
    PlaceLabel(frame.end);
    active_.pop_back();
    return true;
  }

  bool AppendInstruction(const Instruction& instruction, const Frame& frame,
                         bool inlined) {
    if (result_.body.size() >= kMaxInstructions) {
      return Fail(instruction,
                  "the kernel grows beyond 1048576 instructions "
                  "when its calls are inlined");
    }
    if (instruction.opcode() == Opcode::kCall) {
      return AppendCall(instruction, frame);
    }
    Instruction copy = instruction;
    copy.guard = Renamed(copy.guard, frame);
    for (Operand& operand : copy.operands) {
      operand = Renamed(std::move(operand), frame);
    }
    if (instruction.opcode() == Opcode::kRet && inlined) {
      Instruction branch = Branch(frame.end);
      branch.guard = copy.guard;
      branch.location = copy.location;
      copy = std::move(branch);
    }
    result_.body.push_back(std::move(copy));
    return true;
  }

  bool AppendCall(const Instruction& call, const Frame& frame) {
    const Operand& target = call.operands[call.results];
    if (target.kind != Operand::Kind::kFunction) {
      unsupported_ = true;
      return Fail(call, "calls through a register are not supported");
    }
    const Function& callee = module_.functions[target.index];
    if (!callee.defined && IsRuntimeFunction(callee.name)) {
      Instruction copy = call;
      copy.guard = Renamed(copy.guard, frame);
      for (Operand& operand : copy.operands) {
        operand = Renamed(std::move(operand), frame);
      }
      result_.body.push_back(std::move(copy));
      return true;
    }
    if (!callee.defined) {
      return Fail(call, absl::StrCat("function ", callee.name,
                                     " is not defined in this module"));
    }
    if (std::find(active_.begin(), active_.end(), &callee) != active_.end()) {
      unsupported_ = true;
      return Fail(call, absl::StrCat("function ", callee.name,
                                     " calls itself; recursion is not "
                                     "supported"));
    }
    if (active_.size() >= kMaxDepth) return Fail(call, "calls nest too deep");
    if (call.results != callee.results.size() ||
        call.arguments != callee.parameters.size()) {
      return Fail(call,
                  absl::StrCat("function ", callee.name, " has ",
                               callee.parameters.size(), " parameters and ",
                               callee.results.size(), " results"));
    }
    return AppendBody(callee, call, frame);
  }

  bool AppendBody(const Function& callee, const Instruction& call,
                  const Frame& frame) {
    uint32_t around = 0;
    const bool guarded = call.guard.kind != Operand::Kind::kNone;
    if (guarded) {
      around = NewLabel();
      Instruction skip = Branch(around);
      skip.guard = Renamed(call.guard, frame);
      skip.guard.negated = !skip.guard.negated;
      skip.location = call.location;
      result_.body.push_back(std::move(skip));
    }
    if (!Append(callee, &call, &frame)) return false;
    if (guarded) PlaceLabel(around);
    return true;
  }

  const ptx::Module& module_;
  std::string error_;
  bool unsupported_ = false;
  Function result_;
  std::vector<const Function*> active_;
};

// Gives extended precision its carry, as one more register.
void PlaceCarry(Function* function) {
  uint32_t carry = ptx::kNoRegister;
  for (Instruction& instruction : function->body) {
    const Opcode opcode = instruction.opcode();
    if (!instruction.modifiers.Has(ptx::Modifier::kCc) &&
        opcode != Opcode::kAddc && opcode != Opcode::kSubc &&
        opcode != Opcode::kMadc) {
      continue;
    }
    if (carry == ptx::kNoRegister) {
      carry = static_cast<uint32_t>(function->registers.size());
      function->registers.push_back({"%CC", ptx::Type::kPred});
    }
    instruction.carry = carry;
  }
}

}  // namespace

bool IsRuntimeFunction(absl::string_view name) {
  return name == "vprintf" || name == "malloc" || name == "free" ||
         name == "__assertfail";
}

InlinedKernel InlineCalls(const ptx::Module& module, const Function& kernel) {
  InlinedKernel result = Inliner(module).Run(kernel);
  if (!result.function && result.unsupported) {
    result.function = kernel;
    result.function->body.clear();
    result.function->labels.clear();
    result.function->branch_targets.clear();
  }
  if (result.function) {
    PlaceParameters(&*result.function);
    PlaceCarry(&*result.function);
  }
  return result;
}

}  // namespace holdfast::software::lower
