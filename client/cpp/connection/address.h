// SPDX-License-Identifier: Apache-2.0
//
// The address of a daemon:
//
//   unix:PATH                      a socket of this machine
//   tcp:HOST:PORT                  plain text; [HOST] if it has colons
//   tls:HOST:PORT[?ca=FILE,cert=FILE,key=FILE,name=HOST]
//                                  ca: authorities that sign the server's
//                                  certificate (default: the system's); cert,
//                                  key: the client's certificate; name: the
//                                  name in the server's certificate; & also
//                                  separates options
//   embedded:[KEY=VALUE,...]       a private daemon for the life of the client;
//                                  device=auto|cpu|cuda (default auto),
//                                  log-level=LEVEL (default error), and
//                                  cache-directory, compiler-workers,
//                                  warm-executors and software-memcheck=true
//                                  as holdfastd's flags
#ifndef HOLDFAST_CLIENT_CPP_CONNECTION_ADDRESS_H_
#define HOLDFAST_CLIENT_CPP_CONNECTION_ADDRESS_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace holdfast {

struct Address {
  enum class Kind { kUnix, kTcp, kTls, kEmbedded };

  Kind kind = Kind::kUnix;
  // The original text, for messages.
  std::string text;
  // kUnix: the path; kTcp, kTls: "host:port"; kEmbedded: empty.
  std::string target;
  std::map<std::string, std::string> options;

  // Parses an address. INVALID_ARGUMENT: the message names the mistake and the
  // valid forms.
  static absl::StatusOr<Address> Parse(absl::string_view text);
};

// Returns the default address: $HOLDFAST_ADDRESS; else the system's socket,
// /run/holdfast/holdfast.sock, if it exists; else the user's,
// $XDG_RUNTIME_DIR/holdfast/holdfast.sock or /tmp/holdfast-UID/holdfast.sock.
std::string DefaultAddress();

// Returns the command that starts a daemon which a client finds at `address`:
// "holdfastd", with --listen for another socket than the default.
std::string CommandToStart(const Address& address);

// Checks DefaultAddress() before it is used. PERMISSION_DENIED: the socket is
// in a folder below /tmp of another user, who could read everything that is
// sent.
absl::Status CheckDefaultAddress(const Address& address);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_CONNECTION_ADDRESS_H_
