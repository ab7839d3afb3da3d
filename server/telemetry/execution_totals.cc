// SPDX-License-Identifier: Apache-2.0
#include "server/telemetry/execution_totals.h"

#include <utility>

#include "absl/memory/memory.h"

namespace holdfast {
namespace {

// A count beyond this, years of commands or exabytes, is made up.
constexpr uint64_t kLargestCount = uint64_t{1} << 60;

void Raise(uint64_t* seen, uint64_t counted) {
  if (counted > *seen && counted <= kLargestCount) *seen = counted;
}

}  // namespace

ExecutionCounts& ExecutionCounts::operator+=(const ExecutionCounts& other) {
  for (size_t i = 0; i < commands.size(); ++i) {
    commands[i].done += other.commands[i].done;
    commands[i].failed += other.commands[i].failed;
  }
  for (size_t i = 0; i < copies.size(); ++i) {
    copies[i].copies += other.copies[i].copies;
    copies[i].bytes += other.copies[i].bytes;
  }
  return *this;
}

uint64_t ExecutionCounts::launches() const {
  return commands[v1::Command::kLaunch].done;
}

ExecutionTotals::Page::Page(ExecutionTotals& totals, FileMapping mapping)
    : totals_(totals), mapping_(std::move(mapping)) {
  absl::MutexLock lock(&totals_.mutex_);
  totals_.pages_.insert(this);
}

ExecutionTotals::Page::~Page() {
  absl::MutexLock lock(&totals_.mutex_);
  totals_.pages_.erase(this);
  totals_.ended_ += Read();
}

ExecutionCounts ExecutionTotals::Page::Read() const {
  const auto& page = *static_cast<const CounterPage*>(mapping_.data());
  absl::MutexLock lock(&mutex_);
  for (size_t i = 0; i < seen_.commands.size(); ++i) {
    const CommandCounts::Count& count = page.commands.Of(i);
    Raise(&seen_.commands[i].done, count.done);
    Raise(&seen_.commands[i].failed, count.failed);
  }
  google::protobuf::RepeatedPtrField<v1::CopyStatistics> copies;
  page.copies.Report(&copies);
  for (const v1::CopyStatistics& path : copies) {
    ExecutionCounts::Copy& seen =
        seen_.copies[static_cast<size_t>(path.path())];
    Raise(&seen.copies, path.copies());
    Raise(&seen.bytes, path.bytes());
  }
  return seen_;
}

std::unique_ptr<ExecutionTotals::Page> ExecutionTotals::Open(
    const UniqueFd& memory) {
  // Memory that could shrink would end this process.
  if (!IsFixedMemfd(memory.get(), sizeof(CounterPage))) return nullptr;
  auto mapping = FileMapping::Map(memory.get(), FileMapping::Access::kReadOnly,
                                  sizeof(CounterPage));
  if (!mapping.ok()) return nullptr;
  return absl::WrapUnique(new Page(*this, *std::move(mapping)));
}

ExecutionCounts ExecutionTotals::Sum() const {
  absl::MutexLock lock(&mutex_);
  ExecutionCounts sum = ended_;
  for (const Page* page : pages_) sum += page->Read();
  return sum;
}

}  // namespace holdfast
