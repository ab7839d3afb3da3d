// SPDX-License-Identifier: Apache-2.0
#include "tests/server/testing/raw_http2.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <utility>

namespace holdfast {
namespace {

UniqueFd Connected(int family, const sockaddr* address, socklen_t size) {
  UniqueFd fd(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (connect(fd.get(), address, size) != 0) return UniqueFd();
  return fd;
}

UniqueFd Connect(const std::string& address) {
  if (address.rfind("unix:", 0) == 0) {
    sockaddr_un name = {};
    name.sun_family = AF_UNIX;
    address.substr(5).copy(name.sun_path, sizeof name.sun_path - 1);
    return Connected(AF_UNIX, reinterpret_cast<sockaddr*>(&name), sizeof name);
  }
  const size_t colon = address.rfind(':');
  sockaddr_in name = {};
  name.sin_family = AF_INET;
  name.sin_port =
      htons(static_cast<uint16_t>(std::stoi(address.substr(colon + 1))));
  inet_pton(AF_INET, address.substr(0, colon).c_str(), &name.sin_addr);
  return Connected(AF_INET, reinterpret_cast<sockaddr*>(&name), sizeof name);
}

// HPACK: a literal field that is not indexed, with a literal name.
std::string Field(const std::string& name, const std::string& value) {
  std::string field(1, '\0');
  field.push_back(static_cast<char>(name.size()));
  field += name;
  field.push_back(static_cast<char>(value.size()));
  return field + value;
}

}  // namespace

RawHttp2::RawHttp2(const std::string& address) : fd_(Connect(address)) {}

bool RawHttp2::Begin() {
  AddSettings();
  return SendAll("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" +
                 std::exchange(pending_, ""));
}

void RawHttp2::AddFrame(uint8_t type, uint8_t flags, uint32_t stream,
                        const std::string& payload) {
  const uint32_t size = htonl(static_cast<uint32_t>(payload.size()));
  const uint32_t id = htonl(stream);
  pending_.append(reinterpret_cast<const char*>(&size) + 1, 3);
  pending_.push_back(static_cast<char>(type));
  pending_.push_back(static_cast<char>(flags));
  pending_.append(reinterpret_cast<const char*>(&id), 4);
  pending_ += payload;
}

void RawHttp2::AddHeaders(uint32_t stream, const std::string& path) {
  constexpr uint8_t kHeaders = 1, kEndHeaders = 4;
  // Indexed: ":method: POST", ":scheme: http".
  AddFrame(kHeaders, kEndHeaders, stream,
           "\x83\x86" + Field(":path", path) + Field(":authority", "x") +
               Field("content-type", "application/grpc") +
               Field("te", "trailers"));
}

void RawHttp2::AddReset(uint32_t stream) {
  constexpr uint8_t kReset = 3;
  AddFrame(kReset, 0, stream, std::string("\0\0\0\x08", 4));  // CANCEL
}

bool RawHttp2::Flush() {
  char sink[64 << 10];
  while (recv(fd_.get(), sink, sizeof sink, MSG_DONTWAIT) > 0) {
  }
  return SendAll(std::exchange(pending_, ""));
}

bool RawHttp2::SendAll(const std::string& bytes) {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n =
        send(fd_.get(), bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<size_t>(n);
  }
  return true;
}

bool RawHttp2::IsClosed(int milliseconds) {
  pollfd event = {.fd = fd_.get(), .events = POLLIN};
  while (poll(&event, 1, milliseconds) > 0) {
    char sink[4096];
    if (recv(fd_.get(), sink, sizeof sink, MSG_DONTWAIT) <= 0) return true;
  }
  return false;
}

}  // namespace holdfast
