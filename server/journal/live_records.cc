// SPDX-License-Identifier: Apache-2.0
#include "server/journal/live_records.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace holdfast::journal {
namespace {

using internal::JournalRecord;

constexpr size_t kNone = SIZE_MAX;

// Keys that lists stand for, in all records: a hostile journal has more.
constexpr size_t kMaxListed = size_t{1} << 21;
constexpr size_t kMaxListPrefix = 64;

// The keys of a record: those of a list, or one.
struct Keys {
  absl::string_view prefix;  // of a list, with the "/" at its end
  absl::string_view list;    // "1,2"; empty: there is one key, the whole
};

Keys SplitKey(absl::string_view key) {
  const size_t begin = key.find("/{");
  if (begin == absl::string_view::npos || begin > kMaxListPrefix ||
      !absl::EndsWith(key, "}")) {
    return {key, ""};
  }
  return {key.substr(0, begin + 1),
          key.substr(begin + 2, key.size() - begin - 3)};
}

// A handle names one resource after the other, so that all references are
// resolved to the record that made what they meant at their time.
class Liveness {
 public:
  explicit Liveness(absl::Span<const JournalRecord* const> records)
      : records_(records), notes_(records.size()) {}

  std::vector<size_t> Find() {
    for (size_t i = 0; i < records_.size(); ++i) Visit(i);
    for (size_t i = 0; i < records_.size(); ++i) {
      if (notes_[i].live_handles > 0 || IsChangeOfLive(i)) Keep(i);
    }
    while (!unfinished_.empty()) {
      const size_t next = unfinished_.back();
      unfinished_.pop_back();
      for (const size_t needed : notes_[next].needs) Keep(needed);
    }
    return Collect();
  }

 private:
  struct Note {
    size_t live_handles = 0;  // that this record made
    size_t subject = kNone;   // the maker of `ends_with`, if nothing is made
    size_t ended = kNone;     // the maker of the handle that this one ends
    bool replaced = false;    // by a later one with the same key
    bool kept = false;
    absl::InlinedVector<size_t, 4> needs;  // makers
  };

  size_t MakerOf(uint64_t handle) const {
    const auto found = makers_.find(handle);
    return found == makers_.end() ? kNone : found->second;
  }

  void Visit(size_t i) {
    const JournalRecord& record = *records_[i];
    Note& note = notes_[i];
    for (const uint64_t handle : record.needs()) Need(i, handle);
    if (record.ends_with() != 0) Need(i, record.ends_with());
    for (const uint64_t handle : record.creates()) {
      End(handle);
      makers_[handle] = i;
      ++note.live_handles;
      if (record.ends_with() != 0) {
        followers_[record.ends_with()].push_back(handle);
      }
    }
    if (record.creates().empty()) note.subject = MakerOf(record.ends_with());
    if (record.destroys() != 0) {
      note.ended = MakerOf(record.destroys());
      End(record.destroys());
    }
    if (!record.key().empty()) ReplaceBy(i);
  }

  // The record of a key, or of all keys of a list, that is the last so far.
  struct Slot {
    size_t record = kNone;
    size_t keys = 0;  // that no later record has
    size_t listed = 0;
  };

  void ReplaceBy(size_t i) {
    const absl::string_view key = records_[i]->key();
    const Keys keys = SplitKey(key);
    // The same list again, whose keys no other record has taken: it needs no
    // look at each of them.
    const auto same = lists_.find(key);
    if (same != lists_.end() &&
        slots_[same->second].keys == slots_[same->second].listed) {
      Slot& slot = slots_[same->second];
      notes_[std::exchange(slot.record, i)].replaced = true;
      return;
    }
    const size_t slot = slots_.size();
    slots_.push_back({.record = i});
    if (keys.list.empty() || listed_ > kMaxListed) return Replace(key, slot);
    std::string each(keys.prefix);
    for (const absl::string_view part : absl::StrSplit(keys.list, ',')) {
      each.resize(keys.prefix.size());
      each.append(part.data(), part.size());
      Replace(each, slot);
      ++listed_;
    }
    slots_[slot].listed = slots_[slot].keys;
    lists_[key] = slot;
  }

