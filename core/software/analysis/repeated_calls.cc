// SPDX-License-Identifier: Apache-2.0
//
// The function whose outlining saves most goes first, until the rest is small
// enough, or no function saves much. Sizes and copies are numbers of floating
// point, since there may be more copies than integers.
#include "core/software/analysis/repeated_calls.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

namespace holdfast::software::analysis {
namespace {

using ptx::Function;
using ptx::Instruction;
using ptx::Opcode;
using ptx::Operand;

// Instructions that a call of an outlined function becomes, without the
// registers that it saves.
constexpr double kCallCost = 32;

// Part of the whole that a function must save, since calls take time.
constexpr double kLeastSaved = 1.0 / 16;

constexpr double kBytesPerInstruction = 16;

// Larger numbers count as this one, so that the product of two is finite.
constexpr double kMost = 1e150;

// The functions that the kernel calls by name, directly or not. Node `count` is
// the kernel.
class Sizes {
 public:
  Sizes(const ptx::Module& module, const Function& kernel,
        const std::vector<bool>& outlined)
      : module_(module), kernel_(kernel), outlined_(outlined) {
    Visit();
    outlined_.push_back(true);  // the kernel, too, is there once
  }

  std::vector<bool> Outline(const InliningLimits& limits) {
    std::vector<bool> added(outlined_.size() - 1, false);
    const auto add = [&](uint32_t node) {
      outlined_[node] = added[node] = true;
    };
    for (const uint32_t node : TooDeep(limits.depth)) add(node);
    for (Measure(); total_ > limits.size; Measure()) {
      const uint32_t node = Best(limits.largest);
      if (outlined_[node]) break;
      add(node);
    }
    return added;
  }

 private:
  struct Node {
    double own = 0;                    // without what is copied into it
    std::map<uint32_t, double> calls;  // callees: number of calls
    double size = 0;                   // with what is copied into it
    double copies = 0;
  };

  uint32_t kernel_node() const {
    return static_cast<uint32_t>(module_.functions.size());
  }

  // Fills in `order_`: callees stand before their callers, except those of a
  // cycle, whose members are outlined. Functions that are called through
  // registers are reached from no node, and start visits of their own.
  void Visit() {
    nodes_.resize(module_.functions.size() + 1);
    std::vector<bool> seen(nodes_.size(), false);
    for (uint32_t i = 0; i < kernel_node(); ++i) {
      if (outlined_[i]) VisitFrom(i, &seen);
    }
    VisitFrom(kernel_node(), &seen);
  }

  void VisitFrom(uint32_t start, std::vector<bool>* seen) {
    using Calls = std::map<uint32_t, double>;
    std::vector<std::pair<uint32_t, Calls::const_iterator>> open;
    const auto enter = [&](uint32_t node) {
      if ((*seen)[node]) return;
      (*seen)[node] = true;
      Add(node);
      open.emplace_back(node, nodes_[node].calls.begin());
    };
    enter(start);
    while (!open.empty()) {
      auto& [node, call] = open.back();
      if (call == nodes_[node].calls.end()) {
        order_.push_back(node);
        open.pop_back();
        continue;
      }
      enter((call++)->first);
    }
  }

  void Add(uint32_t node) {
    const Function& function =
        node == kernel_node() ? kernel_ : module_.functions[node];
    nodes_[node].own = static_cast<double>(function.body.size());
    for (const ptx::Variable& variable : function.variables) {
      if (variable.space != ptx::Space::kLocal) continue;
      nodes_[node].own +=
          static_cast<double>(variable.bytes) / kBytesPerInstruction;
    }
    for (const Instruction& instruction : function.body) {
      if (instruction.opcode() != Opcode::kCall) continue;
      const Operand& target = instruction.operands[instruction.results];
      if (target.kind != Operand::Kind::kFunction ||
          !module_.functions[target.index].defined) {
        continue;
      }
      nodes_[node].calls[target.index] += 1;
    }
  }

  // Functions that end a chain of copies, counted from its last callee.
  std::vector<uint32_t> TooDeep(size_t limit) const {
    std::vector<uint32_t> found;
    std::vector<size_t> depths(nodes_.size(), 0);
    for (const uint32_t node : order_) {
      size_t depth = 1;
      for (const auto& [callee, count] : nodes_[node].calls) {
        if (!outlined_[callee]) depth = std::max(depth, depths[callee] + 1);
      }
      const bool ends = depth >= limit && !outlined_[node];
      if (ends) found.push_back(node);
      depths[node] = ends ? 0 : depth;
    }
    return found;
  }

  void Measure() {
    for (const uint32_t node : order_) {
      nodes_[node].size = nodes_[node].own;
      nodes_[node].copies = outlined_[node] ? 1 : 0;
      for (const auto& [callee, count] : nodes_[node].calls) {
        nodes_[node].size +=
            count * (outlined_[callee] ? kCallCost : nodes_[callee].size);
      }
      nodes_[node].size = std::min(nodes_[node].size, kMost);
    }
    total_ = 0;
    for (size_t i = order_.size(); i-- > 0;) {
      const Node& node = nodes_[order_[i]];
      if (outlined_[order_[i]]) total_ += node.size;
      for (const auto& [callee, count] : node.calls) {
        if (outlined_[callee]) continue;
        double& copies = nodes_[callee].copies;
        copies = std::min(copies + count * node.copies, kMost);
      }
    }
  }

  // The function that saves most; the kernel if none saves enough.
  uint32_t Best(double largest) const {
    uint32_t best = kernel_node();
    double most = total_ > largest ? 0 : total_ * kLeastSaved;
    for (const uint32_t i : order_) {
      const Node& node = nodes_[i];
      const double saved =
          (node.copies - 1) * node.size - node.copies * kCallCost;
      if (outlined_[i] || saved <= most) continue;
      best = i;
      most = saved;
    }
    return best;
  }

  const ptx::Module& module_;
  const Function& kernel_;
  std::vector<bool> outlined_;
  std::vector<Node> nodes_;
  std::vector<uint32_t> order_;
  double total_ = 0;
};

}  // namespace

std::vector<bool> RepeatedFunctions(const ptx::Module& module,
                                    const Function& kernel,
                                    const std::vector<bool>& outlined,
                                    const InliningLimits& limits) {
  return Sizes(module, kernel, outlined).Outline(limits);
}

}  // namespace holdfast::software::analysis
