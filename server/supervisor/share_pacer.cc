// SPDX-License-Identifier: Apache-2.0
#include "server/supervisor/share_pacer.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "core/base/steady_time.h"

namespace holdfast::supervisor {
namespace {

using Turn = DeviceTurns::Turn;

// No tenant has a name with parentheses.
std::string TurnsOf(const Tenant& tenant) {
  const std::string group = tenant.concurrency().group;
  return group.empty() ? tenant.name() : absl::StrCat("(", group, ")");
}

}  // namespace

SharePacer::Member::Member(SharePacer& pacer, ExecutionTotals::Page& page,
                           std::shared_ptr<const Tenant> tenant,
                           std::vector<uint32_t> devices)
    : pacer_(pacer),
      page_(page),
      tenant_(std::move(tenant)),
      turns_of_(TurnsOf(*tenant_)),
      devices_(std::move(devices)) {
  absl::MutexLock lock(&pacer_.mutex_);
  for (const uint32_t device : devices_) {
    used_[device] = page_.GpuTime(device);
    pacer_.devices_[device].members.insert(this);
  }
}

SharePacer::Member::~Member() {
  absl::MutexLock lock(&pacer_.mutex_);
  for (const uint32_t device : devices_) {
    SetTurn(device, Turn::kFree);
    Device& shared = pacer_.devices_[device];
    shared.members.erase(this);
    if (!IsShared(shared)) FreeTurns(device, shared);
    if (shared.members.empty()) pacer_.devices_.erase(device);
  }
}

bool SharePacer::Member::Wants(uint32_t device) const {
  return page_.busy(device) || page_.turns().waiting(device);
}

absl::Duration SharePacer::Member::TakeUsed(uint32_t device) {
  const uint64_t now = page_.GpuTime(device);
  return absl::Nanoseconds(now - std::exchange(used_[device], now));
}

void SharePacer::Member::SetTurn(uint32_t device, Turn turn) {
  const auto found = turns_.find(device);
  const Turn before = found == turns_.end() ? Turn::kFree : found->second;
  if (turn == before) return;
  if (turn == Turn::kFree) {
    turns_.erase(device);
  } else {
    turns_[device] = turn;
  }
  page_.turns().SetTurn(device, turn, !turns_.empty());
}

SharePacer::SharePacer() : thread_([this] { Run(); }) {}

SharePacer::~SharePacer() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  thread_.join();
}

std::unique_ptr<SharePacer::Member> SharePacer::Join(
    ExecutionTotals::Page& page, std::shared_ptr<const Tenant> tenant,
    const std::vector<uint32_t>& devices) {
  std::vector<uint32_t> paced;
  for (const uint32_t device : devices) {
    if (device < DeviceTurns::kMaxDevices) paced.push_back(device);
  }
  return absl::WrapUnique(
      new Member(*this, page, std::move(tenant), std::move(paced)));
}

void SharePacer::FreeTurns(uint32_t ordinal, Device& device) {
  device.schedule = {};
  for (Member* const member : device.members) {
    member->SetTurn(ordinal, Turn::kFree);
  }
}

bool SharePacer::IsShared(const Device& device) {
  return std::any_of(
      device.members.begin(), device.members.end(), [&](const Member* member) {
        return member->turns_of_ != (*device.members.begin())->turns_of_;
      });
}

bool SharePacer::AnyShared() const {
  return std::any_of(devices_.begin(), devices_.end(),
                     [](const auto& entry) { return IsShared(entry.second); });
}

bool SharePacer::Pace(absl::Time now, uint32_t ordinal, Device& device) {
  TurnSchedule::Demands demands;
  std::set<const Tenant*> weighed;
  for (Member* const member : device.members) {
    const auto [entry, is_new] = demands.try_emplace(member->turns_of_);
    TurnSchedule::Demand& demand = entry->second;
    if (weighed.insert(member->tenant_.get()).second) {
      const uint32_t weight = member->tenant_->weight();
      demand.weight = is_new ? weight : demand.weight + weight;
    }
    if (member->Wants(ordinal)) ++demand.wanting;
    demand.used += member->TakeUsed(ordinal);
  }
  const std::string& holder = device.schedule.Decide(now, demands);
  for (Member* const member : device.members) {
    member->SetTurn(ordinal, holder.empty()                ? Turn::kFree
                             : holder == member->turns_of_ ? Turn::kOwn
                                                           : Turn::kWait);
  }
  return device.schedule.contended();
}

void SharePacer::Run() {
  absl::MutexLock lock(&mutex_);
  while (true) {
    const auto due = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return stopping_ || AnyShared();
    };
    mutex_.Await(absl::Condition(&due));
    if (stopping_) return;
    bool contended = false;
    for (auto& [ordinal, device] : devices_) {
      contended = Pace(SteadyNow(), ordinal, device) || contended;
    }
    mutex_.AwaitWithTimeout(absl::Condition(&stopping_),
                            contended ? kTick : kSlowTick);
  }
}

}  // namespace holdfast::supervisor
