// SPDX-License-Identifier: Apache-2.0
#include "core/software/abi/buffer_table.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/software/abi/window.h"
#include "core/software/base/mutex.h"

namespace holdfast::software {
namespace {

// Freed buffers that are remembered for reports.
constexpr size_t kMostFreed = size_t{1} << 16;

// A buffer further away has nothing to do with an access.
constexpr uint64_t kNearBytes = uint64_t{1} << 30;

// The part of the device window whose addresses are not used again at once, so
// that an access to a freed buffer finds no other one.
constexpr uint64_t kQuarantinedPart = 4;

std::atomic<BufferTable*> table{nullptr};

std::string Bytes(uint64_t count) {
  return absl::StrCat(count, count == 1 ? " byte" : " bytes");
}

}  // namespace

void BufferTable::Enable() {
  if (Get() != nullptr) return;
  auto* made = new BufferTable;
  made->AddArea(GetDeviceWindow().base, GetDeviceWindow().size);
  GetAddressSpace().Quarantine(GetDeviceWindow().size / kQuarantinedPart);
  table = made;
}

BufferTable* BufferTable::Get() {
  return table.load(std::memory_order_acquire);
}

void BufferTable::AddArea(uint64_t begin, uint64_t size) {
  WriterMutexLock lock(&mutex_);
  areas_[begin] = size;
}

void BufferTable::ForgetArea(uint64_t begin) {
  WriterMutexLock lock(&mutex_);
  const auto found = areas_.find(begin);
  if (found == areas_.end()) return;
  Forget(buffers_, begin, found->second);
  areas_.erase(found);
}

const BufferTable::Buffers::value_type* BufferTable::Containing(
    const Buffers& buffers, uint64_t address) {
  auto it = buffers.upper_bound(address);
  if (it == buffers.begin()) return nullptr;
  --it;
  return address - it->first < it->second.size ? &*it : nullptr;
}

void BufferTable::Forget(Buffers& buffers, uint64_t begin, uint64_t size) {
  const auto* first = Containing(buffers, begin);
  auto it = first != nullptr ? buffers.find(first->first)
                             : buffers.lower_bound(begin);
  while (it != buffers.end() && it->first < begin + size) {
    it = buffers.erase(it);
  }
}

uint64_t BufferTable::Add(uint64_t begin, uint64_t size, std::string name) {
  WriterMutexLock lock(&mutex_);
  Forget(buffers_, begin, size);
  Forget(parts_, begin, size);
  buffers_[begin] = {.size = size, .id = ++last_id_, .name = std::move(name)};
  return last_id_;
}

void BufferTable::Remove(uint64_t begin, uint64_t id) {
  WriterMutexLock lock(&mutex_);
  const auto found = buffers_.find(begin);
  if (found == buffers_.end() || found->second.id != id) return;
  found->second.freed = true;
  const uint64_t end = begin + found->second.size;
  for (auto it = parts_.lower_bound(begin);
       it != parts_.end() && it->first < end; ++it) {
    if (std::exchange(it->second.freed, true)) continue;
    NoteFreed(/*part=*/true, it->first, it->second.id);
  }
  NoteFreed(/*part=*/false, begin, id);
}

void BufferTable::AddPart(uint64_t begin, uint64_t size) {
  WriterMutexLock lock(&mutex_);
  if (const auto* whole = Containing(buffers_, begin)) {
    buffers_.find(whole->first)->second.divided = true;
  }
  Forget(parts_, begin, std::max<uint64_t>(size, 1));
  parts_[begin] = {.size = size, .id = ++last_id_};
}

void BufferTable::RemovePart(uint64_t begin) {
  WriterMutexLock lock(&mutex_);
  const auto found = parts_.find(begin);
  if (found == parts_.end() || found->second.freed) return;
  found->second.freed = true;
  NoteFreed(/*part=*/true, begin, found->second.id);
}

void BufferTable::NoteFreed(bool part, uint64_t begin, uint64_t id) {
  freed_.push_back({part, begin, id});
  if (freed_.size() <= kMostFreed) return;
  const Freed oldest = freed_.front();
  freed_.pop_front();
  Buffers& buffers = oldest.part ? parts_ : buffers_;
  const auto found = buffers.find(oldest.begin);
  if (found != buffers.end() && found->second.id == oldest.id) {
    buffers.erase(found);
  }
}

bool BufferTable::InArea(uint64_t address) const {
  auto it = areas_.upper_bound(address);
  if (it == areas_.begin()) return false;
  --it;
  return address - it->first < it->second;
}

BufferSpan BufferTable::BetweenAreas(uint64_t address) const {
  const KernelWindow& window = GetKernelWindow();
  uint64_t begin = window.base;
  uint64_t end = window.base + window.size;
  const auto next = areas_.upper_bound(address);
  if (next != areas_.end()) end = next->first;
  if (next != areas_.begin()) {
    begin = std::prev(next)->first + std::prev(next)->second;
  }
  return {begin, end - begin};
}

std::optional<BufferSpan> BufferTable::Find(uint64_t address) const {
  ReaderMutexLock lock(&mutex_);
  for (const Buffers* buffers : {&parts_, &buffers_}) {
    const auto* found = Containing(*buffers, address);
    if (found == nullptr || found->second.freed || found->second.divided) {
      continue;
    }
    return BufferSpan{found->first, found->second.size};
  }
  if (InArea(address)) return std::nullopt;
  return BetweenAreas(address);
}

// "the buffer of 16 bytes at 0x680100000000"
std::string BufferTable::NameOf(const Buffers::value_type& buffer) {
  const std::string& name = buffer.second.name;
  return absl::StrCat(
      name.empty() ? "the buffer" : absl::StrCat("the variable ", name), " of ",
      Bytes(buffer.second.size), " at 0x", absl::Hex(buffer.first));
}

// The buffer with the least distance of its end from `address`, and that with
// the least of its beginning; null: none is near.
BufferTable::Neighbours BufferTable::NeighboursOf(const Buffers& buffers,
                                                  uint64_t address) {
  const auto is_there = [](const auto& it) {
    return !it->second.freed && !it->second.divided;
  };
  Neighbours found;
  const auto begin = buffers.upper_bound(address);
  for (auto it = begin; it != buffers.end(); ++it) {
    if (!is_there(it)) continue;
    if (it->first - address < kNearBytes) found.after = &*it;
    break;
  }
  for (auto it = begin; it != buffers.begin();) {
    if (!is_there(--it)) continue;
    const uint64_t end = it->first + it->second.size;
    if (address - end < kNearBytes) found.before = &*it;
    break;
  }
  return found;
}

std::string BufferTable::Describe(uint64_t address, uint64_t bytes) const {
  ReaderMutexLock lock(&mutex_);
  for (const Buffers* buffers : {&parts_, &buffers_}) {
    std::string text = DescribeInside(*buffers, address, bytes);
    if (!text.empty()) return text;
  }
  return DescribeNearest(address);
}

// Returns "" if the access is no mistake as far as these buffers go.
std::string BufferTable::DescribeInside(const Buffers& buffers,
                                        uint64_t address, uint64_t bytes) {
  const auto* in = Containing(buffers, address);
  if (in == nullptr) return "";
  if (in->second.freed) {
    return absl::StrCat(", in ", NameOf(*in), " that was freed");
  }
  const uint64_t inside = in->first + in->second.size - address;
  if (in->second.divided || inside >= bytes) return "";
  return absl::StrCat(", of which ", Bytes(bytes - inside),
                      " behind the end of ", NameOf(*in));
}

std::string BufferTable::DescribeNearest(uint64_t address) const {
  std::string text = ", where there is no buffer";
  uint64_t distance = kNearBytes;
  for (const Buffers* buffers : {&parts_, &buffers_}) {
    const auto [before, after] = NeighboursOf(*buffers, address);
    if (before != nullptr) {
      const uint64_t behind = address - (before->first + before->second.size);
      if (behind < distance) {
        distance = behind;
        text = absl::StrCat(
            behind == 0 ? ", right" : absl::StrCat(", ", Bytes(behind)),
            " behind the end of ", NameOf(*before));
      }
    }
    if (after != nullptr && after->first - address < distance) {
      distance = after->first - address;
      text = absl::StrCat(", ", Bytes(distance), " before the start of ",
                          NameOf(*after));
    }
  }
  return text;
}

std::shared_ptr<const BufferEntry> BufferEntry::Make(uint64_t begin,
                                                     uint64_t size) {
  BufferTable* const table = BufferTable::Get();
  const DeviceWindow& window = GetDeviceWindow();
  if (table == nullptr || begin - window.base >= window.size) return nullptr;
  return std::shared_ptr<const BufferEntry>(
      new BufferEntry(begin, table->Add(begin, size, "")));
}

BufferEntry::~BufferEntry() { BufferTable::Get()->Remove(begin_, id_); }

}  // namespace holdfast::software
