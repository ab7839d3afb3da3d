// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/keep_alive.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "holdfast/v1/sessions.grpc.pb.h"

namespace holdfast {

KeepAlive::KeepAlive(Connect connect, const std::string& token,
                     std::function<void(const std::string& reason)> ended)
    : connect_(std::move(connect)), ended_(std::move(ended)) {
  context_.AddMetadata("holdfast-session-token", token);
  reader_ = std::thread([this] { Run(); });
}

// A call that is made after TryCancel is cancelled, too.
KeepAlive::~KeepAlive() {
  closing_ = true;
  context_.TryCancel();
  reader_.join();
}

void KeepAlive::Run() {
  const auto channel = connect_();
  if (closing_) return;
  if (!channel.ok()) {
    return ended_(
        absl::StrCat("the daemon is gone (", channel.status().message(), ")"));
  }
  const grpc::Status status = Read(*channel);
  if (status.error_code() == grpc::StatusCode::CANCELLED) return;
  ended_("the daemon is gone (" + status.error_message() + ")");
}

grpc::Status KeepAlive::Read(const std::shared_ptr<grpc::Channel>& channel) {
  const auto sessions = v1::SessionService::NewStub(channel);
  const auto stream = sessions->KeepAlive(&context_);
  stream->Write({});
  v1::KeepAliveResponse response;
  while (stream->Read(&response)) {
    if (!response.ended_because().empty()) ended_(response.ended_because());
  }
  return stream->Finish();
}

}  // namespace holdfast
