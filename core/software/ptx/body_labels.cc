// SPDX-License-Identifier: Apache-2.0
#include "core/software/ptx/body_labels.h"

#include <algorithm>
#include <numeric>

namespace holdfast::software::ptx {

void BodyLabels::Close() {
  if (scopes_.size() == 1) return;
  const auto labels = std::move(scopes_.back());
  scopes_.pop_back();
  for (const auto& [name, index] : labels) {
    if (function_.labels[index].instruction >= 0) continue;
    const auto [outer, added] = scopes_.back().emplace(name, index);
    if (!added) same_.emplace_back(index, outer->second);
  }
}

Operand BodyLabels::Named(absl::string_view name, Location use) {
  Operand operand;
  operand.kind = Operand::Kind::kLabel;
  const auto [it, added] = scopes_.back().emplace(
      std::string(name), static_cast<uint32_t>(function_.labels.size()));
  if (added) function_.labels.push_back({std::string(name), -1, use});
  operand.index = it->second;
  return operand;
}

bool BodyLabels::Define(absl::string_view name, Location location) {
  Label& label = function_.labels[Named(name, location).index];
  if (label.instruction >= 0) return false;
  label.instruction = End();
  label.location = location;
  return true;
}

void BodyLabels::DefineTargets(absl::string_view name, Location location,
                               std::vector<uint32_t> targets) {
  const uint32_t self = Named(name, location).index;
  function_.labels[self].instruction = End();
  function_.branch_targets.emplace_back(self, std::move(targets));
}

const Label* BodyLabels::Finish() {
  const std::vector<uint32_t> known = Unite();
  if (!same_.empty()) {
    for (Instruction& instruction : function_.body) {
      for (Operand& operand : instruction.operands) {
        if (operand.kind != Operand::Kind::kLabel) continue;
        operand.index = known[operand.index];
      }
    }
    for (auto& [label, targets] : function_.branch_targets) {
      for (uint32_t& target : targets) target = known[target];
    }
  }
  const auto undefined =
      std::find_if(function_.labels.begin(), function_.labels.end(),
                   [](const Label& label) { return label.instruction < 0; });
  return undefined == function_.labels.end() ? nullptr : &*undefined;
}

// Returns the number that stays, for each label. Pairs of outer scopes stand
// behind those of inner ones: backwards, each leads to what is known already.
std::vector<uint32_t> BodyLabels::Unite() {
  std::vector<uint32_t> known(function_.labels.size());
  std::iota(known.begin(), known.end(), 0);
  for (size_t i = same_.size(); i-- > 0;) {
    const auto [inner, outer] = same_[i];
    known[inner] = known[outer];
    function_.labels[inner].instruction =
        function_.labels[known[outer]].instruction;
  }
  return known;
}

}  // namespace holdfast::software::ptx
