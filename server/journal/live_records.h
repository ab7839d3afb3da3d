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
//
// A key "a/{1,2}" stands for the keys "a/1" and "a/2", below which there are no
// others: its step is replaced once both are.
std::vector<size_t> LiveRecords(
    absl::Span<const internal::JournalRecord* const> records);

}  // namespace holdfast::journal

#endif  // HOLDFAST_SERVER_JOURNAL_LIVE_RECORDS_H_
