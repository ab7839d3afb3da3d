// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/keep_alive.h"

#include <utility>

namespace holdfast {

KeepAlive::KeepAlive(v1::SessionService::StubInterface& sessions,
                     const std::string& token,
                     std::function<void(const std::string& reason)> ended)
    : ended_(std::move(ended)) {
  context_.AddMetadata("holdfast-session-token", token);
  stream_ = sessions.KeepAlive(&context_);
  stream_->Write({});
  reader_ = std::thread([this] { Read(); });
}

KeepAlive::~KeepAlive() {
  context_.TryCancel();
  reader_.join();
}

void KeepAlive::Read() {
  v1::KeepAliveResponse response;
  while (stream_->Read(&response)) {
    if (!response.ended_because().empty()) ended_(response.ended_because());
  }
  const grpc::Status status = stream_->Finish();
  if (status.error_code() == grpc::StatusCode::CANCELLED) return;
  ended_("the daemon is gone (" + status.error_message() + ")");
}

}  // namespace holdfast
