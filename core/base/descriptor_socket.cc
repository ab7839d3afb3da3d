// SPDX-License-Identifier: Apache-2.0
#include "core/base/descriptor_socket.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "core/base/status_macros.h"
#include "core/base/token.h"
#include "core/base/unique_fd.h"
#include "core/base/unix_connection.h"

namespace holdfast {
namespace {

constexpr size_t kTokenBytes = 16;
constexpr size_t kMaxAnswerBytes = 512;
constexpr absl::Duration kPatience = absl::Seconds(10);

absl::Status Unavailable(const std::string& path) {
  return absl::UnavailableError(absl::StrCat(
      "the descriptor socket unix:", path, ": ", std::strerror(errno)));
}

bool SendWithDescriptor(int socket, std::string bytes, int fd) {
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof fd)] = {};
  iovec part = {bytes.data(), bytes.size()};
  msghdr header = {};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  cmsghdr* const item = CMSG_FIRSTHDR(&header);
  item->cmsg_level = SOL_SOCKET;
  item->cmsg_type = SCM_RIGHTS;
  item->cmsg_len = CMSG_LEN(sizeof fd);
  std::memcpy(CMSG_DATA(item), &fd, sizeof fd);
  return sendmsg(socket, &header, MSG_NOSIGNAL) ==
         static_cast<ssize_t>(bytes.size());
}

}  // namespace

absl::StatusOr<UniqueFd> ConnectToDescriptorSocket(const std::string& path) {
  return ConnectToUnixSocket(path, SOCK_SEQPACKET, kPatience);
}

absl::StatusOr<std::string> SendFd(const std::string& path,
                                   const std::string& session_token, int fd) {
  HOLDFAST_ASSIGN_OR_RETURN(const std::string token, RandomToken(kTokenBytes));
  HOLDFAST_ASSIGN_OR_RETURN(const UniqueFd socket,
                            ConnectToDescriptorSocket(path));
  if (!SendWithDescriptor(socket.get(), session_token + token, fd)) {
    return Unavailable(path);
  }
  char answer[kMaxAnswerBytes];
  const ssize_t size = recv(socket.get(), answer, sizeof answer, 0);
  if (size < 0) return Unavailable(path);
  if (size == 0) {
    return absl::UnavailableError(
        absl::StrCat("the descriptor socket unix:", path,
                     ": the executor closed the connection without an answer"));
  }
  if (size == 1 && answer[0] == '\0') return token;
  return absl::FailedPreconditionError(absl::StrCat(
      "the executor at unix:", path, " did not take a descriptor: ",
      absl::string_view(answer, static_cast<size_t>(size))));
}

}  // namespace holdfast
