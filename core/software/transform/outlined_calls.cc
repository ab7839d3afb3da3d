// SPDX-License-Identifier: Apache-2.0
//
// The result is one function whose flow graph has every outlined function once:
//
//         frame = start of the stack
//         branch begin
// F:      code of F; ret -> F.leave        for each outlined function
// begin:  code of the kernel; exit
// dispatch: branch to the function whose address is in `target`
// F.leave: results to the frame; branch to the site of the number there
//
// A call of F from a function whose frame has n bytes:
//
//         trap if the stack has no room left
//         arguments    -> [frame + n + their places]
//         site number  -> [frame + n]
//         live registers -> save area of the own frame
//         frame += n; branch F
// site:   frame -= n
//         save area    -> registers; results -> registers
//
// Frames lie in local memory, at addresses that a kernel can compute, so that
// code must not trust what it reads there: a return compares the number of the
// site with those that there are (Builder::Switch) and ends up at one of them.
#include "core/software/transform/outlined_calls.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/software/analysis/call_graph.h"
#include "core/software/lower/kernel.h"
#include "core/software/transform/call_frame.h"
#include "core/software/transform/instruction_builder.h"

namespace holdfast::software::transform {
namespace {

using analysis::AddressedFunctions;
using analysis::kFunctionAddresses;
using lower::kFunctionTrap;
using lower::kStackTrap;

using ptx::Function;
using ptx::Instruction;
using ptx::Modifier;
using ptx::Opcode;
using ptx::Operand;
using ptx::Space;
using ptx::Type;

std::string BitsType(uint64_t bytes) { return absl::StrCat("b", 8 * bytes); }

// Registers, labels and variables of all functions are renumbered one behind
// the other (Copy): there is one set of registers, so that a function which is
// active twice must save them.
class Joiner {
 public:
  Joiner(const ptx::Module& module, const Function& kernel,
         const std::map<uint32_t, Function>& outlined,
         const std::vector<bool>& repeated, uint64_t stack_bytes,
         std::string* error)
      : module_(module),
        outlined_(outlined),
        repeated_(repeated),
        stack_bytes_(stack_bytes),
        error_(*error),
        b_(&result_) {
    result_ = kernel;
    result_.body.clear();
    result_.registers.clear();
    result_.labels.clear();
    result_.branch_targets.clear();
    result_.variables.clear();
  }

  Function Run(const Function& kernel) {
    // The parameters of the kernel keep their numbers.
    const Copy main = Enter(kernel, nullptr);
    frame_ = b_.NewRegister("frame", Type::kU64);
    target_ = b_.NewRegister("target", Type::kU64);
    stack_ = static_cast<uint32_t>(result_.variables.size());
    ptx::Variable stack;
    stack.name = "stack";
    stack.space = Space::kLocal;
    stack.type = Type::kB8;
    stack.alignment = 16;
    result_.variables.push_back(stack);
    for (const auto& [index, function] : outlined_) {
      Outlined& outlined = places_[index];
      outlined.interface = InterfaceOf(function);
      outlined.entry = b_.NewLabel();
      outlined.leave = b_.NewLabel();
      outlined.copy = Enter(function, &outlined);
      largest_ = std::max(largest_, outlined.layout_size);
    }
    AddRoomForRepeated();
    result_.variables[stack_].bytes = stack_bytes_;
    const uint32_t begin = b_.NewLabel();
    dispatch_ = b_.NewLabel();
    Operand base = VariableOperand(stack_, 0);
    base.memory = false;
    b_.Add("mov.u64", {RegisterOperand(frame_), base});
    b_.Branch(begin);
    for (const auto& [index, function] : outlined_) {
      b_.Place(places_[index].entry);
      Append(function, places_[index].copy, &places_[index]);
    }
    b_.Place(begin);
    Append(kernel, main, nullptr);
    b_.Add("exit", {});
    Dispatch();
    for (auto& [index, outlined] : places_) {
      Return(outlined_.at(index), outlined);
    }
    return std::move(result_);
  }

 private:
  // How the names of a function are numbered in the result.
  struct Copy {
    uint32_t registers = 0;
    uint32_t labels = 0;
    std::vector<uint32_t> variables;
    std::map<uint32_t, uint64_t> in_frame;  // variables: their offsets
    std::map<size_t, std::vector<uint32_t>> saves;
    uint64_t save_area = 0;
    uint64_t frame_bytes = 0;
  };
  struct Outlined {
    CallInterface interface;
    uint32_t entry = 0;
    uint32_t leave = 0;
    Copy copy;
    uint64_t layout_size = 0;
    std::vector<std::pair<uint32_t, uint32_t>> sites;  // number, label
  };

