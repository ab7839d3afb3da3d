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

// The page of host memory of a shared event (EventState), as the supervisor
// holds it. The page outlives the executors of the session that made the event.
// This session, the exports and the imports of the event hold the object.
// Thread-safe.
class EventPage {
 public:
  // Makes a page for a new event.
  static absl::StatusOr<std::shared_ptr<EventPage>> Create();
  // Takes over the page of an earlier daemon. INVALID_ARGUMENT: `fd` is not a
  // page.
  static absl::StatusOr<std::shared_ptr<EventPage>> Adopt(UniqueFd fd);

  // Keeps the page in the store under `name`, for the next daemon. REQUIRES:
  // called before another thread has the object.
  void Keep(DescriptorStore& store, const KeptName& name) {
    kept_ = store.Keep(name, fd_.get());
  }

  // Return a new descriptor of the page: for the session that made the event,
  // or for an importer, which cannot map it for writing.
  absl::StatusOr<UniqueFd> OpenForMaker() const;
  absl::StatusOr<UniqueFd> OpenForImporter() const;

  // Writes to the page that the event's session has ended, so that importers
  // end their waits.
  void Abandon();
  bool abandoned() const { return abandoned_; }

 private:
  EventPage(UniqueFd fd, FileMapping mapping)
      : fd_(std::move(fd)), mapping_(std::move(mapping)) {}

  const UniqueFd fd_;
  DescriptorStore::Kept kept_;
  const FileMapping mapping_;
  // The supervisor's own copy, which no executor can change.
  std::atomic<bool> abandoned_{false};
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SHARING_EVENT_PAGE_H_
