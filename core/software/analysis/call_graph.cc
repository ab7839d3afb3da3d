// SPDX-License-Identifier: Apache-2.0
//
// Functions that have to be outlined are the strongly connected parts of the
// graph of calls, and the functions whose addresses are taken if the kernel,
// directly or not, calls through a register.
#include "core/software/analysis/call_graph.h"

#include <algorithm>
#include <utility>

namespace holdfast::software::analysis {
namespace {

using ptx::Function;
using ptx::Instruction;
using ptx::Opcode;
using ptx::Operand;

void Mark(const Operand& operand, std::vector<bool>* functions) {
  if (operand.kind == Operand::Kind::kFunction) {
    (*functions)[operand.index] = true;
  }
  for (const Operand& element : operand.elements) Mark(element, functions);
}

// The call graph of the functions that the kernel reaches: a module may have
// hundreds of others. Node `count` is the kernel.
// A call through a register may go to every function whose address is taken
// anywhere, and is an edge to each.
class Graph {
 public:
  Graph(const ptx::Module& module, const Function& kernel)
      : module_(module),
        calls_(module.functions.size() + 1),
        added_(calls_.size(), false),
        indirect_(calls_.size(), false) {
    std::vector<size_t> open = {module.functions.size()};
    added_.back() = true;
    while (!open.empty()) {
      const size_t node = open.back();
      open.pop_back();
      Add(node,
          node == module.functions.size() ? kernel : module.functions[node]);
      for (const int callee : calls_[node]) {
        if (!added_[callee]) open.push_back(static_cast<size_t>(callee));
        added_[callee] = true;
      }
    }
  }

  std::vector<bool> Reached() const {
    return {added_.begin(), added_.end() - 1};
  }

  // A function that the kernel reaches is outlined if it is in a cycle; or if
  // the module takes its address, and the kernel reaches a call by a register.
  std::vector<bool> Outlined() {
    const size_t count = module_.functions.size();
    std::vector<bool> reached(count + 1, false);
    std::vector<int> order = Visit(static_cast<int>(count), calls_, &reached);
    bool indirect = false;
    for (const int node : order) indirect = indirect || indirect_[node];
    std::vector<bool> outlined(count, false);
    for (const int node : order) {
      if (node == static_cast<int>(count)) continue;
      outlined[node] = Defined(node) && ((indirect && addressed_[node]) ||
                                         Has(calls_[node], node));
    }
    MarkCycles(order, &outlined);
    return outlined;
  }

 private:
  bool Defined(int node) const { return module_.functions[node].defined; }

  static bool Has(const std::vector<int>& nodes, int node) {
    return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
  }

  void Add(size_t node, const Function& function) {
    std::vector<int>& calls = calls_[node];
    bool indirect = false;
    for (const Instruction& instruction : function.body) {
      if (instruction.opcode() != Opcode::kCall) continue;
      const Operand& target = instruction.operands[instruction.results];
      if (target.kind == Operand::Kind::kFunction) {
        calls.push_back(static_cast<int>(target.index));
      } else {
        indirect = true;
      }
    }
    if (indirect && addressed_.empty()) {
      addressed_ = AddressedFunctions(module_);
    }
    for (size_t i = 0; indirect && i < addressed_.size(); ++i) {
      if (addressed_[i]) calls.push_back(static_cast<int>(i));
    }
    std::sort(calls.begin(), calls.end());
    calls.erase(std::unique(calls.begin(), calls.end()), calls.end());
    indirect_[node] = indirect;
  }

  // Returns the nodes that can be reached from `start`, in postorder.
  static std::vector<int> Visit(int start,
                                const std::vector<std::vector<int>>& edges,
                                std::vector<bool>* seen) {
    std::vector<int> order;
    std::vector<std::pair<int, size_t>> open = {{start, 0}};
    (*seen)[start] = true;
    while (!open.empty()) {
      auto& [node, edge] = open.back();
      if (edge == edges[node].size()) {
        order.push_back(node);
        open.pop_back();
        continue;
      }
      const int next = edges[node][edge++];
      if ((*seen)[next]) continue;
      (*seen)[next] = true;
      open.emplace_back(next, 0);
    }
    return order;
  }

  // Kosaraju: in reverse order, what leads to a node is in a cycle with it.
  void MarkCycles(const std::vector<int>& order,
                  std::vector<bool>* outlined) const {
    std::vector<std::vector<int>> callers(calls_.size());
    for (const int node : order) {
      for (const int callee : calls_[node]) callers[callee].push_back(node);
    }
    std::vector<bool> done(calls_.size(), false);
    for (size_t i = order.size(); i-- > 0;) {
      if (done[order[i]]) continue;
      const std::vector<int> together = Visit(order[i], callers, &done);
      if (together.size() < 2) continue;
      for (const int node : together) (*outlined)[node] = Defined(node);
    }
  }

  const ptx::Module& module_;
  std::vector<bool> addressed_;  // once something calls by a register
  std::vector<std::vector<int>> calls_;
  std::vector<bool> added_;  // the nodes that have their calls
  std::vector<bool> indirect_;
};

}  // namespace

// By index: named by an initialiser of a variable, or by an operand other than
// the target of a call.
std::vector<bool> AddressedFunctions(const ptx::Module& module) {
  std::vector<bool> addressed(module.functions.size(), false);
  for (const ptx::Variable& variable : module.variables) {
    for (const ptx::Relocation& relocation : variable.relocations) {
      if (relocation.function) addressed[relocation.index] = true;
    }
  }
  for (const Function& function : module.functions) {
    for (const Instruction& instruction : function.body) {
      const bool call = instruction.opcode() == Opcode::kCall;
      for (size_t i = 0; i < instruction.operands.size(); ++i) {
        if (call && i == instruction.results) continue;
        Mark(instruction.operands[i], &addressed);
      }
    }
  }
  return addressed;
}

std::vector<bool> OutlinedFunctions(const ptx::Module& module,
                                    const Function& kernel) {
  return Graph(module, kernel).Outlined();
}

std::vector<bool> ReachedFunctions(const ptx::Module& module,
                                   const Function& kernel) {
  return Graph(module, kernel).Reached();
}

}  // namespace holdfast::software::analysis
