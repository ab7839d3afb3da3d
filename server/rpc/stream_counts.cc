// SPDX-License-Identifier: Apache-2.0
#include "server/rpc/stream_counts.h"

#include <grpc/grpc.h>
#include <grpc/support/alloc.h>

#include <memory>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

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

// Held while gRPC makes sockets, and while they are looked for.
absl::Mutex& SocketMutex() {
  static auto* const mutex = new absl::Mutex;
  return *mutex;
}

// Returns whether it has the lock. A socket is made in microseconds; whoever
// holds the lock for longer reads what has come by the connection, and a flood
// must not keep itself from being found.
bool LockSockets() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  for (int i = 0; i < 20; ++i) {
    if (SocketMutex().TryLock()) return true;
    absl::SleepFor(absl::Microseconds(100));
  }
  return false;
}

uint64_t Number(absl::string_view json, absl::string_view name) {
  uint64_t number = 0;
  return absl::SimpleAtoi(Member(json, name), &number) ? number : 0;
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

void GiveToGrpc(absl::FunctionRef<void()> give) {
  absl::MutexLock lock(&SocketMutex());
  give();
}

std::map<std::string, int64_t> ChannelzSockets::Discover(int64_t patience)
    ABSL_NO_THREAD_SAFETY_ANALYSIS {
  std::map<std::string, int64_t> found;
  const bool locked = LockSockets();
  for (int64_t id = next_; id < next_ + patience; ++id) {
    const Json json(grpc_channelz_get_socket(id));
    if (json == nullptr) continue;
    next_ = id + 1;
    absl::string_view name = Member(json.get(), "name");
    if (absl::ConsumePrefix(&name, "chttp2 ")) found[std::string(name)] = id;
  }
  if (locked) SocketMutex().Unlock();
  return found;
}

}  // namespace holdfast
