// SPDX-License-Identifier: Apache-2.0
#include "client/cli/collection/read_ahead.h"

#include <utility>

namespace holdfast::cli {

ReadAhead::ReadAhead(Read read)
    : thread_([this, read = std::move(read)] {
        absl::Status status =
            read([this](size_t array, uint64_t offset, std::string& bytes) {
              return Put(array, offset, bytes);
            });
        absl::MutexLock lock(&mutex_);
        ended_ = std::move(status);
      }) {}

ReadAhead::~ReadAhead() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_.join();
}

bool ReadAhead::Put(size_t array, uint64_t offset, std::string& bytes) {
  absl::MutexLock lock(&mutex_);
  const auto has_room = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || pieces_.size() < kMaxAhead;
  };
  mutex_.Await(absl::Condition(&has_room));
  if (stopping_) return false;
  pieces_.push_back({array, offset, std::move(bytes)});
  bytes.clear();
  if (!spare_.empty()) {
    bytes = std::move(spare_.back());
    spare_.pop_back();
  }
  return true;
}

void ReadAhead::Recycle(ArrayPiece piece) {
  absl::MutexLock lock(&mutex_);
  spare_.push_back(std::move(piece.bytes));
}

absl::StatusOr<std::optional<ArrayPiece>> ReadAhead::Next() {
  absl::MutexLock lock(&mutex_);
  const auto has_news = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !pieces_.empty() || ended_.has_value();
  };
  mutex_.Await(absl::Condition(&has_news));
  if (pieces_.empty()) {
    if (!ended_->ok()) return *ended_;
    return std::nullopt;
  }
  std::optional<ArrayPiece> piece = std::move(pieces_.front());
  pieces_.pop_front();
  return piece;
}

}  // namespace holdfast::cli
