// SPDX-License-Identifier: Apache-2.0
#include "server/account/quota.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/base/quota_exceeded.h"
#include "core/base/wake_on_stop.h"

namespace holdfast {

Charge::~Charge() { Return(amount_); }

Charge::Charge(Charge&& other) noexcept
    : quota_(std::move(other.quota_)),
      amount_(std::exchange(other.amount_, 0)),
      returning_(std::exchange(other.returning_, false)) {}

Charge& Charge::operator=(Charge&& other) noexcept {
  if (this == &other) return *this;
  Return(amount_);
  quota_ = std::move(other.quota_);
  amount_ = std::exchange(other.amount_, 0);
  returning_ = std::exchange(other.returning_, false);
  return *this;
}

void Charge::Add(Charge other) {
  if (amount_ == 0) {
    *this = std::move(other);
    return;
  }
  if (other.amount_ == 0) return;
  if (returning_ != other.returning_) {
    EndReturn();
    other.EndReturn();
  }
  amount_ += std::exchange(other.amount_, 0);
}

void Charge::Return(uint64_t part) {
  if (part == 0) return;
  amount_ -= part;
  quota_->Return(part, returning_);
}

Charge Charge::Split(uint64_t part) {
  amount_ -= part;
  Charge split(quota_, part);
  split.returning_ = returning_;
  return split;
}

void Charge::BeginReturn() {
  if (amount_ == 0 || std::exchange(returning_, true)) return;
  absl::MutexLock lock(&quota_->mutex_);
  quota_->returning_ += amount_;
}

void Charge::EndReturn() {
  if (std::exchange(returning_, false)) quota_->Subtract(0, amount_);
}

std::shared_ptr<Quota> Quota::Create(Options options) {
  return std::shared_ptr<Quota>(new Quota(std::move(options)));
}

absl::StatusOr<Charge> Quota::Take(uint64_t amount) {
  {
    absl::MutexLock lock(&mutex_);
    if (!Fits(amount)) return Refusal(amount);
    Add(amount);
  }
  return Confirm(amount);
}

Charge Quota::TakeBeyondLimit(uint64_t amount) {
  absl::MutexLock lock(&mutex_);
  Add(amount);
  return Charge(shared_from_this(), amount);
}

absl::StatusOr<Charge> Quota::Await(uint64_t amount) {
  {
    absl::MutexLock lock(&mutex_);
    // The limit may fall while this waits.
    const auto decided = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return closed_ || amount > limit_ || Fits(amount);
    };
    mutex_.Await(absl::Condition(&decided));
    if (closed_) return absl::UnavailableError("the session is being closed");
    if (amount > limit_) return Refusal(amount);
    Add(amount);
  }
  return Confirm(amount);
}

absl::StatusOr<Charge> Quota::Confirm(uint64_t amount) {
  if (options_.reserve != nullptr && amount > 0) {
    const absl::Status status = options_.reserve(amount);
    if (!status.ok()) {
      Subtract(amount, /*returning=*/0);
      return status;
    }
  }
  return Charge(shared_from_this(), amount);
}

bool Quota::Settled(uint64_t amount) const {
  return returning_ == 0 || Fits(amount) || amount > limit_ ||
         used_ - returning_ > limit_ - amount;
}

bool Quota::IsSettled(uint64_t amount,
                      const std::function<void()>& when_returned) {
  absl::MutexLock lock(&mutex_);
  if (Settled(amount)) return true;
  when_returned_ = when_returned;
  return false;
}

bool Quota::AwaitSettled(uint64_t amount, const std::stop_token& cancelled) {
  const WakeOnStop wake(cancelled, mutex_);
  absl::MutexLock lock(&mutex_);
  const auto due = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return Settled(amount) || cancelled.stop_requested();
  };
  mutex_.Await(absl::Condition(&due));
  return Settled(amount);
}

absl::Status Quota::Refusal(uint64_t amount) const {
  std::string message = absl::StrCat(
      options_.name, ": ", amount, " ", options_.unit, " asked for, ", used_,
      " are in use, the limit is ", limit_, " ", options_.unit);
  if (!set_by_.empty()) absl::StrAppend(&message, " (", set_by_, ")");
  absl::Status status = absl::ResourceExhaustedError(message);
  SetQuotaExceeded({.quota = options_.name,
                    .limit = limit_,
                    .used = used_,
                    .requested = amount},
                   &status);
  return status;
}

void Quota::Add(uint64_t amount) {
  used_ += amount;
  peak_ = std::max(peak_, used_);
}

void Quota::Subtract(uint64_t amount, uint64_t returning) {
  std::function<void()> announce;
  {
    absl::MutexLock lock(&mutex_);
    used_ -= amount;
    returning_ -= returning;
    announce = std::exchange(when_returned_, nullptr);
  }
  if (announce != nullptr) announce();
}

void Quota::Return(uint64_t amount, bool returning) {
  // The other process first: what is free here must be free there.
  if (options_.release != nullptr) options_.release(amount);
  Subtract(amount, returning ? amount : 0);
}

void Quota::Close() {
  absl::MutexLock lock(&mutex_);
  closed_ = true;
}

uint64_t Quota::used() const {
  absl::MutexLock lock(&mutex_);
  return used_;
}

uint64_t Quota::peak() const {
  absl::MutexLock lock(&mutex_);
  return peak_;
}

uint64_t Quota::limit() const {
  absl::MutexLock lock(&mutex_);
  return limit_;
}

void Quota::SetLimit(uint64_t limit) {
  absl::MutexLock lock(&mutex_);
  limit_ = limit;
}

void Quota::SetLimit(uint64_t limit, const std::string& set_by) {
  absl::MutexLock lock(&mutex_);
  limit_ = limit;
  set_by_ = set_by;
}

void Quota::NotePeak(uint64_t amount) {
  absl::MutexLock lock(&mutex_);
  peak_ = std::max(peak_, amount);
}

void Quota::Report(v1::QuotaUsage* usage) const {
  absl::MutexLock lock(&mutex_);
  usage->set_used(used_);
  usage->set_limit(limit_ == kUnlimited ? 0 : limit_);
}

}  // namespace holdfast
