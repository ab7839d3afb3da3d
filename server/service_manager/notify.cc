// SPDX-License-Identifier: Apache-2.0
#include "server/service_manager/notify.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "absl/base/const_init.h"
#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/base/unique_fd.h"

namespace holdfast {

namespace {

ABSL_CONST_INIT absl::Mutex manager_mutex(absl::kConstInit);

// By SetServiceManager; null: $NOTIFY_SOCKET counts. Never freed.
std::string* manager_address ABSL_GUARDED_BY(manager_mutex) = nullptr;

// A message with a descriptor, or without one if it is -1.
bool Send(int socket, const sockaddr_un& address, socklen_t address_size,
          absl::string_view text, int fd) {
  iovec bytes = {.iov_base = const_cast<char*>(text.data()),
                 .iov_len = text.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof fd)] = {};
  msghdr message = {};
  message.msg_name = const_cast<sockaddr_un*>(&address);
  message.msg_namelen = address_size;
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  if (fd >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof fd);
    std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  }
  while (sendmsg(socket, &message, MSG_NOSIGNAL) < 0) {
    if (errno != EINTR) return false;
  }
  return true;
}

}  // namespace

std::string ServiceManagerAddress() {
  absl::MutexLock lock(&manager_mutex);
  if (manager_address != nullptr) return *manager_address;
  const char* const variable = std::getenv("NOTIFY_SOCKET");
  return variable == nullptr ? "" : variable;
}

void SetServiceManager(std::string address) {
  absl::MutexLock lock(&manager_mutex);
  if (manager_address == nullptr) manager_address = new std::string();
  *manager_address = std::move(address);
}

bool NotifyServiceManager(absl::string_view state, int fd) {
  const std::string path = ServiceManagerAddress();
  if (path.empty()) return true;
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return false;
  path.copy(address.sun_path, path.size());
  if (path[0] == '@') address.sun_path[0] = '\0';  // An abstract address.
  const UniqueFd sender(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const timeval patience = {.tv_sec = 1, .tv_usec = 0};
  setsockopt(sender.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  return Send(
      sender.get(), address,
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size()),
      state, fd);
}

}  // namespace holdfast
