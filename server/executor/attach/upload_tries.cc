// SPDX-License-Identifier: Apache-2.0
#include "server/executor/attach/upload_tries.h"

#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/status_macros.h"
#include "core/base/wake_on_stop.h"

namespace holdfast::executor {
namespace {

struct Try {
  std::string id;
  uint32_t number = 0;
};

absl::StatusOr<Try> Parse(absl::string_view value) {
  const std::pair<absl::string_view, absl::string_view> words =
      absl::StrSplit(value, absl::MaxSplits('/', 1));
  Try parsed;
  if (value.size() > kTransferKey.max_bytes ||
      words.first.size() > UploadTries::kMaxIdBytes ||
      !absl::SimpleAtoi(words.second, &parsed.number)) {
    return absl::InvalidArgumentError(
        absl::StrCat(kTransferKey.name, " is not a name of at most ",
                     UploadTries::kMaxIdBytes, " bytes and a number"));
  }
  parsed.id = std::string(words.first);
  return parsed;
}

}  // namespace

// Forgets the oldest upload without calls where there are too many.
UploadTries::Upload& UploadTries::Find(const std::string& id) {
  const auto [found, added] = uploads_.try_emplace(id);
  if (!added) return found->second;
  order_.push_back(id);
  for (size_t i = 0; order_.size() > kMaxRemembered && i < order_.size(); ++i) {
    std::string oldest = std::move(order_.front());
    order_.pop_front();
    if (oldest == id || !uploads_[oldest].calls.empty()) {
      order_.push_back(std::move(oldest));
    } else {
      uploads_.erase(oldest);
    }
  }
  return found->second;
}

absl::StatusOr<std::shared_ptr<void>> UploadTries::Enter(
    grpc::ServerContextBase& context, absl::string_view which,
    const std::stop_token& cancelled) {
  if (which.empty()) return nullptr;
  HOLDFAST_ASSIGN_OR_RETURN(const Try parsed, Parse(which));
  const uint32_t number = parsed.number;
  const WakeOnStop wake(cancelled, mutex_);
  absl::MutexLock lock(&mutex_);
  Upload* const upload = &Find(parsed.id);
  if (number > upload->number) {
    upload->number = number;
    for (auto* const call : upload->calls) call->TryCancel();
    // Kept from being forgotten.
    const std::set<grpc::ServerContextBase*> earlier = upload->calls;
    const auto due = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      if (cancelled.stop_requested()) return true;
      for (auto* const call : earlier) {
        if (upload->calls.count(call) > 0) return false;
      }
      return true;
    };
    upload->calls.insert(&context);
    mutex_.Await(absl::Condition(&due));
    if (cancelled.stop_requested()) {
      upload->calls.erase(&context);
      return absl::CancelledError("given up");
    }
  }
  if (number < upload->number) {
    upload->calls.erase(&context);
    return absl::CancelledError("a later try of this upload has begun");
  }
  upload->calls.insert(&context);
  return std::shared_ptr<void>(nullptr, [this, upload, call = &context](void*) {
    absl::MutexLock leave(&mutex_);
    upload->calls.erase(call);
  });
}

}  // namespace holdfast::executor
