// SPDX-License-Identifier: Apache-2.0
#include "core/software/analysis/control_flow.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace holdfast::software::analysis {
namespace {

using lower::Block;
using lower::ConvergencePoint;
using lower::ConvergencePointOf;
using lower::Kernel;
using lower::kExit;
using lower::RegistersRead;
using lower::RegistersWritten;

using ptx::Instruction;
using ptx::Operand;

// Nodes reachable from `start` along `edges`, each behind those it leads to
// (loops apart).
std::vector<int> PostOrder(const std::vector<std::vector<int>>& edges,
                           int start) {
  std::vector<int> order;
  std::vector<bool> seen(edges.size(), false);
  std::vector<std::pair<int, size_t>> open = {{start, 0}};
  seen[start] = true;
  while (!open.empty()) {
    auto& [node, edge] = open.back();
    if (edge == edges[node].size()) {
      order.push_back(node);
      open.pop_back();
      continue;
    }
    const int next = edges[node][edge++];
    if (seen[next]) continue;
    seen[next] = true;
    open.emplace_back(next, 0);
  }
  return order;
}

bool IsBarrier(const Kernel& kernel, int k) {
  const uint32_t first = kernel.blocks[k].first;
  return ConvergencePointOf(kernel.function->body[first]) ==
         ConvergencePoint::kBlock;
}

}  // namespace

std::vector<int> Successors(const Kernel& kernel, size_t k) {
  const Block& block = kernel.blocks[k];
  const Instruction& end = kernel.function->body[block.last - 1];
  std::vector<int> result;
  if (block.branches) result.push_back(block.taken);
  if (!block.branches || end.guard.kind != Operand::Kind::kNone) {
    result.push_back(block.next);
  }
  return result;
}

std::vector<int> Predecessors(const Kernel& kernel, size_t k) {
  std::vector<int> result;
  for (size_t from = 0; from < kernel.blocks.size(); ++from) {
    const auto next = Successors(kernel, from);
    if (std::find(next.begin(), next.end(), static_cast<int>(k)) !=
        next.end()) {
      result.push_back(static_cast<int>(from));
    }
  }
  return result;
}

// Loops are the strongly connected parts of the graph (Kosaraju).
// In reverse postorder, a block reaches backward just its own part, and parts
// that are done already. Without edges out of barriers, a loop that always
// comes to one is none.
std::vector<int> Loops(const Kernel& kernel, bool past_barriers) {
  const int count = static_cast<int>(kernel.blocks.size());
  // One more node leads to all, so that every block is reached.
  std::vector<std::vector<int>> forward(count + 1), backward(count + 1);
  std::vector<int> loop(count, -1);
  std::vector<bool> own(count, false), done(count, false);
  for (int k = 0; k < count; ++k) {
    forward[count].push_back(k);
    if (!past_barriers && IsBarrier(kernel, k)) continue;
    for (const int next : Successors(kernel, k)) {
      if (next == kExit) continue;
      forward[k].push_back(next);
      backward[next].push_back(k);
      own[k] = own[k] || next == k;
    }
  }
  const std::vector<int> order = PostOrder(forward, count);
  for (auto it = order.rbegin() + 1; it != order.rend(); ++it) {
    if (done[*it]) continue;
    std::vector<int> open = {*it}, part;
    done[*it] = true;
    while (!open.empty()) {
      part.push_back(open.back());
      open.pop_back();
      for (const int before : backward[part.back()]) {
        if (done[before]) continue;
        done[before] = true;
        open.push_back(before);
      }
    }
    if (part.size() == 1 && !own[*it]) continue;
    for (const int k : part) loop[k] = *it;
  }
  return loop;
}

// After Cooper, Harvey and Kennedy, "A Simple, Fast Dominance Algorithm", on
// the reversed graph with the end of the thread as its root.
// The nearest post-dominator of a branch is where its lanes surely meet again,
// and so the join of a region or a place to return to full code. Blocks that
// never reach the end have none.
std::vector<int> ImmediatePostDominators(const Kernel& kernel) {
  const int count = static_cast<int>(kernel.blocks.size());
  std::vector<std::vector<int>> predecessors(count + 1);
  for (int k = 0; k < count; ++k) {
    for (const int next : Successors(kernel, k)) {
      predecessors[next == kExit ? count : next].push_back(k);
    }
  }
  const std::vector<int> order = PostOrder(predecessors, count);
  std::vector<int> number(count + 1, -1), parent(count + 1, kExit);
  for (size_t i = 0; i < order.size(); ++i) {
    number[order[i]] = static_cast<int>(i);
  }
  parent[count] = count;
  auto meet = [&](int a, int b) {
    while (a != b) {
      int& lower = number[a] < number[b] ? a : b;
      lower = parent[lower];
    }
    return a;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (auto it = order.rbegin() + 1; it != order.rend(); ++it) {
      int found = kExit;
      for (int next : Successors(kernel, *it)) {
        if (next == kExit) next = count;
        if (parent[next] == kExit) continue;  // not yet, or without an end
        found = found == kExit ? next : meet(found, next);
      }
      changed = changed || parent[*it] != found;
      parent[*it] = found;
    }
  }
  parent.pop_back();
  std::replace(parent.begin(), parent.end(), count, kExit);
  return parent;
}

