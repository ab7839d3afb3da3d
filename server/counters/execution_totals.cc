// SPDX-License-Identifier: Apache-2.0
#include "server/counters/execution_totals.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/memory/memory.h"

namespace holdfast {
namespace {

// No executor carries out more: a command takes 60 ns at least, and the fastest
// memory of a device moves 8 KB in a nanosecond. What goes beyond is made up,
// and would be in everybody's sums.
constexpr double kCommandsPerNanosecond = 0.1;
constexpr double kBytesPerNanosecond = 65536;
// What was counted before the page was opened, and a command of many bytes.
constexpr double kHeadStart = 1e9;  // nanoseconds

void Raise(uint64_t* seen, uint64_t counted, uint64_t most) {
  if (counted > *seen && counted <= most) *seen = counted;
}

uint64_t Most(uint64_t nanoseconds, double rate) {
  return static_cast<uint64_t>((static_cast<double>(nanoseconds) + kHeadStart) *
                               rate);
}

}  // namespace

google::protobuf::Duration ToDuration(uint64_t nanoseconds) {
  constexpr uint64_t kSecond = 1'000'000'000;
  google::protobuf::Duration duration;
  duration.set_seconds(static_cast<int64_t>(nanoseconds / kSecond));
  duration.set_nanos(static_cast<int32_t>(nanoseconds % kSecond));
  return duration;
}

ExecutionCounts& ExecutionCounts::operator+=(const ExecutionCounts& other) {
  for (size_t i = 0; i < commands.size(); ++i) {
    commands[i].done += other.commands[i].done;
    commands[i].failed += other.commands[i].failed;
  }
  for (size_t i = 0; i < copies.size(); ++i) {
    copies[i].copies += other.copies[i].copies;
    copies[i].bytes += other.copies[i].bytes;
  }
  for (size_t i = 0; i < gpu_times.size(); ++i) {
    gpu_times[i] += other.gpu_times[i];
  }
  return *this;
}

uint64_t ExecutionCounts::launches() const {
  return commands[v1::Command::kLaunch].done;
}

uint64_t ExecutionCounts::all_launches() const {
  return launches() + commands[v1::Command::kLaunchGraph].done;
}

uint64_t ExecutionCounts::gpu_time() const {
  return std::accumulate(gpu_times.begin(), gpu_times.end(), uint64_t{0});
}

void ExecutionCounts::Report(v1::SessionUsage* usage) const {
  usage->set_launches(all_launches());
  for (size_t device = 0; device < gpu_times.size(); ++device) {
    if (gpu_times[device] == 0) continue;
    v1::DeviceTime& time = *usage->add_gpu_time();
    time.set_device(static_cast<uint32_t>(device));
    *time.mutable_time() = ToDuration(gpu_times[device]);
  }
}

ExecutionTotals::Page::Page(ExecutionTotals& totals, Others others,
                            FileMapping mapping)
    : totals_(totals),
      others_(std::move(others)),
      mapping_(std::move(mapping)) {
  Join(totals_);
  for (const auto& other : others_) Join(*other);
}

ExecutionTotals::Page::~Page() {
  Leave(totals_);
  for (const auto& other : others_) Leave(*other);
}

void ExecutionTotals::Page::Join(ExecutionTotals& totals) const {
  absl::MutexLock lock(&totals.mutex_);
  totals.pages_.insert(this);
}

void ExecutionTotals::Page::Leave(ExecutionTotals& totals) const {
  absl::MutexLock lock(&totals.mutex_);
  totals.pages_.erase(this);
  totals.ended_ += Read();
}

void ExecutionTotals::Page::End() {
  Read();
  absl::MutexLock lock(&mutex_);
  ended_ = true;
}

CounterPage& ExecutionTotals::Page::page() const {
  return *static_cast<CounterPage*>(mapping_.data());
}

void ExecutionTotals::Page::ReadTime(size_t device) const {
  const DeviceTimes& times = page().times;
  uint64_t time = times.sum(device);
  const uint64_t since = times.since(device);
  const uint64_t now = DeviceTimes::Now();
  const uint64_t most = now - opened_;
  if (time > most) return;
  if (since != 0 && since <= now) time += now - std::max(since, opened_);
  Raise(&seen_.gpu_times[device], std::min(time, most), most);
}

uint64_t ExecutionTotals::Page::GpuTime(uint32_t device) const {
  absl::MutexLock lock(&mutex_);
  if (!ended_) ReadTime(device);
  return seen_.gpu_times[device];
}

bool ExecutionTotals::Page::busy(uint32_t device) const {
  return page().times.busy(device);
}

DeviceTurns& ExecutionTotals::Page::turns() const { return page().turns; }

ExecutionCounts ExecutionTotals::Page::Read() const {
  absl::MutexLock lock(&mutex_);
  if (ended_) return seen_;
  for (size_t i = 0; i < seen_.gpu_times.size(); ++i) ReadTime(i);
  const uint64_t age = DeviceTimes::Now() - opened_;
  const uint64_t commands = Most(age, kCommandsPerNanosecond);
  for (size_t i = 0; i < seen_.commands.size(); ++i) {
    const CommandCounts::Count& count = page().commands.Of(i);
    Raise(&seen_.commands[i].done, count.done, commands);
    Raise(&seen_.commands[i].failed, count.failed, commands);
  }
  google::protobuf::RepeatedPtrField<v1::CopyStatistics> copies;
  page().copies.Report(&copies);
  for (const v1::CopyStatistics& path : copies) {
    ExecutionCounts::Copy& seen =
        seen_.copies[static_cast<size_t>(path.path())];
    Raise(&seen.copies, path.copies(), commands);
    Raise(&seen.bytes, path.bytes(), Most(age, kBytesPerNanosecond));
  }
  return seen_;
}

std::unique_ptr<ExecutionTotals::Page> ExecutionTotals::Open(
    const UniqueFd& memory,
    std::vector<std::shared_ptr<ExecutionTotals>> others) {
  // Memory that could shrink would end this process.
  if (!IsFixedMemfd(memory.get(), sizeof(CounterPage))) return nullptr;
  auto mapping = FileMapping::Map(memory.get(), FileMapping::Access::kReadWrite,
                                  sizeof(CounterPage));
  if (!mapping.ok()) return nullptr;
  return absl::WrapUnique(
      new Page(*this, std::move(others), *std::move(mapping)));
}

internal::ExecutionRecord ExecutionTotals::Record() const {
  const ExecutionCounts sum = Sum();
  internal::ExecutionRecord record;
  for (size_t i = 0; i < sum.commands.size(); ++i) {
    if (sum.commands[i].done + sum.commands[i].failed == 0) continue;
    auto& command = *record.add_commands();
    command.set_field(static_cast<uint32_t>(i));
    command.set_done(sum.commands[i].done);
    command.set_failed(sum.commands[i].failed);
  }
  for (size_t i = 0; i < sum.copies.size(); ++i) {
    if (sum.copies[i].copies == 0) continue;
    auto& copy = *record.add_copies();
    copy.set_path(static_cast<v1::CopyPath>(i));
    copy.set_copies(sum.copies[i].copies);
    copy.set_bytes(sum.copies[i].bytes);
  }
  record.mutable_gpu_times()->Add(sum.gpu_times.begin(), sum.gpu_times.end());
  record.set_faults(lost());
  record.set_recoveries(recovered());
  return record;
}

// A kind, path or device that this daemon does not know is left out.
void ExecutionTotals::Add(const internal::ExecutionRecord& record) {
  ExecutionCounts counts;
  for (const auto& command : record.commands()) {
    if (command.field() >= counts.commands.size()) continue;
    counts.commands[command.field()] = {command.done(), command.failed()};
  }
  for (const auto& copy : record.copies()) {
    const auto path = static_cast<size_t>(copy.path());
    if (path >= counts.copies.size()) continue;
    counts.copies[path] = {copy.copies(), copy.bytes()};
  }
  const size_t devices = std::min(static_cast<size_t>(record.gpu_times_size()),
                                  counts.gpu_times.size());
  std::copy_n(record.gpu_times().begin(), devices, counts.gpu_times.begin());
  lost_.fetch_add(record.faults(), std::memory_order_relaxed);
  recovered_.fetch_add(record.recoveries(), std::memory_order_relaxed);
  absl::MutexLock lock(&mutex_);
  ended_ += counts;
}

ExecutionCounts ExecutionTotals::Sum() const {
  absl::MutexLock lock(&mutex_);
  ExecutionCounts sum = ended_;
  for (const Page* page : pages_) sum += page->Read();
  return sum;
}

}  // namespace holdfast