  // No thread is in a repeated function twice, but for recursions that call
  // it. CheckStack() asks for the largest frame behind the last one.
  void AddRoomForRepeated() {
    uint64_t bytes = 0;
    for (const auto& [index, outlined] : places_) {
      if (repeated_[index]) bytes += outlined.layout_size;
    }
    if (bytes == 0) return;
    constexpr uint64_t kAlignment = 16;
    stack_bytes_ += (bytes + largest_ + kAlignment - 1) & ~(kAlignment - 1);
  }

  Copy Enter(const Function& function, Outlined* outlined) {
    Copy copy;
    copy.registers = static_cast<uint32_t>(result_.registers.size());
    copy.labels = static_cast<uint32_t>(result_.labels.size());
    result_.registers.insert(result_.registers.end(),
                             function.registers.begin(),
                             function.registers.end());
    for (const ptx::Label& label : function.labels) {
      result_.labels.push_back(label);
      result_.labels.back().instruction = -1;
    }
    for (const ptx::Variable& variable : function.variables) {
      copy.variables.push_back(static_cast<uint32_t>(result_.variables.size()));
      result_.variables.push_back(variable);
    }
    if (outlined != nullptr) LayOut(function, &copy, outlined);
    return copy;
  }

  // caller | parameters | results | local variables | save area. Parameters and
  // results come first, since a caller knows them from the signature alone,
  // also when it calls through a register.
  void LayOut(const Function& function, Copy* copy, Outlined* outlined) {
    const auto formals = [&](const std::vector<Operand>& list,
                             const std::vector<Passed>& places) {
      for (size_t i = 0; i < list.size(); ++i) {
        if (list[i].kind == Operand::Kind::kLocalVariable) {
          copy->in_frame[list[i].index] = places[i].offset;
        }
      }
    };
    formals(function.parameters, outlined->interface.parameters);
    formals(function.results, outlined->interface.results);
    FrameLayout layout = outlined->interface.layout;
    for (uint32_t i = 0; i < function.variables.size(); ++i) {
      const ptx::Variable& variable = function.variables[i];
      if (variable.space != Space::kLocal) continue;
      copy->in_frame[i] = layout.Place(variable.bytes, variable.alignment);
    }
    // Variables in frames need no place of their own.
    for (const auto& [variable, offset] : copy->in_frame) {
      result_.variables[copy->variables[variable]].space = Space::kRegister;
    }
    copy->saves = LiveAcrossCalls(module_, function);
    size_t most = 0;
    for (const auto& [at, registers] : copy->saves) {
      most = std::max(most, registers.size());
    }
    copy->save_area = layout.Place(8 * most, 8);
    copy->frame_bytes = layout.size();
    outlined->layout_size = layout.size();
  }

  // Copies a body, with calls and returns replaced. A label stands in front of
  // an instruction by its index, so labels are placed as the copy comes by.
  void Append(const Function& function, const Copy& copy, Outlined* outlined) {
    std::vector<std::pair<int64_t, uint32_t>> places;
    for (uint32_t i = 0; i < function.labels.size(); ++i) {
      places.emplace_back(function.labels[i].instruction, copy.labels + i);
    }
    std::sort(places.begin(), places.end());
    auto place = places.begin();
    if (outlined != nullptr) {
      MoveFormals(function.parameters, outlined->interface.parameters, copy,
                  true);
    }
    for (size_t i = 0; i <= function.body.size(); ++i) {
      for (; place != places.end() && place->first == static_cast<int64_t>(i);
           ++place) {
        b_.Place(place->second);
      }
      if (i == function.body.size()) break;
      const Instruction& instruction = function.body[i];
      b_.At(instruction);
      if (IsOutlinedCall(instruction, module_)) {
        Call(function, instruction, copy, i);
      } else if (outlined != nullptr && instruction.opcode() == Opcode::kRet) {
        b_.Branch(outlined->leave);
        result_.body.back().guard = Renamed(instruction.guard, copy);
      } else {
        Keep(instruction, copy);
      }
    }
    if (outlined != nullptr) b_.Branch(outlined->leave);
  }

