// SPDX-License-Identifier: Apache-2.0
//
// match.sync: which lanes hold the same value (abi.h).
#include <bit>

#include "core/software/abi/abi.h"

namespace holdfast::software {
namespace {

constexpr int kLanes = 32;

template <typename T>
uint32_t Equal(const T* values, T value, uint32_t members) {
  uint32_t same = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    same |= uint32_t{values[lane] == value} << lane;
  }
  return same & members;
}

template <typename T>
void MatchAny(const T* values, uint32_t members, uint32_t* masks) {
  for (uint32_t rest = members; rest != 0;) {
    const uint32_t same =
        Equal(values, values[std::countr_zero(rest)], members);
    for (uint32_t left = same; left != 0; left &= left - 1) {
      masks[std::countr_zero(left)] = same;
    }
    rest &= ~same;
  }
}

template <typename T>
uint32_t MatchAll(const T* values, uint32_t members) {
  if (members == 0) return 0;
  const uint32_t same =
      Equal(values, values[std::countr_zero(members)], members);
  return same == members ? members : 0;
}

}  // namespace

extern "C" {

void holdfast_match_any32(WorkerContext*, const uint32_t* values,
                          uint32_t members, uint32_t* masks) {
  MatchAny(values, members, masks);
}
void holdfast_match_any64(WorkerContext*, const uint64_t* values,
                          uint32_t members, uint32_t* masks) {
  MatchAny(values, members, masks);
}
uint32_t holdfast_match_all32(WorkerContext*, const uint32_t* values,
                              uint32_t members) {
  return MatchAll(values, members);
}
uint32_t holdfast_match_all64(WorkerContext*, const uint64_t* values,
                              uint32_t members) {
  return MatchAll(values, members);
}

}  // extern "C"

}  // namespace holdfast::software
