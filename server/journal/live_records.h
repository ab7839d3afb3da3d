// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_JOURNAL_LIVE_RECORDS_H_
#define HOLDFAST_SERVER_JOURNAL_LIVE_RECORDS_H_

#include <cstddef>
#include <vector>

#include "absl/types/span.h"
#include "holdfast/internal/executor.pb.h"

namespace holdfast::journal {

// Returns the indices, in order, of the records that are needed to restore the
// resources that `records` leave. These are the steps that made or changed an
// existing resource, and the steps that made and ended a resource that another
// step `needs`.
//
// A key "a/{1,2}" stands for the keys "a/1" and "a/2", which have no keys below
// them. Its step is replaced when both keys are replaced.
std::vector<size_t> LiveRecords(
    absl::Span<const internal::JournalRecord* const> records);

}  // namespace holdfast::journal

#endif  // HOLDFAST_SERVER_JOURNAL_LIVE_RECORDS_H_