namespace {

// The blocks behind the branch of block k, up to where its lanes meet again.
std::vector<bool> BlocksUntil(const Kernel& kernel, size_t k, int meeting) {
  std::vector<bool> seen(kernel.blocks.size(), false);
  std::vector<int> open = Successors(kernel, k);
  while (!open.empty()) {
    const int at = open.back();
    open.pop_back();
    if (at == kExit || at == meeting || seen[at]) continue;
    seen[at] = true;
    for (const int next : Successors(kernel, at)) open.push_back(next);
  }
  return seen;
}

}  // namespace

namespace {

constexpr uint32_t kFewInstructions = 64;

// Instructions whose result depends on which lanes run together, or that call
// the runtime: a region runs lanes apart that a warp would run together, and
// must not show it.
bool AsksForLanes(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case ptx::Opcode::kActivemask:
    case ptx::Opcode::kBrkpt:
    case ptx::Opcode::kCall:
    case ptx::Opcode::kElect:
    case ptx::Opcode::kMatch:
    case ptx::Opcode::kNanosleep:
    case ptx::Opcode::kRedux:
    case ptx::Opcode::kShfl:
    case ptx::Opcode::kTrap:
    case ptx::Opcode::kVote:
      return true;
    default:
      return ConvergencePointOf(instruction) != ConvergencePoint::kNone;
  }
}

}  // namespace

// Both sides of the branch have to be cheap, since each runs whenever one lane
// takes it, and to lead forward, so that a block never runs twice.
std::vector<int> BranchRegion(const Kernel& kernel, size_t k, int join) {
  if (join != kExit && join <= static_cast<int>(k)) return {};
  const std::vector<bool> inside = BlocksUntil(kernel, k, join);
  std::vector<int> region;
  uint32_t instructions = 0;
  for (size_t at = 0; at < inside.size(); ++at) {
    if (!inside[at]) continue;
    const Block& block = kernel.blocks[at];
    instructions += block.last - block.first;
    if (instructions > kFewInstructions || at <= k) return {};
    if (join != kExit && static_cast<int>(at) > join) return {};
    for (uint32_t i = block.first; i < block.last; ++i) {
      if (AsksForLanes(kernel.function->body[i])) return {};
    }
    for (const int next : Successors(kernel, at)) {
      if (next != join && next <= static_cast<int>(at)) return {};
    }
    region.push_back(static_cast<int>(at));
  }
  return region;
}

namespace {

bool IsClock(const Operand& operand) {
  if (operand.kind != Operand::Kind::kSpecial) return false;
  switch (static_cast<ptx::Special>(operand.index)) {
    case ptx::Special::kClock:
    case ptx::Special::kClockHi:
    case ptx::Special::kClock64:
    case ptx::Special::kGlobaltimer:
    case ptx::Special::kGlobaltimerLo:
    case ptx::Special::kGlobaltimerHi:
      return true;
    default:
      return false;
  }
}

}  // namespace

// Loads are not, but for those of parameters, which nothing writes while the
// kernel runs; nor is an instruction whose result depends on other lanes, on
// the time, or on how often it runs.
bool IsPure(const Instruction& instruction) {
  if (std::any_of(instruction.operands.begin(), instruction.operands.end(),
                  IsClock)) {
    return false;
  }
  switch (instruction.opcode()) {
    case ptx::Opcode::kLd:
      return instruction.modifiers.Has(ptx::Modifier::kParam);
    case ptx::Opcode::kAtom:
    case ptx::Opcode::kActivemask:
    case ptx::Opcode::kBar:
    case ptx::Opcode::kBarrier:
    case ptx::Opcode::kCall:
    case ptx::Opcode::kElect:
    case ptx::Opcode::kLdu:
    case ptx::Opcode::kMatch:
    case ptx::Opcode::kMbarrier:
    case ptx::Opcode::kRedux:
    case ptx::Opcode::kShfl:
    case ptx::Opcode::kVote:
      return false;
    default:
      return true;
  }
}

