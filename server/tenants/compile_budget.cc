// SPDX-License-Identifier: Apache-2.0
#include "server/tenants/compile_budget.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/quota_exceeded.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

uint64_t LimitOr(uint64_t limit) {
  return limit == 0 ? Quota::kUnlimited : limit;
}

int64_t MinuteOf(absl::Time now) {
  return std::max<int64_t>(absl::ToUnixSeconds(now), 0) / 60;
}

google::protobuf::Duration ToProto(absl::Duration time) {
  google::protobuf::Duration proto;
  proto.set_seconds(absl::IDivDuration(time, absl::Seconds(1), &time));
  proto.set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(time)));
  return proto;
}

absl::Duration FromProto(const google::protobuf::Duration& proto) {
  return absl::Seconds(proto.seconds()) + absl::Nanoseconds(proto.nanos());
}

// Figures of errors are whole numbers, so these are milliseconds.
absl::Status Refusal(const std::string& tenant, absl::Duration limit,
                     absl::Duration used) {
  const QuotaExceeded exceeded = {
      .quota = absl::StrCat("compile-seconds of tenant ", tenant,
                            ", milliseconds within an hour"),
      .limit = static_cast<uint64_t>(absl::ToInt64Milliseconds(limit)),
      .used = static_cast<uint64_t>(absl::ToInt64Milliseconds(used)),
      .requested = 1};
  absl::Status status = absl::ResourceExhaustedError(absl::StrFormat(
      "compile-seconds of tenant %s: one more compilation asked for, compilers "
      "have worked %.1f s for it within the last hour, the limit is %.1f s "
      "(the tenant's quota)",
      tenant, absl::ToDoubleSeconds(used), absl::ToDoubleSeconds(limit)));
  SetQuotaExceeded(exceeded, &status);
  return status;
}

}  // namespace

CompileBudget::CompileBudget(const std::string& tenant, const Limits& limits,
                             std::shared_ptr<CompileBudget> group)
    : tenant_(tenant),
      requests_(Quota::Create(
          {.name = absl::StrCat("compile-requests of tenant ", tenant),
           .unit = "requests",
           .limit = LimitOr(limits.requests),
           .set_by = "the tenant's quota"})),
      group_(std::move(group)),
      limit_(limits.time_per_hour) {}

void CompileBudget::SetLimits(const Limits& limits) {
  requests_->SetLimit(LimitOr(limits.requests));
  absl::MutexLock lock(&mutex_);
  limit_ = limits.time_per_hour;
}

absl::StatusOr<Charge> CompileBudget::Begin(absl::Time now) {
  {
    absl::MutexLock lock(&mutex_);
    const absl::Duration used = SumAt(now);
    if (limit_ > absl::ZeroDuration() && used >= limit_) {
      return Refusal(tenant_, limit_, used);
    }
  }
  return requests_->Take(1);
}

void CompileBudget::AddTime(absl::Duration time, absl::Time now) {
  if (group_ != nullptr) group_->AddTime(time, now);
  absl::MutexLock lock(&mutex_);
  total_ += time;
  const int64_t number = MinuteOf(now);
  Minute& minute = minutes_[static_cast<size_t>(number) % kMinutes];
  if (minute.number != number) minute = {.number = number};
  minute.time += time;
}

void CompileBudget::Record(internal::TenantCounters* counters) const {
  absl::MutexLock lock(&mutex_);
  *counters->mutable_compile_time() = ToProto(total_);
  for (const Minute& minute : minutes_) {
    if (minute.time == absl::ZeroDuration()) continue;
    (*counters->mutable_compile_minutes())[minute.number] =
        ToProto(minute.time);
  }
}

void CompileBudget::Add(const internal::TenantCounters& counters) {
  absl::MutexLock lock(&mutex_);
  total_ += FromProto(counters.compile_time());
  for (const auto& [number, time] : counters.compile_minutes()) {
    if (number < 0) continue;
    Minute& minute = minutes_[static_cast<size_t>(number) % kMinutes];
    if (minute.number > number) continue;
    if (minute.number < number) minute = {.number = number};
    minute.time += FromProto(time);
  }
}

absl::Duration CompileBudget::SumAt(absl::Time now) const {
  const int64_t newest = MinuteOf(now);
  const int64_t oldest = newest - static_cast<int64_t>(kMinutes) + 1;
  absl::Duration sum;
  for (const Minute& minute : minutes_) {
    if (minute.number >= oldest && minute.number <= newest) sum += minute.time;
  }
  return sum;
}

absl::Duration CompileBudget::TimeOfLastHour(absl::Time now) const {
  absl::MutexLock lock(&mutex_);
  return SumAt(now);
}

absl::Duration CompileBudget::total_time() const {
  absl::MutexLock lock(&mutex_);
  return total_;
}

}  // namespace holdfast