  Operand Renamed(Operand operand, const Copy& copy) {
    switch (operand.kind) {
      case Operand::Kind::kRegister:
        operand.index += copy.registers;
        break;
      case Operand::Kind::kLabel:
        operand.index += copy.labels;
        break;
      case Operand::Kind::kLocalVariable:
        operand.index = copy.variables[operand.index];
        break;
      default:
        break;
    }
    for (Operand& element : operand.elements) {
      element = Renamed(std::move(element), copy);
    }
    return operand;
  }

  // An instruction as it is, but for variables in the frame.
  void Keep(const Instruction& instruction, const Copy& copy) {
    Instruction kept = instruction;
    kept.guard = Renamed(kept.guard, copy);
    for (Operand& operand : kept.operands) {
      const auto place = operand.kind == Operand::Kind::kLocalVariable
                             ? copy.in_frame.find(operand.index)
                             : copy.in_frame.end();
      if (place == copy.in_frame.end()) {
        operand = Renamed(std::move(operand), copy);
        continue;
      }
      const auto offset = operand.offset + static_cast<int64_t>(place->second);
      if (operand.memory) {
        operand = MemoryOperand(frame_, offset);
        for (Modifier& word : kept.modifiers.words) {
          if (word == Modifier::kParam || word == Modifier::kParamFunc) {
            word = Modifier::kLocal;
          }
        }
        continue;
      }
      const uint32_t address = b_.NewRegister("address", Type::kU64);
      b_.Add("add.u64", {RegisterOperand(address), RegisterOperand(frame_),
                         IntegerOperand(static_cast<uint64_t>(offset))});
      operand = RegisterOperand(address);
    }
    result_.body.push_back(std::move(kept));
  }

  // A register to or from the frame. Predicates go as numbers.
  void Move(uint32_t index, int64_t offset, bool load) {
    const Type type = result_.registers[index].type;
    const Operand place = MemoryOperand(frame_, offset);
    if (type != Type::kPred) {
      const std::string words = absl::StrCat(
          ".local.", BitsType(static_cast<uint64_t>(ptx::BytesOf(type))));
      if (load) {
        b_.Add("ld" + words, {RegisterOperand(index), place});
      } else {
        b_.Add("st" + words, {place, RegisterOperand(index)});
      }
      return;
    }
    const uint32_t number = b_.NewRegister("number", Type::kU32);
    if (load) {
      b_.Add("ld.local.b32", {RegisterOperand(number), place});
      b_.Add("setp.ne.u32", {RegisterOperand(index), RegisterOperand(number),
                             IntegerOperand(0)});
    } else {
      b_.Add("selp.u32", {RegisterOperand(number), IntegerOperand(1),
                          IntegerOperand(0), RegisterOperand(index)});
      b_.Add("st.local.b32", {place, RegisterOperand(number)});
    }
  }

  // Formals that are registers.
  void MoveFormals(const std::vector<Operand>& formals,
                   const std::vector<Passed>& places, const Copy& copy,
                   bool load) {
    for (size_t i = 0; i < formals.size(); ++i) {
      if (formals[i].kind != Operand::Kind::kRegister) continue;
      Move(formals[i].index + copy.registers,
           static_cast<int64_t>(places[i].offset), load);
    }
  }

  // Moves a value that a call passes to or from the frame of the callee.
  // A .param variable goes in pieces of at most 8 bytes, as its alignment
  // allows; a constant as 64 bits.
  void MoveActual(const Operand& actual, const Copy& copy, const Passed& passed,
                  uint64_t frame_bytes, bool load) {
    const auto base = static_cast<int64_t>(frame_bytes + passed.offset);
    if (actual.kind == Operand::Kind::kRegister) {
      return Move(actual.index + copy.registers, base, load);
    }
    if (actual.kind != Operand::Kind::kLocalVariable) {
      if (!load) {
        b_.Add("st.local.b64", {MemoryOperand(frame_, base), actual});
      }
      return;
    }
    const uint32_t index = copy.variables[actual.index];
    for (uint64_t at = 0; at < passed.bytes;) {
      uint64_t piece =
          std::clamp<uint64_t>(passed.alignment, 1, sizeof(uint64_t));
      while (piece > passed.bytes - at) piece /= 2;
      const auto offset = static_cast<int64_t>(at);
      MovePiece(piece, VariableOperand(index, offset),
                MemoryOperand(frame_, base + offset), load);
      at += piece;
    }
  }