// A fixed point over the whole body: flow-insensitive, which is enough to tell
// indices from data.
std::vector<bool> RegistersFromData(const Kernel& kernel) {
  std::vector<bool> data(kernel.function->registers.size(), false);
  for (bool changed = true; changed;) {
    changed = false;
    for (const Instruction& instruction : kernel.function->body) {
      bool from_data = !IsPure(instruction);
      for (uint32_t r : RegistersRead(instruction)) {
        from_data = from_data || data[r];
      }
      if (!from_data) continue;
      for (uint32_t r : RegistersWritten(instruction)) {
        changed = changed || !data[r];
        data[r] = true;
      }
    }
  }
  return data;
}

// The registers that are written between a divergent branch and the block where
// its lanes meet again, and that are needed there: a phi in the form of SSA,
// whose value then depends on the way that a lane has come.
std::vector<bool> MergedRegisters(const Kernel& kernel,
                                  const std::vector<int>& post_dominators,
                                  const std::vector<std::vector<bool>>& live,
                                  const std::vector<bool>& divergent) {
  std::vector<bool> merged(kernel.function->registers.size(), false);
  for (size_t k = 0; k < kernel.blocks.size(); ++k) {
    const int meeting = post_dominators[k];
    if (!divergent[k] || meeting == kExit) continue;
    const std::vector<bool> blocks = BlocksUntil(kernel, k, meeting);
    for (size_t at = 0; at < blocks.size(); ++at) {
      const Block& block = kernel.blocks[at];
      for (uint32_t i = block.first; blocks[at] && i < block.last; ++i) {
        for (uint32_t r : RegistersWritten(kernel.function->body[i])) {
          if (live[meeting][r]) merged[r] = true;
        }
      }
    }
  }
  return merged;
}

// The classic backward data-flow problem. A write under a guard does not end a
// register's life, since some lanes may keep their value.
// live(k) = used(k) or (live at a successor and not set(k)), iterated backward
// until nothing changes; blocks are in layout order, so that a few rounds are
// enough.
std::vector<std::vector<bool>> LiveRegisters(const Kernel& kernel) {
  const size_t count = kernel.blocks.size();
  const size_t registers = kernel.function->registers.size();
  std::vector<std::vector<bool>> used(count, std::vector<bool>(registers));
  std::vector<std::vector<bool>> set(count, std::vector<bool>(registers));
  for (size_t k = 0; k < count; ++k) {
    for (uint32_t i = kernel.blocks[k].first; i < kernel.blocks[k].last; ++i) {
      const Instruction& instruction = kernel.function->body[i];
      for (uint32_t r : RegistersRead(instruction)) {
        if (!set[k][r]) used[k][r] = true;
      }
      if (instruction.guard.kind != Operand::Kind::kNone) continue;
      for (uint32_t r : RegistersWritten(instruction)) set[k][r] = true;
    }
  }
  std::vector<std::vector<bool>> live = used;
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t k = count; k-- > 0;) {
      for (const int next : Successors(kernel, k)) {
        if (next == kExit) continue;
        for (size_t r = 0; r < registers; ++r) {
          if (!live[next][r] || set[k][r] || live[k][r]) continue;
          live[k][r] = true;
          changed = true;
        }
      }
    }
  }
  return live;
}

// Backward from the end of the block to the instruction.
std::vector<bool> LiveRegistersAt(const Kernel& kernel,
                                  const std::vector<std::vector<bool>>& live,
                                  size_t k, uint32_t index) {
  std::vector<bool> needed(kernel.function->registers.size(), false);
  for (const int next : Successors(kernel, k)) {
    if (next == kExit) continue;
    for (size_t r = 0; r < needed.size(); ++r) {
      if (live[next][r]) needed[r] = true;
    }
  }
  for (uint32_t i = kernel.blocks[k].last; i-- > index;) {
    const Instruction& instruction = kernel.function->body[i];
    if (instruction.guard.kind == Operand::Kind::kNone) {
      for (uint32_t r : RegistersWritten(instruction)) needed[r] = false;
    }
    for (uint32_t r : RegistersRead(instruction)) needed[r] = true;
  }
  return needed;
}

}  // namespace holdfast::software::analysis