  // The slot's record takes the place of the earlier one with this key, and of
  // those with a key below it ("key/...").
  void Replace(absl::string_view key, size_t slot) {
    const auto begin = keys_.lower_bound(absl::StrCat(key, "/"));
    auto end = begin;
    for (; end != keys_.end() && IsBelow(end->first, key); ++end) {
      TakeKey(end->second, slot);
    }
    keys_.erase(begin, end);
    ++slots_[slot].keys;
    const auto [place, is_new] = keys_.try_emplace(std::string(key), slot);
    if (!is_new) TakeKey(std::exchange(place->second, slot), slot);
  }

  // One of the keys of `slot` is a key of `by` from now on.
  void TakeKey(size_t slot, size_t by) {
    if (--slots_[slot].keys > 0 || slot == by) return;
    notes_[slots_[slot].record].replaced = true;
  }

  static bool IsBelow(absl::string_view key, absl::string_view above) {
    return absl::ConsumePrefix(&key, above) && absl::StartsWith(key, "/");
  }

  void Need(size_t i, uint64_t handle) {
    const size_t maker = MakerOf(handle);
    if (maker != kNone) notes_[i].needs.push_back(maker);
  }

  // A hostile journal may say that a handle follows itself: what has ended is
  // taken out first.
  void End(uint64_t first) {
    std::vector<uint64_t> ending = {first};
    while (!ending.empty()) {
      const uint64_t handle = ending.back();
      ending.pop_back();
      const auto maker = makers_.find(handle);
      if (maker == makers_.end()) continue;
      --notes_[maker->second].live_handles;
      makers_.erase(maker);
      const auto found = followers_.find(handle);
      if (found == followers_.end()) continue;
      ending.insert(ending.end(), found->second.begin(), found->second.end());
      followers_.erase(found);
    }
  }

  // For a step that makes nothing and ends nothing.
  bool IsChangeOfLive(size_t i) const {
    const JournalRecord& record = *records_[i];
    if (!record.creates().empty() || record.destroys() != 0) return false;
    if (notes_[i].replaced) return false;
    const size_t subject = notes_[i].subject;
    return record.ends_with() == 0 ||
           (subject != kNone && notes_[subject].live_handles > 0);
  }

  void Keep(size_t i) {
    if (std::exchange(notes_[i].kept, true)) return;
    unfinished_.push_back(i);
  }

  std::vector<size_t> Collect() const {
    std::vector<size_t> kept;
    for (size_t i = 0; i < records_.size(); ++i) {
      const Note& note = notes_[i];
      const auto is_kept = [this](size_t maker) {
        return maker != kNone && notes_[maker].kept;
      };
      // A step that ends or changes what is kept has to be kept as well.
      const bool ends_kept = is_kept(note.ended);
      const bool changes_kept = !note.replaced && is_kept(note.subject);
      if (note.kept || ends_kept || changes_kept) kept.push_back(i);
    }
    return kept;
  }

  const absl::Span<const JournalRecord* const> records_;
  std::vector<Note> notes_;
  absl::flat_hash_map<uint64_t, size_t> makers_;  // of the handles that live
  absl::flat_hash_map<uint64_t, std::vector<uint64_t>> followers_;
  // The slot of each key. Sorted: the keys below one are its neighbours.
  absl::btree_map<std::string, size_t> keys_;
  std::vector<Slot> slots_;
  absl::flat_hash_map<absl::string_view, size_t> lists_;  // slots
  size_t listed_ = 0;
  std::vector<size_t> unfinished_;  // kept, and what they need is not yet
};

}  // namespace

std::vector<size_t> LiveRecords(
    absl::Span<const JournalRecord* const> records) {
  return Liveness(records).Find();
}

}  // namespace holdfast::journal
