// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_JOURNAL_LIVE_RECORDS_H_
#define HOLDFAST_SERVER_JOURNAL_LIVE_RECORDS_H_

#include <cstddef>
#include <vector>

#include "absl/types/span.h"
#include "holdfast/internal/executor.pb.h"

namespace holdfast::journal {

// Returns the indices, in order, of the records that are needed to make again
// what `records`, carried out in order, leave behind. These are the steps that
// made a resource that is still there, those that changed one, and those that
// made what another step `needs`, with the steps that ended it.
std::vector<size_t> LiveRecords(
    absl::Span<const internal::JournalRecord* const> records);

}  // namespace holdfast::journal

#endif  // HOLDFAST_SERVER_JOURNAL_LIVE_RECORDS_H_