  // Between a .param variable and the frame of the callee.
  void MovePiece(uint64_t bytes, const Operand& variable, const Operand& place,
                 bool load) {
    const std::string type = BitsType(bytes);
    const uint32_t value = b_.NewRegister("passed", bytes == 8   ? Type::kB64
                                                    : bytes == 4 ? Type::kB32
                                                                 : Type::kB16);
    if (load) {
      b_.Add("ld.local." + type, {RegisterOperand(value), place});
      b_.Add("st.param." + type, {variable, RegisterOperand(value)});
    } else {
      b_.Add("ld.param." + type, {RegisterOperand(value), variable});
      b_.Add("st.local." + type, {place, RegisterOperand(value)});
    }
  }

  // See the head of this file. The guard of a call becomes a branch around all
  // of it.
  void Call(const Function& caller, const Instruction& call, const Copy& copy,
            size_t at) {
    const uint32_t after = b_.NewLabel();
    if (call.guard.kind != Operand::Kind::kNone) {
      const Operand guard = Renamed(call.guard, copy);
      b_.BranchIf(guard.index, guard.negated, after);
    }
    const Operand& target = call.operands[call.results];
    const bool direct = target.kind == Operand::Kind::kFunction;
    const CallInterface interface =
        direct ? places_.at(target.index).interface : InterfaceOf(caller, call);
    CheckStack(copy.frame_bytes + interface.layout.size());
    if (!direct) CheckFunction(Renamed(target, copy));
    for (size_t i = 0; i < interface.parameters.size(); ++i) {
      MoveActual(call.operands[call.results + 1 + i], copy,
                 interface.parameters[i], copy.frame_bytes, false);
    }
    const uint32_t number = sites_++;
    const uint32_t site = b_.NewLabel();
    b_.Add("st.local.b32",
           {MemoryOperand(frame_, static_cast<int64_t>(copy.frame_bytes)),
            IntegerOperand(number)});
    MoveSaved(copy, at, false);
    const auto step = [&](const char* text) {
      if (copy.frame_bytes == 0) return;
      b_.Add(text, {RegisterOperand(frame_), RegisterOperand(frame_),
                    IntegerOperand(copy.frame_bytes)});
    };
    step("add.u64");
    if (direct) {
      places_.at(target.index).sites.emplace_back(number, site);
      b_.Branch(places_.at(target.index).entry);
    } else {
      any_site_.emplace_back(number, site);
      b_.Add("mov.b64", {RegisterOperand(target_), Renamed(target, copy)});
      b_.Branch(dispatch_);
    }
    b_.Place(site);
    step("sub.u64");
    MoveSaved(copy, at, true);
    for (size_t i = 0; i < interface.results.size(); ++i) {
      MoveActual(call.operands[i], copy, interface.results[i], copy.frame_bytes,
                 true);
    }
    b_.Place(after);
  }

  // Registers that are live across the call at instruction `at`, each in 8
  // bytes of the save area.
  void MoveSaved(const Copy& copy, size_t at, bool load) {
    const auto saved = copy.saves.find(at);
    if (saved == copy.saves.end()) return;
    uint64_t offset = copy.save_area;
    for (const uint32_t r : saved->second) {
      Move(r + copy.registers, static_cast<int64_t>(offset), load);
      offset += 8;
    }
  }

  // Is there room for the largest frame behind `bytes` more?
  // The callee's frame is taken to be the largest of all, so that a call needs
  // no other test. A thread that overflows its stack traps instead of writing
  // into another thread's.
  void CheckStack(uint64_t bytes) {
    const uint64_t need = bytes + largest_;
    if (need > stack_bytes_) {
      error_ = absl::StrCat(
          "functions that are called through registers or "
          "call themselves need ",
          need, " bytes of stack; there are ", stack_bytes_);
      return;
    }
    const uint32_t base = b_.NewRegister("base", Type::kU64);
    const uint32_t used = b_.NewRegister("used", Type::kU64);
    const uint32_t full = b_.NewRegister("full", Type::kPred);
    Operand stack = VariableOperand(stack_, 0);
    stack.memory = false;
    b_.Add("mov.u64", {RegisterOperand(base), stack});
    b_.Add("sub.u64", {RegisterOperand(used), RegisterOperand(frame_),
                       RegisterOperand(base)});
    b_.Add("setp.gt.u64", {RegisterOperand(full), RegisterOperand(used),
                           IntegerOperand(stack_bytes_ - need)});
    Instruction& trap = b_.Add("trap", {IntegerOperand(kStackTrap)});
    trap.guard = RegisterOperand(full);
  }

