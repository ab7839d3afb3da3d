// SPDX-License-Identifier: Apache-2.0
//
// Functions are copied in place of their calls until no call is left but those
// of the runtime. Registers, labels and variables of each copy get numbers
// behind those of the caller. A function that calls itself, or is called
// through a register, cannot be copied, and some are called too often
// (analysis/repeated_calls.h); transform/outlined_calls.h puts them into the
// kernel once.
#include "core/software/transform/inline.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/software/analysis/call_graph.h"
#include "core/software/analysis/repeated_calls.h"
#include "core/software/transform/constant_propagation.h"
#include "core/software/transform/instruction_builder.h"
#include "core/software/transform/outlined_calls.h"
#include "core/software/transform/parameter_promotion.h"

namespace holdfast::software::transform {
namespace {

using analysis::FunctionAddress;
using analysis::OutlinedFunctions;
using analysis::RepeatedFunctions;

using ptx::Function;
using ptx::Instruction;
using ptx::Modifier;
using ptx::Opcode;
using ptx::Operand;
using ptx::Space;

constexpr size_t kMaxInstructions = size_t{1} << 20;
constexpr size_t kMaxDepth = 256;

bool IsFormal(const Function& function, uint32_t variable) {
  const auto is_it = [&](const Operand& formal) {
    return formal.kind == Operand::Kind::kLocalVariable &&
           formal.index == variable;
  };
  return std::any_of(function.parameters.begin(), function.parameters.end(),
                     is_it) ||
         std::any_of(function.results.begin(), function.results.end(), is_it);
}

// In a device function, addresses of its parameters and results are local ones,
// and a register that an access of .param goes through holds such an address.
void ParametersToLocal(Instruction* instruction) {
  const bool access = instruction->opcode() == Opcode::kLd ||
                      instruction->opcode() == Opcode::kSt;
  const auto through_register = [](const Operand& operand) {
    return operand.kind == Operand::Kind::kRegister && operand.memory;
  };
  if (!access || std::none_of(instruction->operands.begin(),
                              instruction->operands.end(), through_register)) {
    return;
  }
  for (Modifier& word : instruction->modifiers.words) {
    if (word == Modifier::kParam || word == Modifier::kParamFunc) {
      word = Modifier::kLocal;
    }
  }
}

// Builds the result instruction by instruction: `Frame` has where the names of
// the copy at hand begin, and Renamed() adds it to each operand. The address of
// a function becomes the number that stands for it.
class Inliner {
 public:
  // `outlined`: functions whose calls stay.
  Inliner(const ptx::Module& module, const std::vector<bool>& outlined)
      : module_(module), outlined_(outlined), b_(&result_) {}

