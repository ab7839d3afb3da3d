// SPDX-License-Identifier: Apache-2.0
#include "core/software/jit/full_path_exit.h"

#include "core/software/analysis/control_flow.h"
#include "core/software/analysis/scalar_loops.h"

namespace holdfast::software::jit {
namespace {

// The code of diverged lanes is apart if it is less than 7/8 of all.
constexpr size_t kSplitPart = 7;
constexpr size_t kSplitWhole = 8;

size_t Instructions(const lower::Kernel& kernel,
                    const std::vector<bool>& blocks) {
  size_t count = 0;
  for (size_t k = 0; k < blocks.size(); ++k) {
    if (blocks[k]) count += kernel.blocks[k].last - kernel.blocks[k].first;
  }
  return count;
}

}  // namespace

std::vector<bool> MaskedBlocksFrom(const lower::Kernel& kernel,
                                   const KernelFacts& facts,
                                   const std::set<int>& roots) {
  // A search over the edges of the flow graph.
  std::vector<bool> reachable(kernel.blocks.size(), false);
  std::vector<int> open(roots.begin(), roots.end());
  while (!open.empty()) {
    const int at = open.back();
    open.pop_back();
    if (at == lower::kExit || reachable[at]) continue;
    reachable[at] = true;
    for (const int next : analysis::Successors(kernel, at)) {
      open.push_back(next);
    }
  }
  // A scalar loop is one piece of code, behind the blocks that enter it.
  const std::vector<int>& loops = facts.shapes[0].lane_loops;
  for (size_t k = 0; k < reachable.size(); ++k) {
    if (loops[k] >= 0 && !analysis::EntersScalarLoop(kernel, loops, k)) {
      reachable[k] = false;
    }
  }
  return reachable;
}

MaskedPlan PlanMaskedCode(const lower::Kernel& kernel, const KernelFacts& facts,
                          const FullPathExit& divergence,
                          const FullPathExit& overflow) {
  // `meets` is decided before the roots of overflow are added: a block that
  // only they reach does not return. A block that full code leaves in front
  // of is no way back to it: the warp would go to and fro without an end.
  MaskedPlan plan;
  const std::vector<bool> diverged =
      MaskedBlocksFrom(kernel, facts, divergence.roots);
  plan.meets = diverged;
  for (size_t k = 0; k < plan.meets.size(); ++k) {
    plan.meets[k] = plan.meets[k] && facts.shapes[0].meetings[k] &&
                    !divergence.masked_only.contains(static_cast<int>(k));
  }
  plan.arrival = divergence;
  plan.arrival.roots.insert(overflow.roots.begin(), overflow.roots.end());
  plan.arrival.entries.insert(overflow.entries.begin(), overflow.entries.end());
  plan.arrival.live_outs.insert(overflow.live_outs.begin(),
                                overflow.live_outs.end());
  // Only if overflow leads to much more code is a second function worth its
  // own. Both functions share the numbers of entries and the frame.
  const std::vector<bool> all =
      MaskedBlocksFrom(kernel, facts, plan.arrival.roots);
  plan.split = !divergence.roots.empty() &&
               Instructions(kernel, diverged) * kSplitWhole <
                   Instructions(kernel, all) * kSplitPart;
  return plan;
}

}  // namespace holdfast::software::jit
