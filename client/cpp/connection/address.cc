// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/connection/address.h"

#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

constexpr char kSystemSocket[] = "/run/holdfast/holdfast.sock";

absl::Status Malformed(absl::string_view text, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(
      "address \"", text, "\": ", what,
      "; the forms are unix:PATH, tcp:HOST:PORT, tls:HOST:PORT?ca=FILE, "
      "embedded:"));
}

absl::Status ParseOptions(absl::string_view list,
                          std::initializer_list<absl::string_view> known,
                          Address* address) {
  for (absl::string_view item :
       absl::StrSplit(list, absl::ByAnyChar(",&"), absl::SkipEmpty())) {
    const std::pair<absl::string_view, absl::string_view> option =
        absl::StrSplit(item, absl::MaxSplits('=', 1));
    bool valid = absl::StrContains(item, '=');
    bool found = false;
    for (absl::string_view name : known) found |= option.first == name;
    if (!valid || !found) {
      return Malformed(address->text,
                       absl::StrCat("\"", item, "\" is not one of the options ",
                                    absl::StrJoin(known, "=, "), "="));
    }
    address->options[std::string(option.first)] = std::string(option.second);
  }
  return absl::OkStatus();
}

std::string UsersAddress() {
  if (const char* directory = std::getenv("XDG_RUNTIME_DIR");
      directory != nullptr && *directory != '\0') {
    return absl::StrCat("unix:", directory, "/holdfast/holdfast.sock");
  }
  return absl::StrCat("unix:/tmp/holdfast-", getuid(), "/holdfast.sock");
}

bool IsNamedByEnvironment() {
  const char* const address = std::getenv("HOLDFAST_ADDRESS");
  return address != nullptr && *address != '\0';
}

// ": did you mean tcp:localhost:7070?"; empty if there is nothing to suggest.
std::string Suggestion(absl::string_view text) {
  absl::string_view form;
  if (absl::ConsumePrefix(&text, "http://")) form = "tcp:";
  if (absl::ConsumePrefix(&text, "https://")) form = "tls:";
  if (absl::StartsWith(text, "/")) form = "unix:";
  if (form.empty() && absl::StrContains(text, ':')) form = "tcp:";
  if (text == "embedded") return ": did you mean embedded:?";
  if (form.empty()) return "";
  return absl::StrCat(": did you mean ", form, text, "?");
}

absl::Status CheckPath(const Address& address) {
  const size_t limit = sizeof(sockaddr_un::sun_path) - 1;
  if (address.target.empty()) return Malformed(address.text, "no path");
  if (address.target.size() > limit) {
    return Malformed(address.text,
                     absl::StrCat("the path has ", address.target.size(),
                                  " bytes, the limit is ", limit));
  }
  return absl::OkStatus();
}

absl::Status CheckHostAndPort(const Address& address) {
  const size_t colon = address.target.rfind(':');
  if (colon == std::string::npos || colon == 0) {
    return Malformed(address.text, "HOST:PORT is wanted");
  }
  const absl::string_view target = address.target;
  const absl::string_view host = target.substr(0, colon);
  const absl::string_view port = target.substr(colon + 1);
  uint32_t number = 0;
  if (!absl::SimpleAtoi(port, &number) || number == 0 || number > 65535) {
    return Malformed(address.text,
                     absl::StrCat("\"", port, "\" is not a port, 1 .. 65535"));
  }
  if (absl::StrContains(host, ':') &&
      !(absl::StartsWith(host, "[") && absl::EndsWith(host, "]"))) {
    return Malformed(address.text, "an IPv6 address needs brackets");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Address> Address::Parse(absl::string_view text) {
  Address address;
  address.text = std::string(text);
  absl::string_view rest = text;
  if (absl::ConsumePrefix(&rest, "unix:")) {
    address.target = std::string(rest);
    HOLDFAST_RETURN_IF_ERROR(CheckPath(address));
  } else if (absl::ConsumePrefix(&rest, "tcp:")) {
    address.kind = Kind::kTcp;
    address.target = std::string(rest);
    HOLDFAST_RETURN_IF_ERROR(CheckHostAndPort(address));
  } else if (absl::ConsumePrefix(&rest, "tls:")) {
    address.kind = Kind::kTls;
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(rest, absl::MaxSplits('?', 1));
    address.target = std::string(parts.first);
    HOLDFAST_RETURN_IF_ERROR(CheckHostAndPort(address));
    HOLDFAST_RETURN_IF_ERROR(
        ParseOptions(parts.second, {"ca", "cert", "key", "name"}, &address));
  } else if (absl::ConsumePrefix(&rest, "embedded:")) {
    address.kind = Kind::kEmbedded;
    HOLDFAST_RETURN_IF_ERROR(ParseOptions(
        rest,
        {"device", "log-level", "cache-directory", "compiler-workers",
         "warm-executors", "software-memcheck"},
        &address));
  } else {
    return Malformed(text, absl::StrCat("unknown form", Suggestion(text)));
  }
  return address;
}

std::string DefaultAddress() {
  if (IsNamedByEnvironment()) return std::getenv("HOLDFAST_ADDRESS");
  if (access(kSystemSocket, F_OK) == 0) {
    return absl::StrCat("unix:", kSystemSocket);
  }
  return UsersAddress();
}

std::string CommandToStart(const Address& address) {
  // Root's daemon listens on the system's socket, which clients try first.
  const bool is_default = address.text == UsersAddress() ||
                          (getuid() == 0 && address.target == kSystemSocket);
  if (address.kind != Address::Kind::kUnix || is_default) return "holdfastd";
  return absl::StrCat("holdfastd --listen=", address.text);
}

absl::Status CheckDefaultAddress(const Address& address) {
  if (IsNamedByEnvironment() || address.kind != Address::Kind::kUnix ||
      !absl::StartsWith(address.target, "/tmp/")) {
    return absl::OkStatus();
  }
  const std::string folder =
      address.target.substr(0, address.target.rfind('/'));
  struct stat info = {};
  if (lstat(folder.c_str(), &info) != 0 || info.st_uid == getuid()) {
    return absl::OkStatus();
  }
  return absl::PermissionDeniedError(
      absl::StrCat(folder, " was made by another user (", info.st_uid,
                   "), whose daemon is not used without being asked for: "
                   "HOLDFAST_ADDRESS=",
                   address.text, " asks for it"));
}

}  // namespace holdfast
