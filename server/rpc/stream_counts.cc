// SPDX-License-Identifier: Apache-2.0
#include "server/rpc/stream_counts.h"

#include <grpc/grpc.h>
#include <grpc/support/alloc.h>

#include <memory>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace holdfast {
namespace {

struct GprDeleter {
  void operator()(char* text) const { gpr_free(text); }
};
using Json = std::unique_ptr<char, GprDeleter>;

// Returns the text of the first string member with this name. gRPC writes the
// JSON without spaces, 64-bit numbers as strings, and leaves zeros out; no
// member that is sought here holds text of a client's.
absl::string_view Member(absl::string_view json, absl::string_view name) {
  const std::string key = "\"" + std::string(name) + "\":\"";
  const size_t at = json.find(key);
  if (at == absl::string_view::npos) return {};
  json.remove_prefix(at + key.size());
  return json.substr(0, json.find('"'));
}

uint64_t Number(absl::string_view json, absl::string_view name) {
  uint64_t number = 0;
  return absl::SimpleAtoi(Member(json, name), &number) ? number : 0;
}

// Has gRPC give a number out, to a server that is made for that, and returns
// it: servers from `least` on are few. Returns `least` if channelz is off.
int64_t NewNumber(int64_t least) {
  grpc_server* const server = grpc_server_create(nullptr, nullptr);
  const Json json(grpc_channelz_get_servers(least));
  grpc_server_destroy(server);
  absl::string_view servers = json == nullptr ? "" : json.get();
  const size_t last = servers.rfind("\"serverId\"");
  if (last == absl::string_view::npos) return least;
  return static_cast<int64_t>(Number(servers.substr(last), "serverId"));
}

}  // namespace

std::optional<StreamCounts> ReadStreamCounts(int64_t channelz_socket) {
  const Json json(grpc_channelz_get_socket(channelz_socket));
  if (json == nullptr) return std::nullopt;
  StreamCounts counts;
  counts.succeeded = Number(json.get(), "streamsSucceeded");
  counts.failed = Number(json.get(), "streamsFailed");
  counts.started = Number(json.get(), "streamsStarted");
  // gRPC counts in several threads and reads the sum first.
  if (counts.started < counts.succeeded + counts.failed) {
    counts.started = counts.succeeded + counts.failed;
  }
  return counts;
}

std::map<std::string, int64_t> ChannelzSockets::Discover(absl::Time now) {
  std::map<std::string, int64_t> found;
  if (mark_ != 0 && now >= marked_ + kSettle) {
    for (; next_ < mark_; ++next_) {
      const Json json(grpc_channelz_get_socket(next_));
      if (json == nullptr) continue;
      absl::string_view name = Member(json.get(), "name");
      if (absl::ConsumePrefix(&name, "chttp2 ")) {
        found[std::string(name)] = next_;
      }
    }
    mark_ = 0;
  }
  if (mark_ == 0) {
    mark_ = NewNumber(next_);
    marked_ = now;
  }
  return found;
}

}  // namespace holdfast
