// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RPC_ENDPOINT_H_
#define HOLDFAST_SERVER_RPC_ENDPOINT_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace holdfast {

// An address on which a daemon listens: "unix:/run/holdfast/holdfast.sock",
// "tcp:127.0.0.1:7070", "tcp:[::1]:7070", "tcp:gpu7:0".
struct Endpoint {
  enum class Kind { kUnix, kTcp };

  // Parses an address of one of these forms. INVALID_ARGUMENT: the text has
  // another form, or the path is too long for a socket.
  static absl::StatusOr<Endpoint> Parse(absl::string_view text);

  // Returns the address in the form that Parse takes.
  std::string ToString() const;

  // Returns true for 127.0.0.0/8, ::1 and localhost.
  bool IsLoopback() const;

  Kind kind = Kind::kUnix;
  std::string path;
  std::string host;   // without brackets
  uint16_t port = 0;  // 0: any free port
};

// The longest path that fits into sockaddr_un with its final zero.
inline constexpr size_t kMaxSocketPathBytes = 107;

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RPC_ENDPOINT_H_
