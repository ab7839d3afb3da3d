// SPDX-License-Identifier: Apache-2.0
#include "server/rpc/endpoint.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace holdfast {
namespace {

absl::Status Malformed(absl::string_view text, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("address \"", text, "\": ", why));
}

absl::StatusOr<Endpoint> ParseUnix(absl::string_view text,
                                   absl::string_view path) {
  if (path.empty() || path.front() != '/') {
    return Malformed(text, "expected unix:/absolute/path");
  }
  if (path.size() > kMaxSocketPathBytes) {
    return Malformed(text, absl::StrCat("the path has ", path.size(),
                                        " bytes, a Unix socket's may have ",
                                        kMaxSocketPathBytes));
  }
  Endpoint endpoint;
  endpoint.path = std::string(path);
  return endpoint;
}

absl::StatusOr<Endpoint> ParseTcp(absl::string_view text,
                                  absl::string_view rest) {
  const size_t colon = rest.rfind(':');
  if (colon == absl::string_view::npos) {
    return Malformed(text, "expected tcp:HOST:PORT");
  }
  absl::string_view host = rest.substr(0, colon);
  if (absl::ConsumePrefix(&host, "[") && !absl::ConsumeSuffix(&host, "]")) {
    return Malformed(text, "no ] after the IPv6 address");
  }
  uint32_t port = 0;
  if (!absl::SimpleAtoi(rest.substr(colon + 1), &port) || port > 65535) {
    return Malformed(text, "the port must be a number from 0 to 65535");
  }
  if (host.empty()) {
    return Malformed(text, "no host; 0.0.0.0 or [::] means every interface");
  }
  Endpoint endpoint;
  endpoint.kind = Endpoint::Kind::kTcp;
  endpoint.host = std::string(host);
  endpoint.port = static_cast<uint16_t>(port);
  return endpoint;
}

}  // namespace

absl::StatusOr<Endpoint> Endpoint::Parse(absl::string_view text) {
  absl::string_view rest = text;
  if (absl::ConsumePrefix(&rest, "unix:")) return ParseUnix(text, rest);
  if (absl::ConsumePrefix(&rest, "tcp:")) return ParseTcp(text, rest);
  return Malformed(text, "expected unix:PATH or tcp:HOST:PORT");
}

std::string Endpoint::ToString() const {
  if (kind == Kind::kUnix) return absl::StrCat("unix:", path);
  const bool ipv6 = absl::StrContains(host, ':');
  return absl::StrCat("tcp:", ipv6 ? "[" : "", host, ipv6 ? "]" : "", ":",
                      port);
}

// A name that only looks like such an address is one of DNS's.
bool Endpoint::IsLoopback() const {
  if (kind != Kind::kTcp) return false;
  in_addr ipv4 = {};
  if (inet_pton(AF_INET, host.c_str(), &ipv4) == 1) {
    return ntohl(ipv4.s_addr) >> 24 == 127;
  }
  in6_addr ipv6 = {};
  if (inet_pton(AF_INET6, host.c_str(), &ipv6) == 1) {
    return IN6_IS_ADDR_LOOPBACK(&ipv6);
  }
  return host == "localhost";
}

}  // namespace holdfast
