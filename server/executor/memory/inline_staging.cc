// SPDX-License-Identifier: Apache-2.0
#include "server/executor/memory/inline_staging.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"

namespace holdfast::executor {
namespace {

// Copies are fastest from and to such addresses.
constexpr size_t kAlignment = 64;

}  // namespace

InlineStaging::~InlineStaging() {
  current_ = nullptr;  // Back in the pool, unless spans are in use.
  staging_->Close();
}

bool InlineStaging::HasRoom(size_t size,
                            const std::function<void()>& when_free) {
  return Fits(size) || staging_->HasFree(when_free);
}

absl::StatusOr<InlineStaging::Span> InlineStaging::Take(size_t size) {
  if (size > staging_->block_bytes()) {
    return absl::InvalidArgumentError(
        absl::StrCat(size, " inline bytes are more than a block's ",
                     staging_->block_bytes()));
  }
  if (!Fits(size)) {
    HOLDFAST_ASSIGN_OR_RETURN(Staging::BlockPtr next, staging_->TryAcquire());
    if (next == nullptr) {
      return absl::ResourceExhaustedError("no page-locked memory is free");
    }
    current_ = std::move(next);
    used_ = 0;
  }
  Span span{current_->data() + used_, current_->device_address() + used_,
            current_};
  used_ = std::min(staging_->block_bytes(),
                   (used_ + size + kAlignment - 1) / kAlignment * kAlignment);
  // A full block is back as soon as its spans are.
  if (used_ == staging_->block_bytes()) current_ = nullptr;
  return span;
}

}  // namespace holdfast::executor
