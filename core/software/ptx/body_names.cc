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
constexpr uint64_t kMaxVectors = 4096;

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

bool BodyNames::AddRegister(absl::string_view name, Type type) {
  const auto [it, added] = innermost().emplace(std::string(name), Operand());
  if (added) it->second = NewRegister(name, type);
  return added;
}

bool BodyNames::AddRange(absl::string_view prefix, Type type, uint64_t count) {
  range_registers_ += std::min(count, kMaxRegisters);
  if (range_registers_ >= kMaxRegisters) return false;
  scopes_.back().ranges[std::string(prefix)] = {type, count};
  return true;
}

bool BodyNames::AddVector(absl::string_view name, Type type, int lanes) {
  Operand vector;
  vector.kind = Operand::Kind::kVector;
  for (int i = 0; i < lanes; ++i) {
    const std::string lane = absl::StrCat(name, ".", kLanes.substr(i, 1));
    if (!AddRegister(lane, type)) return false;
    vector.elements.push_back(innermost()[lane]);
    innermost()[absl::StrCat(name, ".", kColors.substr(i, 1))] =
        vector.elements[i];
  }
  return innermost().emplace(std::string(name), std::move(vector)).second;
}

bool BodyNames::AddVectorRange(absl::string_view prefix, Type type, int lanes,
                               uint64_t count) {
  if (count > kMaxVectors) return false;
  for (uint64_t i = 0; i < count; ++i) {
    if (!AddVector(absl::StrCat(prefix, i), type, lanes)) return false;
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

// %r12 may be a name of its own, or number 12 of the range %r.
bool BodyNames::FindInScopes(absl::string_view name, Operand* operand) {
  const absl::string_view prefix = name.substr(0, LengthOfPrefix(name));
  uint64_t number = 0;
  const bool numbered = prefix.size() < name.size() &&
                        absl::SimpleAtoi(name.substr(prefix.size()), &number);
  for (size_t i = scopes_.size(); i-- > 0;) {
    Scope& scope = scopes_[i];
    const auto found = scope.names.find(name);
    if (found != scope.names.end()) {
      *operand = found->second;
      return true;
    }
    if (!numbered) continue;
    const auto range = scope.ranges.find(prefix);
    if (range == scope.ranges.end() || number >= range->second.count) continue;
    *operand = NewRegister(name, range->second.type);
    scope.names.emplace(std::string(name), *operand);
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