  InlinedKernel Run(const Function& kernel) {
    result_ = kernel;
    result_.body.clear();
    result_.registers.clear();
    result_.variables.clear();
    result_.labels.clear();
    result_.branch_targets.clear();
    if (!Append(kernel, nullptr, nullptr)) {
      return {std::nullopt, error_};
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

  // Adds the names of `function`. The formals of a call are the variables that
  // the caller names.
  // Formals that are bound to variables of the caller need none of their own.
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

  // PTX passes most values in .param variables. The callee's formal is bound to
  // the variable that the caller has stored to, so that nothing is copied.
  // Registers and constants are moved (MoveAll).
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

  // Moves the values that a call passes in registers or as constants: to the
  // formals of the copy, or from its results.
  bool MoveAll(const Function& function, const Instruction& call,
               const Frame& caller, const Frame& frame, bool results) {
    const std::vector<Operand>& formals =
        results ? function.results : function.parameters;
    const size_t first = results ? 0 : call.results + 1;
    for (size_t i = 0; i < formals.size(); ++i) {
      const Operand& actual = call.operands[first + i];
      if (actual.kind == Operand::Kind::kSink) continue;
      Operand to = Renamed(formals[i], frame);
      Operand from = Renamed(actual, caller);
      if (results) std::swap(to, from);
      if (!Move(to, from)) {
        return Fail(call, "a parameter of the call has another size");
      }
    }
    return true;
  }

  // Between a register and a .param variable, or between registers; `from` may
  // be a constant. Two variables are one (Bind).
  bool Move(Operand to, Operand from) {
    const bool to_variable = to.kind == Operand::Kind::kLocalVariable;
    const bool from_variable = from.kind == Operand::Kind::kLocalVariable;
    if (to_variable && from_variable) return true;
    if (!to_variable && !from_variable) {
      const std::string type = NameOf(result_.registers[to.index].type);
      if (type.empty() ||
          !HasBytes(from, ptx::BytesOf(result_.registers[to.index].type))) {
        return false;
      }
      b_.Add(absl::StrCat("mov.", type), {std::move(to), std::move(from)});
      return true;
    }
    const Operand& place = to_variable ? to : from;
    const ptx::Variable& variable = result_.variables[place.index];
    const std::string type = NameOf(variable.type);
    const int bytes = ptx::BytesOf(variable.type);
    if (type.empty() || variable.bytes != static_cast<uint64_t>(bytes) ||
        !HasBytes(to_variable ? from : to, bytes)) {
      return false;
    }
    Operand memory = VariableOperand(place.index, 0);
    if (to_variable) {
      b_.Add(absl::StrCat("st.param.", type), {std::move(memory), from});
    } else {
      b_.Add(absl::StrCat("ld.param.", type), {to, std::move(memory)});
    }
    return true;
  }

  // Returns true if the operand is a register of this size, or no register.
  bool HasBytes(const Operand& operand, int bytes) const {
    return operand.kind != Operand::Kind::kRegister ||
           ptx::BytesOf(result_.registers[operand.index].type) == bytes;
  }

  // The type of a move of such a value; empty: there is no such move.
  static std::string NameOf(ptx::Type type) {
    if (type == ptx::Type::kPred) return "pred";
    if (type == ptx::Type::kF32 || type == ptx::Type::kF64) {
      return std::string(ptx::SpellingOf(type));
    }
    const int bytes = ptx::BytesOf(type);
    return bytes == 2 || bytes == 4 || bytes == 8 ? absl::StrCat("b", 8 * bytes)
                                                  : std::string();
  }

  // A call that stays passes the constants that it names in registers, which
  // have a size.
  bool NameConstants(const Function* callee, const Frame& frame,
                     Instruction* call) {
    for (size_t i = call->results + 1; i < call->operands.size(); ++i) {
      Operand& actual = call->operands[i];
      if (actual.kind != Operand::Kind::kInteger &&
          actual.kind != Operand::Kind::kFloat32 &&
          actual.kind != Operand::Kind::kFloat64) {
        continue;
      }
      if (callee == nullptr) {
        return Fail(*call, "a call through a register passes no constants");
      }
      const Operand& formal = callee->parameters[i - call->results - 1];
      const ptx::Type type = formal.kind == Operand::Kind::kRegister
                                 ? callee->registers[formal.index].type
                                 : callee->variables[formal.index].type;
      const uint32_t value = b_.NewRegister("passed", type);
      if (!Move(RegisterOperand(value), actual)) {
        return Fail(*call, "a parameter of the call has another size");
      }
      actual = RegisterOperand(value - frame.registers);
    }
    return true;
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
      case Operand::Kind::kFunction:
        return IntegerOperand(FunctionAddress(operand.index));
      default:
        break;
    }
    for (Operand& element : operand.elements) {
      element = Renamed(std::move(element), frame);
    }
    return operand;
  }

  // Copies the body of `function` behind what there is, and calls itself for
  // the calls in it. A return becomes a branch to the label at the end of the
  // copy. `active_` is the chain of functions that are being copied, whose
  // length is bounded; a cycle cannot come up, since its functions are
  // outlined.
  bool Append(const Function& function, const Instruction* call,
              const Frame* caller) {
    Frame frame = Enter(function, call, caller);
    if (call != nullptr &&
        !MoveAll(function, *call, *caller, frame, /*results=*/false)) {
      return false;
    }
    frame.end = b_.NewLabel();
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
        b_.Place(place->second);
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
    b_.Place(frame.end);
    active_.pop_back();
    return call == nullptr ||
           MoveAll(function, *call, *caller, frame, /*results=*/true);
  }

  bool AppendInstruction(const Instruction& instruction, const Frame& frame,
                         bool inlined) {
    if (result_.body.size() >= kMaxInstructions) {
      return Fail(instruction,
                  "the kernel grows beyond 1048576 instructions "
                  "when its calls are inlined");
    }
    b_.At(instruction);
    if (instruction.opcode() == Opcode::kCall) {
      return AppendCall(instruction, frame);
    }
    if (instruction.opcode() == Opcode::kBrx) {
      return AppendBranchTable(instruction, frame);
    }
    if (instruction.opcode() == Opcode::kRet && inlined) {
      b_.Branch(frame.end);
      result_.body.back().guard = Renamed(instruction.guard, frame);
      return true;
    }
    if (TakesAddressOfActual(instruction)) {
      return Fail(instruction,
                  "the address of a parameter of a call cannot be taken");
    }
    AppendCopy(instruction, frame);
    return true;
  }

  // Of a .param variable that the function declares to pass it to others.
  bool TakesAddressOfActual(const Instruction& instruction) const {
    if (instruction.opcode() == Opcode::kCall) return false;
    const Function& function = *active_.back();
    return std::any_of(instruction.operands.begin(), instruction.operands.end(),
                       [&](const Operand& operand) {
                         return operand.kind == Operand::Kind::kLocalVariable &&
                                !operand.memory &&
                                function.variables[operand.index].space ==
                                    Space::kParam &&
                                !IsFormal(function, operand.index);
                       });
  }

  void AppendCopy(const Instruction& instruction, const Frame& frame) {
    Instruction copy = instruction;
    if (!active_.back()->kernel) ParametersToLocal(&copy);
    copy.guard = Renamed(copy.guard, frame);
    for (size_t i = 0; i < copy.operands.size(); ++i) {
      Operand& operand = copy.operands[i];
      const bool callee = copy.opcode() == Opcode::kCall && i == copy.results &&
                          operand.kind == Operand::Kind::kFunction;
      if (!callee) operand = Renamed(std::move(operand), frame);
    }
    result_.body.push_back(std::move(copy));
  }

  // Branches by comparison. A value that is not in the table goes to its end.
  bool AppendBranchTable(const Instruction& branch, const Frame& frame) {
    const Function& function = *active_.back();
    const uint32_t table = branch.operands[1].index;
    const auto found = std::find_if(
        function.branch_targets.begin(), function.branch_targets.end(),
        [&](const auto& entry) { return entry.first == table; });
    if (found == function.branch_targets.end()) {
      return Fail(branch, "brx needs a list of .branchtargets");
    }
    const uint32_t around = b_.NewLabel();
    SkipUnless(branch, frame, around);
    const Operand by = Renamed(branch.operands[0], frame);
    const uint32_t value = b_.NewRegister("index", ptx::Type::kU32);
    b_.Add("mov.b32", {RegisterOperand(value), by});
    std::vector<std::pair<uint32_t, uint32_t>> labels;
    for (const uint32_t target : found->second) {
      labels.emplace_back(static_cast<uint32_t>(labels.size()),
                          target + frame.labels);
    }
    b_.Switch(value, labels);
    b_.Place(around);
    return true;
  }

  // Past what a guarded instruction becomes.
  void SkipUnless(const Instruction& instruction, const Frame& frame,
                  uint32_t around) {
    if (instruction.guard.kind == Operand::Kind::kNone) return;
    const Operand guard = Renamed(instruction.guard, frame);
    b_.BranchIf(guard.index, guard.negated, around);
  }

  // Left as calls: those through registers, those of the runtime, and those of
  // outlined functions. Everything else is copied, or is an error of the
  // program.
  bool AppendCall(const Instruction& call, const Frame& frame) {
    const Operand& target = call.operands[call.results];
    if (target.kind != Operand::Kind::kFunction) {
      return AppendKept(nullptr, call, frame);
    }
    const Function& callee = module_.functions[target.index];
    if (!callee.defined && IsRuntimeFunction(callee.name)) {
      AppendCopy(call, frame);
      return true;
    }
    if (!callee.defined) {
      return Fail(call, absl::StrCat("function ", callee.name,
                                     " is not defined in this module"));
    }
    if (active_.size() >= kMaxDepth) return Fail(call, "calls nest too deep");
    if (call.results != callee.results.size() ||
        call.arguments != callee.parameters.size()) {
      return Fail(call,
                  absl::StrCat("function ", callee.name, " has ",
                               callee.parameters.size(), " parameters and ",
                               callee.results.size(), " results"));
    }
    if (outlined_[target.index]) return AppendKept(&callee, call, frame);
    return AppendBody(callee, call, frame);
  }

  // `callee` is null if the call goes through a register.
  bool AppendKept(const Function* callee, const Instruction& call,
                  const Frame& frame) {
    Instruction kept = call;
    if (!NameConstants(callee, frame, &kept)) return false;
    AppendCopy(kept, frame);
    return true;
  }

  bool AppendBody(const Function& callee, const Instruction& call,
                  const Frame& frame) {
    const uint32_t around = b_.NewLabel();
    SkipUnless(call, frame, around);
    if (!Append(callee, &call, &frame)) return false;
    b_.Place(around);
    return true;
  }

  const ptx::Module& module_;
  const std::vector<bool>& outlined_;
  std::string error_;
  Function result_;
  Builder b_;
  std::vector<const Function*> active_;
};

// Gives extended precision its carry, as one more register.
// PTX's condition code is one for a thread; in the body of an inlined kernel
// all functions share it.
void PlaceCarry(Function* function) {
  uint32_t carry = ptx::kNoRegister;
  for (Instruction& instruction : function->body) {
    const Opcode opcode = instruction.opcode();
    if (!instruction.modifiers.Has(Modifier::kCc) && opcode != Opcode::kAddc &&
        opcode != Opcode::kSubc && opcode != Opcode::kMadc) {
      continue;
    }
    if (carry == ptx::kNoRegister) {
      carry = static_cast<uint32_t>(function->registers.size());
      function->registers.push_back({"%CC", ptx::Type::kPred});
    }
    instruction.carry = carry;
  }
}

bool CallsThroughRegisters(const Function& function) {
  return std::any_of(function.body.begin(), function.body.end(),
                     [](const Instruction& instruction) {
                       return instruction.opcode() == Opcode::kCall &&
                              instruction.operands[instruction.results].kind !=
                                  Operand::Kind::kFunction;
                     });
}

// Why the kernel cannot run here, by what it or a function that it may call is
// written with; empty: it can.
std::string UnservedReason(const ptx::Module& module, const Function& kernel) {
  if (!kernel.unserved.empty()) return kernel.unserved;
  const bool any = std::any_of(
      module.functions.begin(), module.functions.end(),
      [](const Function& f) { return !f.kernel && !f.unserved.empty(); });
  if (!any) return "";
  const std::vector<bool> reached = analysis::ReachedFunctions(module, kernel);
  for (size_t i = 0; i < reached.size(); ++i) {
    if (reached[i] && !module.functions[i].unserved.empty()) {
      return absl::StrCat(module.functions[i].unserved, ", in function ",
                          module.functions[i].name);
    }
  }
  return "";
}

InlinedKernel Unsupported(const Function& kernel, std::string reason) {
  InlinedKernel result;
  result.function = kernel;
  result.function->body.clear();
  result.function->labels.clear();
  result.function->branch_targets.clear();
  result.error = std::move(reason);
  result.unsupported = true;
  return result;
}

}  // namespace

bool IsRuntimeFunction(absl::string_view name) {
  return name == "vprintf" || name == "malloc" || name == "free" ||
         name == "__assertfail" || name == "cudaGraphSetConditional";
}

// Outlined functions have their own calls inlined first, then all are joined
// with the kernel. The other passes come last, when the whole body is there:
// parameters into registers, carries, constants.
InlinedKernel InlineCalls(const ptx::Module& module, const Function& kernel,
                          uint64_t stack_bytes) {
  if (std::string reason = UnservedReason(module, kernel); !reason.empty()) {
    return Unsupported(kernel, std::move(reason));
  }
  std::vector<bool> is_outlined = OutlinedFunctions(module, kernel);
  const std::vector<bool> repeated =
      RepeatedFunctions(module, kernel, is_outlined);
  std::transform(repeated.begin(), repeated.end(), is_outlined.begin(),
                 is_outlined.begin(), std::logical_or<>());
  InlinedKernel result = Inliner(module, is_outlined).Run(kernel);
  if (!result.function) return result;
  std::map<uint32_t, Function> outlined;
  for (uint32_t i = 0; i < is_outlined.size(); ++i) {
    if (!is_outlined[i]) continue;
    InlinedKernel function =
        Inliner(module, is_outlined).Run(module.functions[i]);
    if (!function.function) return function;
    outlined[i] = *std::move(function.function);
  }
  if (!outlined.empty() || CallsThroughRegisters(*result.function)) {
    std::string error;
    Function joined = JoinOutlinedFunctions(module, *result.function, outlined,
                                            repeated, stack_bytes, &error);
    result.has_stack = true;
    if (!error.empty()) return Unsupported(kernel, std::move(error));
    result.function = std::move(joined);
  }
  PromoteParameters(&*result.function);
  PlaceCarry(&*result.function);
  PropagateConstants(&*result.function);
  return result;
}

}  // namespace holdfast::software::transform
