// SPDX-License-Identifier: Apache-2.0
//
// A limit, and the charges against it. Every bounded resource is charged before
// it is taken. The destructor of a charge gives its amount back, so that no
// path can leave it out.
//
//   HOLDFAST_ASSIGN_OR_RETURN(Charge charge, quota->Take(bytes));
//   // If Allocate fails, the destructor of `charge` gives the amount back.
//   HOLDFAST_ASSIGN_OR_RETURN(resource.memory, Allocate(bytes));
//   resource.charge = std::move(charge);
#ifndef HOLDFAST_SERVER_ACCOUNT_QUOTA_H_
#define HOLDFAST_SERVER_ACCOUNT_QUOTA_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "holdfast/v1/sessions.pb.h"

namespace holdfast {

class Quota;

// An amount that is charged to a quota until this object is destroyed. Empty by
// default. Keeps its quota alive. Not thread-safe, but may be destroyed by any
// thread.
class Charge {
 public:
  Charge() = default;
  ~Charge();
  Charge(Charge&& other) noexcept;
  Charge& operator=(Charge&& other) noexcept;

  uint64_t amount() const { return amount_; }
  // The quota that the amount is charged to; null if this charge is empty.
  const std::shared_ptr<Quota>& quota() const { return quota_; }

  // Adds the amount of `other`. If BeginReturn was called on one of the two
  // alone, its announcement is withdrawn. REQUIRES: this charge or `other` is
  // empty, or both belong to the same quota.
  void Add(Charge other);
  // Gives `part` of the amount back to the quota. REQUIRES: part <= amount().
  void Return(uint64_t part);
  // Moves `part` of the amount to a new charge. BeginReturn counts for the new
  // charge, too, if it was called. REQUIRES: part <= amount().
  Charge Split(uint64_t part);
  // Announces that the amount will be given back as soon as a device has
  // finished with the resource. The amount counts until then; see
  // Quota::IsSettled.
  void BeginReturn();

 private:
  friend class Quota;
  Charge(std::shared_ptr<Quota> quota, uint64_t amount)
      : quota_(std::move(quota)), amount_(amount) {}
  // Reverses BeginReturn.
  void EndReturn();

  std::shared_ptr<Quota> quota_;
  uint64_t amount_ = 0;
  bool returning_ = false;
};

// A limit of one kind of resource, and the amount in use. Thread-safe.
class Quota : public std::enable_shared_from_this<Quota> {
 public:
  static constexpr uint64_t kUnlimited = UINT64_MAX;

  struct Options {
    std::string name;  // "pinned memory of the session"
    std::string unit;  // "bytes"
    uint64_t limit = kUnlimited;
    std::string set_by;  // the source of the limit: "--pinned-memory"

    // `reserve` charges the amount to a quota of another process, too, and
    // `release` gives it back there. `reserve` may block; if it fails, the
    // charge fails with its error. Both are called without a lock, by any
    // thread. Null: there is no other quota.
    std::function<absl::Status(uint64_t amount)> reserve;
    std::function<void(uint64_t amount)> release;
  };

  static std::shared_ptr<Quota> Create(Options options);

  // Charges the whole amount, or nothing. RESOURCE_EXHAUSTED: the amount does
  // not fit; the error names the quota, its limit, the amount in use and the
  // requested amount, also as a QuotaExceeded. Fails also as Options::reserve.
  absl::StatusOr<Charge> Take(uint64_t amount);

  // Charges the amount even if it exceeds the limit, for memory that exists
  // already. REQUIRES: Options::reserve is null.
  Charge TakeBeyondLimit(uint64_t amount);

  // Blocks until the amount fits, and charges it. RESOURCE_EXHAUSTED: the
  // amount is over the limit, so it cannot fit. UNAVAILABLE: Close was called.
  // Fails also as Options::reserve.
  absl::StatusOr<Charge> Await(uint64_t amount);

  // Returns true if the result of Take for this amount is final. Returns false
  // if the amount would fit after the charges with BeginReturn have ended.
  // Then the thread that next gives an amount back, or withdraws an
  // announcement, calls `when_returned`, once. A later call of IsSettled that
  // returns false replaces `when_returned`.
  bool IsSettled(uint64_t amount, const std::function<void()>& when_returned);
  // Blocks until the result of Take for this amount is final, and returns true.
  // Returns false if a stop of `cancelled` is requested before.
  bool AwaitSettled(uint64_t amount, const std::stop_token& cancelled);

  // Makes present and later calls of Await fail with UNAVAILABLE.
  void Close();

  uint64_t used() const;
  // The maximum of used().
  uint64_t peak() const;
  // kUnlimited if there is no limit.
  uint64_t limit() const;
  // Changes the limit, and its source if `set_by` is given. Existing charges
  // stay; if they exceed the limit, Take fails until enough was given back.
  void SetLimit(uint64_t limit);
  void SetLimit(uint64_t limit, const std::string& set_by);
  // Includes an amount that was in use under an earlier daemon in peak().
  void NotePeak(uint64_t amount);
  // Fills in the used amount and the limit in the message for clients, where a
  // limit of 0 means that there is none.
  void Report(v1::QuotaUsage* usage) const;

 private:
  friend class Charge;

  explicit Quota(Options options)
      : options_(std::move(options)),
        limit_(options_.limit),
        set_by_(options_.set_by) {}

  // An amount of 0 always fits, even if the limit is below the used amount.
  bool Fits(uint64_t amount) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return amount == 0 || (amount <= limit_ && used_ <= limit_ - amount);
  }
  bool Settled(uint64_t amount) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Refusal(uint64_t amount) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Calls Options::reserve, if there is one, for an amount that is counted
  // here already. If that fails, subtracts the amount again.
  absl::StatusOr<Charge> Confirm(uint64_t amount);
  void Add(uint64_t amount) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Subtracts `amount` from the amount in use, and `returning` from the amount
  // that was announced by BeginReturn.
  void Subtract(uint64_t amount, uint64_t returning);
  void Return(uint64_t amount, bool returning);

  const Options options_;
  mutable absl::Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t limit_ ABSL_GUARDED_BY(mutex_);
  std::string set_by_ ABSL_GUARDED_BY(mutex_);
  uint64_t used_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t peak_ ABSL_GUARDED_BY(mutex_) = 0;       // of used_
  uint64_t returning_ ABSL_GUARDED_BY(mutex_) = 0;  // part of used_
  std::function<void()> when_returned_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_ACCOUNT_QUOTA_H_
