// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/connection/transfer_channels.h"

#include <algorithm>
#include <utility>

#include "core/base/status_macros.h"

namespace holdfast {

std::shared_ptr<grpc::Channel> TransferChannels::Use(Entry& entry) {
  ++entry.users;
  return std::shared_ptr<grpc::Channel>(entry.channel.get(),
                                        [this, &entry](grpc::Channel*) {
                                          absl::MutexLock lock(&mutex_);
                                          --entry.users;
                                        });
}

absl::StatusOr<std::shared_ptr<grpc::Channel>> TransferChannels::Take() {
  {
    absl::MutexLock lock(&mutex_);
    // One that could not connect again makes no new attempt while nobody calls,
    // and a call on it fails at once.
    std::erase_if(entries_, [](const std::unique_ptr<Entry>& entry) {
      return entry->users == 0 &&
             entry->channel->GetState(false) == GRPC_CHANNEL_TRANSIENT_FAILURE;
    });
    const auto least = std::min_element(
        entries_.begin(), entries_.end(),
        [](const auto& a, const auto& b) { return a->users < b->users; });
    const bool enough = entries_.size() + connecting_ >= kMaxChannels;
    if (least != entries_.end() && ((*least)->users == 0 || enough)) {
      return Use(**least);
    }
    ++connecting_;
  }
  auto channel = connect_();
  absl::MutexLock lock(&mutex_);
  --connecting_;
  HOLDFAST_RETURN_IF_ERROR(channel.status());
  entries_.push_back(std::make_unique<Entry>());
  entries_.back()->channel = *std::move(channel);
  return Use(*entries_.back());
}

}  // namespace holdfast
