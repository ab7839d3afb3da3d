// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_KEPT_DESCRIPTOR_STORE_H_
#define HOLDFAST_SERVER_KEPT_DESCRIPTOR_STORE_H_

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "core/base/unique_fd.h"
#include "google/protobuf/message_lite.h"
#include "server/kept/kept_name.h"

namespace holdfast {

// A descriptor with the name that it is kept under.
struct KeptDescriptor {
  KeptName name;
  UniqueFd fd;
};

// The descriptors that must outlive the daemon's process: memory, journals and
// sockets of sessions, and collections. A service manager that stores
// descriptors ($FDSTORE tells how many: systemd, or server/restart/keeper) gets
// each at once and gives it to the next daemon, even after a crash. Without
// one, they pass only to a daemon that this process executes itself
// (server/restart/upgrade.h). Thread-safe.
class DescriptorStore {
 public:
  // Keeps one descriptor for as long as it lives. Move-only.
  class [[nodiscard]] Kept {
   public:
    Kept() = default;
    Kept(Kept&& other) noexcept { *this = std::move(other); }
    Kept& operator=(Kept&& other) noexcept;
    ~Kept();

   private:
    friend class DescriptorStore;
    Kept(DescriptorStore* store, std::string name)
        : store_(store), name_(std::move(name)) {}

    DescriptorStore* store_ = nullptr;
    std::string name_;
    UniqueFd own_;  // of a record
  };

  // Reads $FDSTORE. `inherited` lists the names that an earlier daemon left
  // with the service manager. Settle removes those that are not kept again;
  // nothing is removed before, so that the next daemon gets them if this one
  // fails to start.
  explicit DescriptorStore(const std::vector<std::string>& inherited = {});

  // Returns true if sessions survive when the daemon is killed.
  bool outlives_kill() const { return manager_limit_ > 0; }

  // Keeps `fd`, which is borrowed: REQUIRES that `fd` stays open, and the store
  // lives, as long as the result. Replaces the descriptor of the same name,
  // which is dropped once the service manager has the new one. REQUIRES: if the
  // name is inherited, `fd` is the inherited descriptor, which is not stored
  // again.
  Kept Keep(const KeptName& name, int fd);
  // Like Keep, for a descriptor that will replace the one kept as `before`: if
  // only one of the two fits, this one is stored after `before` is released.
  Kept KeepInPlaceOf(const KeptName& before, const KeptName& name, int fd);
  // The same for a message, in a sealed memfd. If that cannot be made, logs it
  // and keeps nothing.
  Kept KeepRecord(const KeptName& name,
                  const google::protobuf::MessageLite& record);

  void Settle();

  // Gives all descriptors to a new service manager. `start` starts it and
  // directs messages to it; calls of Keep wait meanwhile. Returns the number of
  // descriptors, or an error, after which MoveTo has to be called again.
  // REQUIRES: Settle was called.
  absl::StatusOr<size_t> MoveTo(absl::FunctionRef<absl::Status()> start);

  // Returns copies of all descriptors, for the next daemon.
  std::vector<KeptDescriptor> CopyAll() const;

 private:
  struct Entry {
    int fd = -1;
    std::string stored;  // its name in the service manager; empty: none
    // The name of the entry that it waits for; empty: none.
    std::string before;
  };

  Kept Keep(const KeptName& name, int fd, const std::string& before);
  void Remove(const std::string& name);
  // Stores the entry that has waited for this one to be removed.
  void StoreHeir(const std::string& before)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the highest version of an inherited name; empty if there is none.
  std::string FindInherited(const std::string& name) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // Gives the entry's descriptor to the service manager, in place of the last
  // one.
  void Store(const std::string& name, int fd, Entry& entry)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Removes this name from the service manager's store, and clears it. Ignores
  // an empty name.
  void RemoveStored(std::string& stored) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  size_t manager_limit_ = 0;
  mutable absl::Mutex mutex_;
  std::map<std::string, Entry> kept_ ABSL_GUARDED_BY(mutex_);
  // Waiting entries, by the name of the entry that they wait for.
  std::map<std::string, std::string> heirs_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> inherited_ ABSL_GUARDED_BY(mutex_);  // with versions
  uint64_t last_version_ ABSL_GUARDED_BY(mutex_) = 0;
  bool settled_ ABSL_GUARDED_BY(mutex_) = false;
  // Descriptors in the service manager, with those of the earlier daemon.
  size_t in_manager_ ABSL_GUARDED_BY(mutex_) = 0;
  bool full_ ABSL_GUARDED_BY(mutex_) = false;  // was logged
};

// Reads a record. INVALID_ARGUMENT: `fd` is not a sealed memfd with a message
// of this type.
absl::Status ReadRecord(int fd, google::protobuf::MessageLite* record);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_KEPT_DESCRIPTOR_STORE_H_
