// SPDX-License-Identifier: Apache-2.0
//
// Shared memory in which an executor counts its work. The supervisor reads the
// counts without waking the executor, and they are exact even if the executor
// dies. The supervisor also writes the executor's turns at devices there, and
// never reads the turns back.
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

// A page of zero bytes has no counts, and all turns are free.
struct CounterPage {
  CommandCounts commands;
  CopyCounts copies;
  DeviceTimes times;
  DeviceTurns turns;  // written by the supervisor
};

// Returns a memfd of fixed size with a CounterPage of zero bytes.
inline absl::StatusOr<UniqueFd> CreateCounterPage() {
  return CreateFixedMemfd("holdfast-counters", sizeof(CounterPage));
}

// Maps the page for the executor. The result owns the mapping; `memfd` is
// borrowed, and may be closed after the call. Fails if the memory is smaller
// than a CounterPage.
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
