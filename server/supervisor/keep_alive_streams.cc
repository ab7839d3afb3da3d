// SPDX-License-Identifier: Apache-2.0
#include "server/supervisor/keep_alive_streams.h"

namespace holdfast::supervisor {

int64_t KeepAliveStreams::Add(Stream stream,
                              const std::function<bool(const Stream&)>& greet) {
  absl::MutexLock lock(&mutex_);
  const int64_t number = ++last_number_;
  if (greet(stream)) streams_[number] = std::move(stream);
  return number;
}

void KeepAliveStreams::Remove(int64_t number) {
  absl::MutexLock lock(&mutex_);
  streams_.erase(number);
}

void KeepAliveStreams::ForEach(const std::function<void(const Stream&)>& tell) {
  absl::MutexLock lock(&mutex_);
  for (const auto& [number, stream] : streams_) tell(stream);
}

void KeepAliveStreams::End(const std::string& reason) {
  absl::MutexLock lock(&mutex_);
  for (const auto& [number, stream] : std::exchange(streams_, {})) {
    stream.on_end(reason);
  }
}

}  // namespace holdfast::supervisor
