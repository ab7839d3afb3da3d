// SPDX-License-Identifier: Apache-2.0
#include "server/sharing/event_page.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "server/sharing/event_state.h"

namespace holdfast {

absl::StatusOr<std::shared_ptr<EventPage>> EventPage::Create() {
  HOLDFAST_ASSIGN_OR_RETURN(
      UniqueFd fd,
      CreateFixedMemfd("holdfast-shared-event", EventState::kPageBytes));
  // An importer cannot open it anew for writing.
  if (fchmod(fd.get(), S_IRUSR) != 0) {
    return absl::ErrnoToStatus(errno, "the page of an event");
  }
  HOLDFAST_ASSIGN_OR_RETURN(
      FileMapping mapping,
      FileMapping::Map(fd.get(), FileMapping::Access::kReadWrite));
  return std::shared_ptr<EventPage>(
      new EventPage(std::move(fd), std::move(mapping)));
}

absl::StatusOr<std::shared_ptr<EventPage>> EventPage::Adopt(UniqueFd fd) {
  if (!IsFixedMemfd(fd.get(), EventState::kPageBytes)) {
    return absl::InvalidArgumentError("the page of an event is none");
  }
  HOLDFAST_ASSIGN_OR_RETURN(
      FileMapping mapping,
      FileMapping::Map(fd.get(), FileMapping::Access::kReadWrite));
  return std::shared_ptr<EventPage>(
      new EventPage(std::move(fd), std::move(mapping)));
}

absl::StatusOr<UniqueFd> EventPage::OpenForMaker() const {
  UniqueFd fd(fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0));
  if (fd.valid()) return fd;
  return absl::ErrnoToStatus(errno, "a descriptor of an event's page");
}

// Opened again, a memfd has rights of its own.
absl::StatusOr<UniqueFd> EventPage::OpenForImporter() const {
  const std::string path = absl::StrCat("/proc/self/fd/", fd_.get());
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.valid()) return fd;
  return absl::ErrnoToStatus(errno, "a descriptor of an event's page");
}

void EventPage::Abandon() {
  abandoned_ = true;
  static_cast<EventState*>(mapping_.data())->abandoned = 1;
}

}  // namespace holdfast
