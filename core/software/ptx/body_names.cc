// SPDX-License-Identifier: Apache-2.0
#include "core/software/ptx/body_names.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace holdfast::software::ptx {
namespace {

// Beyond this a kernel could not have come from a compiler.
constexpr uint64_t kMaxRegisters = 1 << 20;

// The names of a vector's registers.
constexpr absl::string_view kLanes = "xyzw";
constexpr absl::string_view kColors = "rgba";

size_t LengthOfPrefix(absl::string_view name) {
  size_t length = name.size();
  while (length > 0 && name[length - 1] >= '0' && name[length - 1] <= '9') {
    --length;
  }
  return length;
}

}  // namespace

bool BodyNames::AddRange(absl::string_view prefix, Type type, int lanes,
                         uint64_t count) {
  range_registers_ += std::min(count, kMaxRegisters) * lanes;
  if (range_registers_ >= kMaxRegisters) return false;
  scopes_.back().ranges[std::string(prefix)] = {type, lanes, count};
  return true;
}

bool BodyNames::AddTo(Names* names, absl::string_view name, Type type,
                      int lanes) {
  const auto [it, added] = names->emplace(std::string(name), Operand());
  if (!added) return false;
  if (lanes == 1) {
    it->second = NewRegister(name, type);
    return true;
  }
  it->second.kind = Operand::Kind::kVector;
  for (int i = 0; i < lanes; ++i) {
    const std::string lane = absl::StrCat(name, ".", kLanes.substr(i, 1));
    const Operand element = NewRegister(lane, type);
    it->second.elements.push_back(element);
    names->emplace(lane, element);
    names->emplace(absl::StrCat(name, ".", kColors.substr(i, 1)), element);
  }
  return true;
}

bool BodyNames::Find(absl::string_view name, Operand* operand) {
  if (FindInScopes(name, operand)) return true;
  if (const auto special = SpecialFromSpelling(name)) {
    operand->kind = Operand::Kind::kSpecial;
    operand->index = static_cast<uint32_t>(*special);
    return true;
  }
  const auto found = globals_.find(name);
  if (found == globals_.end()) return false;
  *operand = found->second;
  return true;
}

// %r12 may be a name of its own, or number 12 of the range %r. %r12.x is a
// register of the vector %r12.
bool BodyNames::FindInScopes(absl::string_view name, Operand* operand) {
  const absl::string_view whole = name.substr(0, name.find('.'));
  const absl::string_view prefix = whole.substr(0, LengthOfPrefix(whole));
  uint64_t number = 0;
  const bool numbered = prefix.size() < whole.size() &&
                        absl::SimpleAtoi(whole.substr(prefix.size()), &number);
  for (size_t i = scopes_.size(); i-- > 0;) {
    Scope& scope = scopes_[i];
    auto found = scope.names.find(name);
    const auto range =
        numbered ? scope.ranges.find(prefix) : scope.ranges.end();
    if (found == scope.names.end() && range != scope.ranges.end() &&
        number < range->second.count) {
      AddTo(&scope.names, whole, range->second.type, range->second.lanes);
      found = scope.names.find(name);
    }
    if (found == scope.names.end()) continue;
    *operand = found->second;
    return true;
  }
  return false;
}

Operand BodyNames::NewRegister(absl::string_view name, Type type) {
  Operand operand;
  operand.kind = Operand::Kind::kRegister;
  operand.index = static_cast<uint32_t>(function_.registers.size());
  function_.registers.push_back({std::string(name), type});
  return operand;
}

}  // namespace holdfast::software::ptx
