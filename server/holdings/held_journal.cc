// SPDX-License-Identifier: Apache-2.0
#include "server/holdings/held_journal.h"

#include <utility>

#include "absl/status/statusor.h"
#include "core/base/memfd.h"
#include "core/base/status_macros.h"
#include "server/journal/layout.h"

namespace holdfast {
namespace {

absl::StatusOr<UniqueFd> NewJournal() {
  return CreateFixedMemfd("holdfast-journal", journal::kJournalBytes);
}

}  // namespace

void HeldJournal::Keep() {
  kept_current_ = kept_.Keep("journal", {epoch_}, current_.get());
}

absl::Status HeldJournal::Open() {
  HOLDFAST_ASSIGN_OR_RETURN(current_, NewJournal());
  Keep();
  return absl::OkStatus();
}

void HeldJournal::Adopt(UniqueFd journal, uint64_t epoch) {
  epoch_ = epoch;
  current_ = std::move(journal);
  Keep();
}

absl::Status HeldJournal::BeginRestore(uint64_t epoch) {
  epoch_ = epoch;
  // A successor that failed has left only the beginning of a journal.
  if (!old_.valid()) old_ = std::move(current_);
  HOLDFAST_ASSIGN_OR_RETURN(current_, NewJournal());
  return absl::OkStatus();
}

void HeldJournal::EndRestore() {
  Keep();
  old_.Reset();
}

}  // namespace holdfast
