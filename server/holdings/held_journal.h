// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_HOLDINGS_HELD_JOURNAL_H_
#define HOLDFAST_SERVER_HOLDINGS_HELD_JOURNAL_H_

#include <cstdint>

#include "absl/status/status.h"
#include "core/base/unique_fd.h"
#include "server/holdings/session_descriptors.h"

namespace holdfast {

// A session's journal. While a successor restores the session there are two
// journals: the successor reads the journal of the earlier executor, and writes
// a new journal. The DescriptorStore keeps the old journal until EndRestore.
// Not thread-safe.
class HeldJournal {
 public:
  // `kept` must outlive this object.
  explicit HeldJournal(const SessionDescriptors& kept) : kept_(kept) {}

  // Makes the journal of a new session. Fails if the system has no memory or no
  // descriptors.
  absl::Status Open();
  // Takes over the journal of a session that an earlier daemon has left.
  void Adopt(UniqueFd journal, uint64_t epoch);

  // Makes an empty journal for a successor, which serves from `epoch` on.
  // Called again for the next successor when one has failed. Fails as Open.
  absl::Status BeginRestore(uint64_t epoch);
  // Drops the old journal. The DescriptorStore keeps the successor's journal
  // from now on.
  void EndRestore();
  bool restoring() const { return old_.valid(); }

  // The descriptor of the present executor's journal, borrowed; -1: there is
  // none.
  int current() const { return current_.get(); }
  // The descriptor of the earlier executor's journal, borrowed; -1: no session
  // is being restored.
  int old() const { return old_.get(); }

  // Drops the journal from the DescriptorStore.
  void Close() { kept_current_ = {}; }

 private:
  // Stores current_ in the DescriptorStore, in place of the last journal.
  void Keep();

  const SessionDescriptors& kept_;
  uint64_t epoch_ = 1;  // of current_
  UniqueFd current_;
  UniqueFd old_;
  SessionDescriptors::Kept kept_current_;  // old_, while restoring
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_HOLDINGS_HELD_JOURNAL_H_
