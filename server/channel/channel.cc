// SPDX-License-Identifier: Apache-2.0
#include "server/channel/channel.h"

#include <errno.h>
#include <google/protobuf/message_lite.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/memfd.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

// A frame is this header, then the message's bytes unless they are in a memfd.
// Descriptors come in the order body, attachment.
struct FrameHeader {
  uint32_t body_bytes = 0;
  uint8_t body_in_memfd = 0;
  uint8_t has_attachment = 0;
  uint8_t reserved[2] = {};
};
static_assert(sizeof(FrameHeader) == 8);

// Below the smallest default of net.core.wmem_max.
constexpr size_t kMaxInlineBytes = 64 << 10;
constexpr size_t kMaxDescriptors = 2;
constexpr timeval kSendTimeout = {.tv_sec = 10, .tv_usec = 0};

absl::Status Closed() {
  return absl::UnavailableError("the other end of the channel is closed");
}

absl::Status Malformed(absl::string_view what) {
  return absl::DataLossError(absl::StrCat("malformed frame: ", what));
}

struct Frame {
  FrameHeader header;
  std::string inline_body;
  std::vector<UniqueFd> descriptors;
  // Not all descriptors that were sent have come.
  bool descriptors_cut = false;
};

absl::Status SendFrame(int socket, const FrameHeader& header,
                       absl::string_view inline_body,
                       const std::vector<int>& descriptors, int flags) {
  iovec parts[] = {{const_cast<FrameHeader*>(&header), sizeof header},
                   {const_cast<char*>(inline_body.data()), inline_body.size()}};
  msghdr message = {};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxDescriptors * sizeof(int))] = {};
  if (!descriptors.empty()) {
    const size_t bytes = descriptors.size() * sizeof(int);
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(bytes);
    cmsghdr* rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(bytes);
    std::memcpy(CMSG_DATA(rights), descriptors.data(), bytes);
  }
  while (sendmsg(socket, &message, MSG_NOSIGNAL | flags) < 0) {
    if (errno == EINTR) continue;
    if (errno == EPIPE || errno == ECONNRESET) return Closed();
    if (errno == EAGAIN) {
      return absl::DeadlineExceededError(
          "the other end of the channel does not read");
    }
    return absl::ErrnoToStatus(errno, "sendmsg on a channel");
  }
  return absl::OkStatus();
}

// Takes over every descriptor that came, so that none leaks on an error.
void TakeDescriptors(const msghdr& message, std::vector<UniqueFd>* taken) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(const_cast<msghdr*>(&message), part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) {
      continue;
    }
    const size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
      taken->emplace_back(fd);
    }
  }
}

absl::StatusOr<Frame> ReceiveFrame(int socket) {
  Frame frame;
  std::array<char, kMaxInlineBytes> buffer;
  iovec parts[] = {{&frame.header, sizeof frame.header},
                   {buffer.data(), buffer.size()}};
  msghdr message = {};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxDescriptors * sizeof(int))];
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t size;
  do {
    size = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (size < 0 && errno == EINTR);
  if (size < 0 && errno == ECONNRESET) return Closed();
  if (size < 0) return absl::ErrnoToStatus(errno, "recvmsg on a channel");
  // First of all: an empty message, which looks like the end, may have some.
  TakeDescriptors(message, &frame.descriptors);
  if (size == 0) return Closed();
  if (message.msg_flags & MSG_TRUNC) return Malformed("longer than the limit");
  frame.descriptors_cut = (message.msg_flags & MSG_CTRUNC) != 0;
  if (static_cast<size_t>(size) < sizeof frame.header) {
    return Malformed("shorter than its header");
  }
  frame.inline_body.assign(buffer.data(), size - sizeof frame.header);
  return frame;
}

size_t AnnouncedDescriptors(const FrameHeader& header) {
  return (header.body_in_memfd ? 1 : 0) + (header.has_attachment ? 1 : 0);
}

absl::Status CheckFrame(const Frame& frame) {
  const FrameHeader& header = frame.header;
  if (header.body_bytes > Channel::kMaxMessageBytes) {
    return Malformed(absl::StrCat(header.body_bytes, " bytes announced"));
  }
  const size_t expected_inline = header.body_in_memfd ? 0 : header.body_bytes;
  if (frame.inline_body.size() != expected_inline) {
    return Malformed(absl::StrCat(expected_inline, " bytes announced, ",
                                  frame.inline_body.size(), " came"));
  }
  const size_t expected_descriptors = AnnouncedDescriptors(header);
  const size_t came = frame.descriptors.size();
  if (frame.descriptors_cut && came >= expected_descriptors) {
    return Malformed("too many descriptors");
  }
  if (!frame.descriptors_cut && came != expected_descriptors) {
    return Malformed(absl::StrCat(expected_descriptors,
                                  " descriptors announced, ", came, " came"));
  }
  return absl::OkStatus();
}