  // A call through a register that holds nothing of the kind.
  void CheckFunction(const Operand& target) {
    const uint32_t offset = b_.NewRegister("offset", Type::kU64);
    const uint32_t wrong = b_.NewRegister("wrong", Type::kPred);
    b_.Add("sub.u64", {RegisterOperand(offset), target,
                       IntegerOperand(kFunctionAddresses)});
    b_.Add("setp.ge.u64",
           {RegisterOperand(wrong), RegisterOperand(offset),
            IntegerOperand(uint64_t{module_.functions.size()} * 16)});
    Instruction& trap = b_.Add("trap", {IntegerOperand(kFunctionTrap)});
    trap.guard = RegisterOperand(wrong);
  }

  // Where calls through registers go.
  // By the number of the function, (address - kFunctionAddresses) / 16, among
  // those whose addresses are taken. Numbers between them lead to the trap.
  void Dispatch() {
    b_.Place(dispatch_);
    const std::vector<bool> addressed = AddressedFunctions(module_);
    std::vector<std::pair<uint32_t, uint32_t>> entries;
    const uint32_t bad = b_.NewLabel();
    uint32_t next = 0;
    for (const auto& [index, outlined] : places_) {
      if (!addressed[index]) continue;
      if (index > next) entries.emplace_back(next, bad);
      entries.emplace_back(index, outlined.entry);
      next = index + 1;
    }
    if (!any_site_.empty()) {
      const uint32_t offset = b_.NewRegister("offset", Type::kU64);
      const uint32_t index = b_.NewRegister("index", Type::kU32);
      b_.Add("sub.u64", {RegisterOperand(offset), RegisterOperand(target_),
                         IntegerOperand(kFunctionAddresses)});
      b_.Add("shr.u64", {RegisterOperand(offset), RegisterOperand(offset),
                         IntegerOperand(4)});
      b_.Add("cvt.u32.u64", {RegisterOperand(index), RegisterOperand(offset)});
      if (entries.empty()) {
        b_.Branch(bad);
      } else {
        b_.Switch(index, entries);
      }
    }
    b_.Place(bad);
    b_.Add("trap", {IntegerOperand(kFunctionTrap)});
    b_.Add("exit", {});
  }

  // The end of a function: back to its caller.
  // The sites are those that call this function directly, and all that call
  // through registers, since any of these may have meant it.
  void Return(const Function& function, Outlined& outlined) {
    b_.Place(outlined.leave);
    MoveFormals(function.results, outlined.interface.results, outlined.copy,
                false);
    std::vector<std::pair<uint32_t, uint32_t>> sites = outlined.sites;
    sites.insert(sites.end(), any_site_.begin(), any_site_.end());
    std::sort(sites.begin(), sites.end());
    if (sites.empty()) {
      b_.Add("exit", {});
      return;
    }
    const uint32_t caller = b_.NewRegister("caller", Type::kU32);
    b_.Add("ld.local.b32", {RegisterOperand(caller), MemoryOperand(frame_, 0)});
    b_.Switch(caller, sites);
  }

  const ptx::Module& module_;
  const std::map<uint32_t, Function>& outlined_;
  const std::vector<bool>& repeated_;
  uint64_t stack_bytes_;
  std::string& error_;
  Function result_;
  Builder b_;
  std::map<uint32_t, Outlined> places_;
  uint64_t largest_ = 0;
  uint32_t frame_ = 0;   // register: the running function's frame
  uint32_t target_ = 0;  // register: the function to be called
  uint32_t stack_ = 0;   // variable
  uint32_t dispatch_ = 0;
  uint32_t sites_ = 0;
  // Call sites of calls through registers.
  std::vector<std::pair<uint32_t, uint32_t>> any_site_;
};

}  // namespace

Function JoinOutlinedFunctions(const ptx::Module& module,
                               const Function& kernel,
                               const std::map<uint32_t, Function>& outlined,
                               const std::vector<bool>& repeated,
                               uint64_t stack_bytes, std::string* error) {
  return Joiner(module, kernel, outlined, repeated, stack_bytes, error)
      .Run(kernel);
}

}  // namespace holdfast::software::transform
