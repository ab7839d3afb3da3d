// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_JOURNAL_LIVE_RECORDS_H_
#define HOLDFAST_SERVER_JOURNAL_LIVE_RECORDS_H_

#include <cstddef>
#include <vector>

#include "absl/types/span.h"
#include "holdfast/internal/executor.pb.h"

namespace holdfast::journal {

// Returns the indices, ascending, of the records that are needed to restore the
// resources that exist after `records`. These are the records that made or
// changed an existing resource, and the records that made and ended a resource
// that another needed record `needs`. `records` are hostile input.
//
// A later record with the same `key` replaces an earlier one. A key "a/{1,2}"
// stands for the keys "a/1" and "a/2", which have no keys below them. A record
// with such a key is replaced when both keys are replaced.
std::vector<size_t> LiveRecords(
    absl::Span<const internal::JournalRecord* const> records);

}  // namespace holdfast::journal

#endif  // HOLDFAST_SERVER_JOURNAL_LIVE_RECORDS_H_
