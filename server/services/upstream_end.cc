// SPDX-License-Identifier: Apache-2.0
#include "server/services/upstream_end.h"

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/rpc/status_conversion.h"

namespace holdfast {
namespace {

// A broken connection is noticed a moment before the end of the process.
constexpr absl::Duration kLossNoticed = absl::Seconds(2);

}  // namespace

void PassTrailersOn(const grpc::ClientContext& from,
                    grpc::CallbackServerContext& to) {
  for (const auto& [key, value] : from.GetServerTrailingMetadata()) {
    if (absl::StartsWith(absl::string_view(key.data(), key.size()), "grpc-")) {
      continue;
    }
    to.AddTrailingMetadata(std::string(key.data(), key.size()),
                           std::string(value.data(), value.size()));
  }
}

bool IsBrokenConnection(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::UNAVAILABLE &&
         status.error_details().empty();
}

grpc::Status ExplainBroken(const supervisor::Session& session,
                           const grpc::Status& status) {
  const absl::Status lost = session.AwaitLoss(absl::Now() + kLossNoticed);
  return lost.ok() ? status : ToGrpcStatus(lost);
}

}  // namespace holdfast
