// SPDX-License-Identifier: Apache-2.0
//
// The resources of one kind, by the handles that the client chose for them.
// A handle is checked for kind, range and generation on every use:
//
//   INVALID_ARGUMENT     0, another kind, out of range
//   NOT_FOUND            never created
//   FAILED_PRECONDITION  destroyed, or its index is used again (stale)
//   ALREADY_EXISTS       created already (CheckNew)
//
// A handle whose creation failed is kept in error: each use of the handle fails
// with the cause. Every handle, also a handle in error, is charged to a quota
// from before its creation until it is freed.
#ifndef HOLDFAST_SERVER_EXECUTOR_RESOURCES_HANDLE_TABLE_H_
#define HOLDFAST_SERVER_EXECUTOR_RESOURCES_HANDLE_TABLE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/handle.h"
#include "core/base/status_macros.h"
#include "server/account/quota.h"

namespace holdfast::executor {

// Returns the handle for messages: "buffer 0x0300000100000007".
inline std::string DescribeHandle(uint64_t bits) {
  return absl::StrCat(HandleKindName(Handle::Unpack(bits).kind), " 0x",
                      absl::Hex(bits, absl::kZeroPad16));
}

// Returns the noun with its article: "a buffer", "an arena".
inline std::string WithArticle(absl::string_view noun) {
  const bool vowel = absl::StrContains("aeiou", noun.substr(0, 1));
  return absl::StrCat(vowel ? "an " : "a ", noun);
}

// Not thread-safe: belongs to the submission thread. Pointers to values stay
// valid until the next Put or PutError.
//
// Clients choose handles, so that creating a resource needs no round trip: a
// command may use a handle in the same batch that creates it. An index is
// reused with a larger generation.
template <typename T>
class HandleTable {
 public:
  HandleTable(HandleKind kind, std::shared_ptr<Quota> quota)
      : kind_(kind), quota_(std::move(quota)) {}

  // Returns OK if `bits` can name a new resource. Otherwise fails as listed at
  // the top of this file; FAILED_PRECONDITION also if another handle has the
  // index.
  absl::Status CheckNew(uint64_t bits) const {
    HOLDFAST_RETURN_IF_ERROR(Check(bits));
    const Handle handle = Handle::Unpack(bits);
    if (handle.index >= slots_.size()) return absl::OkStatus();
    const Slot& slot = slots_[handle.index];
    if (slot.value.has_value() && slot.generation == handle.generation) {
      return absl::AlreadyExistsError(
          absl::StrCat(DescribeHandle(bits), " exists already"));
    }
    if (slot.value.has_value()) {
      return absl::FailedPreconditionError(
          absl::StrCat(DescribeHandle(bits), ": its index is in use"));
    }
    if (handle.generation <= slot.generation) return Stale(bits);
    return absl::OkStatus();
  }

  // Charges one handle, for Put or PutError. RESOURCE_EXHAUSTED: the quota of
  // handles is used up.
  absl::StatusOr<Charge> Reserve() { return quota_->Take(1); }

  // Stores a value under a new handle. The reference is valid until the next
  // Put or PutError. REQUIRES: CheckNew(bits).ok(); `charge` comes from
  // Reserve.
  T& Put(uint64_t bits, T value, Charge charge) {
    Slot& slot = Renew(bits, std::move(charge));
    slot.value.emplace(std::move(value));
    return *slot.value;
  }

  // Stores a handle whose creation failed, in the error `cause`. REQUIRES: as
  // Put.
  void PutError(uint64_t bits, absl::Status cause, Charge charge) {
    Renew(bits, std::move(charge)).error = std::move(cause);
  }

  // Removes and returns the value, and leaves the handle in error, because a
  // later step of the resource's creation failed. Returns nullopt, and does
  // nothing, if the handle has no value.
  std::optional<T> Fail(uint64_t bits, absl::Status cause) {
    if (!Find(bits).ok()) return std::nullopt;
    Slot& slot = slots_[Handle::Unpack(bits).index];
    slot.error = std::move(cause);
    return std::exchange(slot.value, std::nullopt);
  }

  // Returns the handle's value; never null. Fails as listed at the top of this
  // file; for a handle in error, fails with the cause.
  absl::StatusOr<T*> Find(uint64_t bits) {
    HOLDFAST_RETURN_IF_ERROR(Check(bits));
    const Handle handle = Handle::Unpack(bits);
    if (handle.index >= slots_.size() ||
        slots_[handle.index].generation < handle.generation) {
      return absl::NotFoundError(
          absl::StrCat(DescribeHandle(bits), " does not exist"));
    }
    Slot& slot = slots_[handle.index];
    if (slot.generation > handle.generation) return Stale(bits);
    if (!slot.error.ok()) return slot.error;
    if (!slot.value.has_value()) return Stale(bits);
    return &*slot.value;
  }

  // Returns true if the handle is in error.
  bool IsInError(uint64_t bits) const {
    const Slot* slot = SlotOf(bits);
    return slot != nullptr && !slot->error.ok();
  }
  // Returns true if the handle has a value.
  bool Contains(uint64_t bits) const {
    const Slot* slot = SlotOf(bits);
    return slot != nullptr && slot->value.has_value();
  }

