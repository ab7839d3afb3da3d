// SPDX-License-Identifier: Apache-2.0
#include "server/executor/transfer/piece_progress.h"

namespace holdfast::executor {

uint64_t PieceProgress::Start(const std::vector<Piece>& pieces) {
  absl::MutexLock lock(&mutex_);
  const uint64_t first = reported_ + pieces_.size();
  if (pieces_.empty() && !pieces.empty()) events_.unfinished(true);
  for (const Piece& piece : pieces) pieces_.push_back({piece, std::nullopt});
  return first;
}

void PieceProgress::End(uint64_t number, const absl::Status& status) {
  absl::MutexLock lock(&mutex_);
  if (number < reported_) return;
  std::optional<absl::Status>& end = pieces_[number - reported_].end;
  if (end.has_value()) return;
  end = status;
  while (!pieces_.empty() && pieces_.front().end.has_value()) {
    Report();
    pieces_.pop_front();
    ++reported_;
    if (pieces_.empty()) events_.unfinished(false);
  }
}

void PieceProgress::Report() {
  if (!status_.ok()) return;
  const Entry& first = pieces_.front();
  status_ = first.end->ok() ? events_.copied(first.piece) : *first.end;
  if (!status_.ok()) events_.failed();
}

absl::Status PieceProgress::status() const {
  absl::MutexLock lock(&mutex_);
  return status_;
}

absl::Status PieceProgress::Finish() {
  absl::MutexLock lock(&mutex_);
  const auto finished = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return pieces_.empty();
  };
  mutex_.Await(absl::Condition(&finished));
  return status_;
}

}  // namespace holdfast::executor
