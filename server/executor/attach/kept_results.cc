// SPDX-License-Identifier: Apache-2.0
#include "server/executor/attach/kept_results.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace holdfast::executor {

void KeptResults::Append(Batch batch) {
  batch.first_ = total_;
  total_ += batch.count_;
  kept_.push_back(std::move(batch));
}

void KeptResults::Add(Batch batch) {
  unsent_bytes_ += batch.bytes_.size();
  Append(std::move(batch));
}

void KeptResults::AddSent(Batch batch) {
  sent_bytes_ += batch.bytes_.size();
  Append(std::move(batch));
  ++next_;
  DropOldest();
}

void KeptResults::DropOldest() {
  while (sent_bytes_ > kMaxSent && next_ > 0) {
    sent_bytes_ -= kept_.front().bytes_.size();
    kept_.pop_front();
    --next_;
  }
}

// A batch of which the client has the first results is sent without them.
absl::Status KeptResults::ContinueAfter(uint64_t results_read) {
  const uint64_t oldest = kept_.empty() ? total_ : kept_.front().first_;
  if (results_read > total_ || results_read < oldest) {
    return absl::OutOfRangeError(
        absl::StrCat("the client has read ", results_read, " results of ",
                     total_, "; those behind ", oldest, " are kept"));
  }
  next_ = 0;
  skip_ = 0;
  sent_bytes_ = 0;
  unsent_bytes_ = 0;
  for (const Batch& batch : kept_) {
    if (batch.first_ + batch.count_ <= results_read) {
      ++next_;
      sent_bytes_ += batch.bytes_.size();
      continue;
    }
    if (batch.first_ < results_read) skip_ = results_read - batch.first_;
    unsent_bytes_ += batch.bytes_.size();
  }
  return absl::OkStatus();
}

void KeptResults::TakeNext(v1::ResultBatch* batch) {
  const Batch& next = kept_[next_++];
  batch->ParseFromString(next.bytes_);
  batch->mutable_results()->DeleteSubrange(
      0, static_cast<int>(std::exchange(skip_, 0)));
  sent_bytes_ += next.bytes_.size();
  unsent_bytes_ -= next.bytes_.size();
  DropOldest();
}

}  // namespace holdfast::executor
