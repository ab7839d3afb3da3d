// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/attach/retried_transfer.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "absl/strings/str_cat.h"
#include "core/base/error_detail.h"
#include "core/base/fault_epoch.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

// Tries of one part; a network that breaks more often carries nothing.
constexpr uint32_t kMaxTries = 1000;

// gRPC's status of a broken connection has no detail; the daemon's status of a
// lost session has one. A suspended session has another connection afterwards.
bool ConnectionBroke(const absl::Status& status) {
  return IsSuspended(status) ||
         (absl::IsUnavailable(status) && !GetErrorDetail(status).has_value());
}

std::string MakeId() {
  static std::atomic<uint64_t> last{0};
  return absl::StrCat(getpid(), "-", ++last);
}

}  // namespace

std::string TransferTry::ToString() const {
  return absl::StrCat(id, "/", number);
}

absl::Status RetriedTransfer(
    const v1::TransferRange& range, uint64_t max_part,
    absl::FunctionRef<absl::Status(const v1::TransferRange& part,
                                   uint64_t begin, const TransferTry& which)>
        transfer,
    absl::FunctionRef<absl::Status()> await_session) {
  TransferTry which{.id = MakeId()};
  absl::Status status = transfer(range, 0, which);
  if (!ConnectionBroke(status)) return status;
  for (uint64_t begin = 0; begin < range.size(); begin += max_part) {
    v1::TransferRange part = range;
    part.set_offset(range.offset() + begin);
    part.set_size(std::min(max_part, range.size() - begin));
    for (uint32_t tries = 1;; ++tries) {
      HOLDFAST_RETURN_IF_ERROR(await_session());
      ++which.number;
      status = transfer(part, begin, which);
      if (status.ok()) break;
      if (!ConnectionBroke(status) || tries == kMaxTries) return status;
    }
  }
  return absl::OkStatus();
}

}  // namespace holdfast
