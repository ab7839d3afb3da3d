// SPDX-License-Identifier: Apache-2.0
//
// One limit, and the charges against it. Everything that is bounded is charged
// before it is taken; the charge is an object that gives its amount back when
// it is destroyed, so that no path forgets to.
//
//   HOLDFAST_ASSIGN_OR_RETURN(Charge charge, quota->Take(bytes));
//   // If this fails, the charge gives the amount back.
//   HOLDFAST_ASSIGN_OR_RETURN(resource.memory, Allocate(bytes));
//   resource.charge = std::move(charge);
#ifndef HOLDFAST_SERVER_EXECUTOR_ACCOUNT_QUOTA_H_
#define HOLDFAST_SERVER_EXECUTOR_ACCOUNT_QUOTA_H_

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

// An amount that is charged to a quota until this object ends. Empty by
// default. Keeps its quota alive. Not thread-safe; may be destroyed by any
// thread.
class Charge {
 public:
  Charge() = default;
  ~Charge();
  Charge(Charge&& other) noexcept;
  Charge& operator=(Charge&& other) noexcept;

  uint64_t amount() const { return amount_; }

  // Takes over `other`. REQUIRES: either is empty, or both are of one quota.
  void Add(Charge other);
  // Returns `part` of the amount. REQUIRES: part <= amount().
  void Return(uint64_t part);
  // Takes `part` of the amount out into a charge of its own. REQUIRES:
  // part <= amount().
  Charge Split(uint64_t part);
  // Announces that the amount is returned as soon as a device has finished with
  // what it stands for. It still counts; see Quota::IsSettled.
  void BeginReturn();

 private:
  friend class Quota;
  Charge(std::shared_ptr<Quota> quota, uint64_t amount)
      : quota_(std::move(quota)), amount_(amount) {}

  std::shared_ptr<Quota> quota_;
  uint64_t amount_ = 0;
  bool returning_ = false;
};

// Thread-safe.
class Quota : public std::enable_shared_from_this<Quota> {
 public:
  static constexpr uint64_t kUnlimited = UINT64_MAX;

  struct Options {
    std::string name;  // "pinned memory of the session"
    std::string unit;  // "bytes"
    uint64_t limit = kUnlimited;
    std::string set_by;  // where the limit comes from: "--pinned-memory"

    // A quota of another process that has to agree as well; may be null.
    // `reserve` may block and fails with RESOURCE_EXHAUSTED; `release` undoes
    // it. Called without a lock, by any thread.
    std::function<absl::Status(uint64_t amount)> reserve;
    std::function<void(uint64_t amount)> release;
  };

  static std::shared_ptr<Quota> Create(Options options);

  // All or nothing. RESOURCE_EXHAUSTED names the quota, its limit, the amount
  // in use and the amount asked for, also as a QuotaExceeded.
  absl::StatusOr<Charge> Take(uint64_t amount);

  // Counts the amount even if it does not fit: of memory that is there already.
  // REQUIRES: no other process has to agree.
  Charge TakeBeyondLimit(uint64_t amount);

  // Blocks until the amount fits. RESOURCE_EXHAUSTED: it never will;
  // UNAVAILABLE: Close was called.
  absl::StatusOr<Charge> Await(uint64_t amount);

  // Is Take's answer for this amount final? It is not while the amount would
  // fit once all charges that are being returned are back. Then `when_returned`
  // is called after the next return, once, by the thread that returns.
  bool IsSettled(uint64_t amount, const std::function<void()>& when_returned);
  // Blocks until it is; false if it still is not when `cancelled`.
  bool AwaitSettled(uint64_t amount, const std::stop_token& cancelled);

  // Await fails from now on.
  void Close();

  uint64_t used() const;
  // The most that was in use at a time.
  uint64_t peak() const;
  // kUnlimited: there is none.
  uint64_t limit() const;
  // Nothing that is held is taken away: if that is more, nothing can be taken
  // until enough has been returned.
  void SetLimit(uint64_t limit);
  void SetLimit(uint64_t limit, const std::string& set_by);
  // Counts an amount that was in use earlier, under another daemon, for peak().
  void NotePeak(uint64_t amount);
  // As clients are told: a limit of 0 stands for none.
  void Report(v1::QuotaUsage* usage) const;

 private:
  friend class Charge;

  explicit Quota(Options options)
      : options_(std::move(options)),
        limit_(options_.limit),
        set_by_(options_.set_by) {}

  // Nothing always fits, also when a limit has fallen below what is in use.
  bool Fits(uint64_t amount) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return amount == 0 || (amount <= limit_ && used_ <= limit_ - amount);
  }
  bool Settled(uint64_t amount) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Refusal(uint64_t amount) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // `amount` is counted already: asks the other process, if there is one.
  absl::StatusOr<Charge> Confirm(uint64_t amount);
  void Add(uint64_t amount) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Subtract(uint64_t amount, bool returning);
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

#endif  // HOLDFAST_SERVER_EXECUTOR_ACCOUNT_QUOTA_H_