  // The number of handles in use, including handles in error.
  uint64_t size() const { return charge_.amount(); }
  HandleKind kind() const { return kind_; }
  // No handle with this index or a larger index was ever used.
  uint32_t unused_from() const { return static_cast<uint32_t>(slots_.size()); }

  // Makes Take ignore handles that were never created, because a fault may have
  // dropped the commands that create them.
  void SetForgiving() { forgiving_ = true; }

  // Frees the handle and returns its value. Returns nullopt for 0, for a handle
  // in error, for a handle that is freed already, and for a handle that is
  // ignored (SetForgiving). INVALID_ARGUMENT and NOT_FOUND as listed at the top
  // of this file.
  absl::StatusOr<std::optional<T>> Take(uint64_t bits) {
    if (bits == 0) return std::optional<T>();
    HOLDFAST_RETURN_IF_ERROR(Check(bits));
    const Handle handle = Handle::Unpack(bits);
    if (handle.index >= slots_.size() ||
        slots_[handle.index].generation < handle.generation) {
      if (forgiving_) return std::optional<T>();
      return absl::NotFoundError(
          absl::StrCat(DescribeHandle(bits), " does not exist"));
    }
    Slot& slot = slots_[handle.index];
    if (slot.generation > handle.generation) return std::optional<T>();
    Vacate(slot);
    return std::exchange(slot.value, std::nullopt);
  }

  // Calls `visit` with each value, in the order of the indices. `visit` must
  // not change the table.
  template <typename Visitor>
  void ForEach(Visitor visit) {
    for (Slot& slot : slots_) {
      if (slot.value.has_value()) visit(*slot.value);
    }
  }
  // Like ForEach, with the handle of each value.
  template <typename Visitor>
  void ForEachHandle(Visitor visit) {
    ForEachHandleFrom(0, [&](uint64_t handle, T& value) {
      visit(handle, value);
      return true;
    });
  }
  // Like ForEachHandle, from an index on, until `visit` returns false.
  template <typename Visitor>
  void ForEachHandleFrom(uint32_t index, Visitor visit) {
    for (; index < slots_.size(); ++index) {
      Slot& slot = slots_[index];
      if (!slot.value.has_value()) continue;
      if (!visit(Handle{kind_, slot.generation, index}.Pack(), *slot.value)) {
        return;
      }
    }
  }

 private:
  // The last handle that had this index.
  struct Slot {
    uint32_t generation = 0;
    absl::Status error;
    std::optional<T> value;

    bool occupied() const { return value.has_value() || !error.ok(); }
  };

  // Checks the form of a handle. INVALID_ARGUMENT as listed at the top of this
  // file.
  absl::Status Check(uint64_t bits) const {
    const Handle handle = Handle::Unpack(bits);
    if (bits == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("no ", HandleKindName(kind_), " given (handle 0)"));
    }
    if (handle.kind != kind_) {
      return absl::InvalidArgumentError(
          absl::StrCat(DescribeHandle(bits), " is not ",
                       WithArticle(HandleKindName(kind_))));
    }
    if (handle.generation == 0 || handle.index > Handle::kMaxIndex) {
      return absl::InvalidArgumentError(
          absl::StrCat(DescribeHandle(bits), " is malformed: generation ",
                       handle.generation, " (at least 1), index ", handle.index,
                       " (at most ", Handle::kMaxIndex, ")"));
    }
    return absl::OkStatus();
  }

  static absl::Status Stale(uint64_t bits) {
    return absl::FailedPreconditionError(
        absl::StrCat(DescribeHandle(bits), " does not exist any more"));
  }

  // Gives the charge of the slot's handle back, and clears its error.
  void Vacate(Slot& slot) {
    if (slot.occupied()) charge_.Return(1);
    slot.error = absl::OkStatus();
  }

  // Gives the slot to a new handle, with its charge and without a value.
  Slot& Renew(uint64_t bits, Charge charge) {
    const Handle handle = Handle::Unpack(bits);
    if (handle.index >= slots_.size()) slots_.resize(handle.index + 1);
    Slot& slot = slots_[handle.index];
    Vacate(slot);
    charge_.Add(std::move(charge));
    slot.generation = handle.generation;
    return slot;
  }

  // Returns the handle's slot; null if it has none, or if another handle has
  // it.
  const Slot* SlotOf(uint64_t bits) const {
    const Handle handle = Handle::Unpack(bits);
    if (handle.kind != kind_ || handle.index >= slots_.size()) return nullptr;
    const Slot& slot = slots_[handle.index];
    return slot.generation == handle.generation ? &slot : nullptr;
  }

  const HandleKind kind_;
  const std::shared_ptr<Quota> quota_;
  Charge charge_;  // one for each slot in use
  std::vector<Slot> slots_;
  bool forgiving_ = false;
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_RESOURCES_HANDLE_TABLE_H_
