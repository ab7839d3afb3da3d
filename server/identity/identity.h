// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_IDENTITY_IDENTITY_H_
#define HOLDFAST_SERVER_IDENTITY_IDENTITY_H_

#include <sys/types.h>

#include <string>
#include <variant>
#include <vector>

namespace holdfast {

// The user of a process on this machine, as the kernel reports it for the other
// end of a Unix socket. Read once, when the process connects. A number of all
// ones is not known.
struct UserIdentity {
  uid_t uid = static_cast<uid_t>(-1);
  gid_t gid = static_cast<gid_t>(-1);
  std::vector<gid_t> groups;  // supplementary
};

// A client certificate that the TLS handshake has verified.
struct CertificateIdentity {
  std::string subject;  // "CN=trainer,O=Example", as OpenSSL prints it
  std::string common_name;
  std::vector<std::string> alternative_names;  // DNS names, URIs, addresses
};

// A TCP client without a certificate: its IPv4 address, or the /64 network of
// its IPv6 address, because one machine may use all addresses of a /64 network.
struct AddressIdentity {
  std::string network;  // "10.0.0.7", "2001:db8::/64"
};

// The holder of a signed token that was verified.
struct TokenIdentity {
  std::string subject;              // at most 256 bytes, no control characters
  std::vector<std::string> groups;  // as the issuer names them
};

// The author of a call: the other end of its connection, or the holder of the
// token that it carries.
using Identity = std::variant<UserIdentity, CertificateIdentity,
                              AddressIdentity, TokenIdentity>;

// Returns the client's name, to which shares, sessions and collections belong:
// "uid 1000", "ip 10.0.0.7", "token SUBJECT", or "certificate NAME". NAME is
// the certificate's first alternative name or, if there is none, its common
// name. Names of different kinds are never equal.
std::string NameOf(const Identity& identity);

// Returns true if the identity is proven. An address is not: what belongs to
// one client must not pass to the next client with the same address.
bool IsAuthenticated(const Identity& identity);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_IDENTITY_IDENTITY_H_