// The kernel drops descriptors for which the process has no numbers left.
absl::Status NoDescriptorLeft(const Frame& frame) {
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  return absl::ResourceExhaustedError(absl::StrCat(
      "a message brings ", AnnouncedDescriptors(frame.header),
      " descriptors, and process ", getpid(), " has ", frame.descriptors.size(),
      " left of its ", limit.rlim_cur, " (ulimit -n)"));
}

// Reads rather than maps: a memfd that its sender truncates must not become a
// SIGBUS here.
absl::StatusOr<std::string> ReadBody(int fd, size_t size) {
  std::string body(size, '\0');
  size_t done = 0;
  while (done < size) {
    const ssize_t n =
        pread(fd, body.data() + done, size - done, static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return absl::ErrnoToStatus(errno, "read a message's memfd");
    if (n == 0) return Malformed("its memfd is too short");
    done += static_cast<size_t>(n);
  }
  return body;
}

absl::Status WaitReadable(int socket, absl::Time deadline) {
  while (true) {
    int timeout_ms = -1;
    if (deadline != absl::InfiniteFuture()) {
      const int64_t left = absl::ToInt64Milliseconds(deadline - absl::Now() +
                                                     absl::Milliseconds(1));
      timeout_ms = static_cast<int>(std::clamp<int64_t>(left, 0, INT_MAX));
    }
    pollfd waiting = {.fd = socket, .events = POLLIN};
    const int ready = poll(&waiting, 1, timeout_ms);
    if (ready > 0) return absl::OkStatus();
    if (ready == 0) {
      return absl::DeadlineExceededError("no message came in time");
    }
    if (errno != EINTR) return absl::ErrnoToStatus(errno, "poll a channel");
  }
}

}  // namespace

absl::StatusOr<std::pair<UniqueFd, UniqueFd>> Channel::CreatePair() {
  int fds[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0) {
    return absl::ErrnoToStatus(errno, "socketpair for a channel");
  }
  std::pair<UniqueFd, UniqueFd> ends{UniqueFd(fds[0]), UniqueFd(fds[1])};
  for (const int fd : fds) {
    if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &kSendTimeout,
                   sizeof kSendTimeout) != 0) {
      return absl::ErrnoToStatus(errno, "set a channel's time limit");
    }
  }
  return ends;
}

absl::Status Channel::Send(const google::protobuf::MessageLite& message,
                           int fd) {
  return Send(message, fd, /*flags=*/0);
}

absl::Status Channel::TrySend(const google::protobuf::MessageLite& message,
                              int fd) {
  return Send(message, fd, MSG_DONTWAIT);
}

absl::Status Channel::Send(const google::protobuf::MessageLite& message, int fd,
                           int flags) {
  const size_t size = message.ByteSizeLong();
  if (size > kMaxMessageBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a message of ", size, " bytes is over the limit of ",
                     kMaxMessageBytes));
  }
  std::string body = message.SerializeAsString();
  FrameHeader header;
  header.body_bytes = static_cast<uint32_t>(body.size());
  header.has_attachment = fd >= 0;
  std::vector<int> descriptors;
  UniqueFd body_fd;
  if (body.size() > kMaxInlineBytes) {
    HOLDFAST_ASSIGN_OR_RETURN(body_fd,
                              CreateSealedMemfd("holdfast-message", body));
    header.body_in_memfd = 1;
    descriptors.push_back(body_fd.get());
    body.clear();
  }
  if (fd >= 0) descriptors.push_back(fd);
  return SendFrame(socket_.get(), header, body, descriptors, flags);
}

absl::StatusOr<UniqueFd> Channel::Receive(
    google::protobuf::MessageLite* message, absl::Time deadline) {
  if (deadline != absl::InfiniteFuture()) {
    HOLDFAST_RETURN_IF_ERROR(WaitReadable(socket_.get(), deadline));
  }
  HOLDFAST_ASSIGN_OR_RETURN(Frame frame, ReceiveFrame(socket_.get()));
  HOLDFAST_RETURN_IF_ERROR(CheckFrame(frame));
  if (frame.header.body_in_memfd && frame.descriptors.empty()) {
    return NoDescriptorLeft(frame);
  }
  if (frame.header.body_in_memfd) {
    HOLDFAST_ASSIGN_OR_RETURN(
        frame.inline_body,
        ReadBody(frame.descriptors.front().get(), frame.header.body_bytes));
  }
  if (!message->ParseFromString(frame.inline_body)) {
    return Malformed(absl::StrCat("not a ", message->GetTypeName()));
  }
  if (frame.descriptors_cut) return NoDescriptorLeft(frame);
  if (!frame.header.has_attachment) return UniqueFd();
  return std::move(frame.descriptors.back());
}

void Channel::Shutdown() { shutdown(socket_.get(), SHUT_RDWR); }

}  // namespace holdfast
