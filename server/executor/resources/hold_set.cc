// SPDX-License-Identifier: Apache-2.0
//
// Apart from the header, since holds name resources that only their users need
// to know whole.
#include "server/executor/resources/hold_set.h"

#include <variant>

#include "server/executor/resources/resources.h"

namespace holdfast::executor {
namespace {

const void* ResourceOf(const Hold& hold) {
  return std::visit(
      [](const auto& shared) -> const void* { return shared.get(); }, hold);
}

}  // namespace

HoldSet::HoldSet() = default;
HoldSet::~HoldSet() = default;

void HoldSet::Add(Hold hold) { holds_.push_back(std::move(hold)); }

void HoldSet::RemoveKept(std::vector<Hold>* holds) const {
  absl::flat_hash_set<const void*> kept;
  for (const Hold& hold : holds_) kept.insert(ResourceOf(hold));
  std::erase_if(*holds, [&](const Hold& hold) {
    return kept.contains(ResourceOf(hold));
  });
}

}  // namespace holdfast::executor
