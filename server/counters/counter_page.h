// SPDX-License-Identifier: Apache-2.0
//
// Memory in which an executor counts and which its supervisor reads, so that
// counts are exact however the executor ends, and reading them does not wake
// it. The supervisor writes the executor's turns there, and reads nothing back
// that it wrote.
#ifndef HOLDFAST_SERVER_COUNTERS_COUNTER_PAGE_H_
#define HOLDFAST_SERVER_COUNTERS_COUNTER_PAGE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "core/base/memfd.h"
#include "core/base/unique_fd.h"
#include "server/counters/command_counts.h"
#include "server/counters/copy_counts.h"
#include "server/counters/device_times.h"
#include "server/counters/device_turns.h"

namespace holdfast {

// Zero bytes are a page without counts.
struct CounterPage {
  CommandCounts commands;
  CopyCounts copies;
  DeviceTimes times;
  DeviceTurns turns;  // which the supervisor writes
};

// The memory has a fixed size, and is zero at first.
inline absl::StatusOr<UniqueFd> CreateCounterPage() {
  return CreateFixedMemfd("holdfast-counters", sizeof(CounterPage));
}

// The executor's view. Keeps the mapping for as long as it is used. Fails if
// the memory is smaller than a page.
inline absl::StatusOr<std::shared_ptr<CounterPage>> MapCounterPage(int memfd) {
  auto mapping = FileMapping::Map(memfd, FileMapping::Access::kReadWrite,
                                  sizeof(CounterPage));
  if (!mapping.ok()) return mapping.status();
  auto owner = std::make_shared<const FileMapping>(*std::move(mapping));
  auto* const page = static_cast<CounterPage*>(owner->data());
  return std::shared_ptr<CounterPage>(std::move(owner), page);
}

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_COUNTERS_COUNTER_PAGE_H_
