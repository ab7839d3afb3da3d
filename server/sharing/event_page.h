// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SHARING_EVENT_PAGE_H_
#define HOLDFAST_SERVER_SHARING_EVENT_PAGE_H_

#include <atomic>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "core/base/memfd.h"
#include "core/base/unique_fd.h"
#include "server/kept/descriptor_store.h"

namespace holdfast {

// The supervisor's end of an event that sessions share: its EventState, which
// outlives the executors of its maker, and whether the maker is gone. Held by
// the maker's session, by exports and by imports. Thread-safe.
class EventPage {
 public:
  static absl::StatusOr<std::shared_ptr<EventPage>> Create();
  // One that an earlier daemon has made.
  static absl::StatusOr<std::shared_ptr<EventPage>> Adopt(UniqueFd fd);

  // Has the page outlive the daemon. Before it is shared.
  void Keep(DescriptorStore& store, const KeptName& name) {
    kept_ = store.Keep(name, fd_.get());
  }

  // A descriptor for the maker, or one that cannot be mapped for writing.
  absl::StatusOr<UniqueFd> OpenForMaker() const;
  absl::StatusOr<UniqueFd> OpenForImporter() const;

  // The maker is gone: tells importers, which end their waits.
  void Abandon();
  bool abandoned() const { return abandoned_; }

 private:
  EventPage(UniqueFd fd, FileMapping mapping)
      : fd_(std::move(fd)), mapping_(std::move(mapping)) {}

  const UniqueFd fd_;
  DescriptorStore::Kept kept_;
  const FileMapping mapping_;
  // The supervisor's own word, which no executor can change.
  std::atomic<bool> abandoned_{false};
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SHARING_EVENT_PAGE_H_
