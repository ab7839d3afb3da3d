// SPDX-License-Identifier: Apache-2.0
#include "server/services/joined_results.h"

#include <utility>

namespace holdfast {

void JoinedResults::AddSmall(absl::string_view results) {
  small_.append(results.data(), results.size());
  bytes_ += results.size();
}

void JoinedResults::AddLarge(grpc::Slice results) {
  CloseSmall();
  bytes_ += results.size();
  parts_.push_back(std::move(results));
}

void JoinedResults::CloseSmall() {
  if (small_.empty()) return;
  parts_.emplace_back(small_);
  small_.clear();
}

grpc::ByteBuffer JoinedResults::Take() {
  CloseSmall();
  grpc::ByteBuffer message(parts_.data(), parts_.size());
  parts_.clear();
  bytes_ = 0;
  return message;
}

}  // namespace holdfast
