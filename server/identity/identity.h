// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_IDENTITY_IDENTITY_H_
#define HOLDFAST_SERVER_IDENTITY_IDENTITY_H_

#include <sys/types.h>

#include <string>
#include <variant>
#include <vector>

namespace holdfast {

// A process on this machine, as the kernel describes the other end of a Unix
// socket. Read once, when it connects; all ones: not known.
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

// A TCP client without a certificate: an IPv4 address, or the network of 64
// bits of an IPv6 address, since one machine may use all addresses in it.
struct AddressIdentity {
  std::string network;  // "10.0.0.7", "2001:db8::/64"
};

// The holder of a signed token that was verified.
struct TokenIdentity {
  std::string subject;              // at most 256 bytes, no control characters
  std::vector<std::string> groups;  // as the issuer names them
};

// Who makes a call: who is at the other end of its connection, or holds the
// token that it carries.
using Identity = std::variant<UserIdentity, CertificateIdentity,
                              AddressIdentity, TokenIdentity>;

// Returns the name that shares, sessions and collections go by: "uid 1000",
// "certificate NAME" with the first alternative name, else the common name,
// "ip 10.0.0.7" or "token SUBJECT". Names of different kinds never are equal.
std::string NameOf(const Identity& identity);

// Returns false for an address alone, which is nobody's name: things that are
// kept for one client must not be given to the next that has the address.
bool IsAuthenticated(const Identity& identity);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_IDENTITY_IDENTITY_H_
