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

// A descriptor with the name under which it is kept.
struct KeptDescriptor {
  KeptName name;
  UniqueFd fd;
};

// The descriptors that must outlive the daemon's process: memory, journals and
// sockets of sessions, and collections. A service manager that stores
// descriptors (systemd or server/restart/keeper, up to $FDSTORE of them) gets
// each descriptor at once and gives it to the next daemon, even after a crash.
// Without such a service manager, descriptors pass only to a daemon that this
// process executes itself (server/restart/upgrade.h). Thread-safe.
class DescriptorStore {
 public:
  // Keeps one descriptor in the store for as long as this object lives.
  // Move-only.
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
    // A record, or the reopened file that was stored; may be invalid.
    UniqueFd own_;
  };

  // Reads $FDSTORE. `inherited` lists the names that an earlier daemon has left
  // with the service manager. No inherited descriptor is removed before Settle,
  // so that the next daemon gets them if this daemon fails to start.
  explicit DescriptorStore(const std::vector<std::string>& inherited = {});

  // Returns true if sessions survive when the daemon is killed, because there
  // is a service manager that stores descriptors.
  bool outlives_kill() const { return manager_limit_ > 0; }

  // Keeps `fd`, which is borrowed, until the result is destroyed. Logs a
  // warning if the service manager has no room for it. To replace a descriptor,
  // keep another descriptor under the same name, and assign the result to the
  // earlier Kept. The service manager drops the old descriptor after it has the
  // new one, or before if it has no room for both. An inherited descriptor is
  // not stored again. REQUIRES: `fd` stays open, and the store lives, as long
  // as the result. Before Settle, `fd` is the inherited descriptor if the name
  // is inherited.
  Kept Keep(const KeptName& name, int fd);
  // Like Keep, for a descriptor that will replace the descriptor of the name
  // `before`. If the service manager has no room for both, the new one is
  // stored when the old one is released.
  Kept KeepInPlaceOf(const KeptName& before, const KeptName& name, int fd);
  // Like Keep, for a sealed memfd with this message. Logs an error and keeps
  // nothing if the memfd cannot be made.
  Kept KeepRecord(const KeptName& name,
                  const google::protobuf::MessageLite& record);

  // Removes from the service manager the inherited descriptors that were not
  // kept again. Called when the daemon has taken over the earlier state.
  void Settle();

  // Gives all descriptors to a new service manager. `start` starts the service
  // manager and directs messages to it; calls of Keep wait meanwhile. Returns
  // the number of descriptors that it has stored. After an error MoveTo must be
  // called again. REQUIRES: Settle was called.
  absl::StatusOr<size_t> MoveTo(absl::FunctionRef<absl::Status()> start);

  // Returns duplicates of all descriptors, for the next daemon.
  std::vector<KeptDescriptor> CopyAll() const;

 private:
  struct Entry {
    int fd = -1;
    std::string stored;  // the name in the service manager; empty: not stored
    // The name of the entry that must be removed first; empty: none.
    std::string before;
  };

  Kept Keep(const KeptName& name, int fd, const std::string& before);
  void Remove(const std::string& name);
  // Stores the entry that has waited for the removal of the entry `before`.
  void StoreHeir(const std::string& before)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns the highest version of an inherited name; empty if there is none.
  std::string FindInherited(const std::string& name) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // Gives the entry's descriptor to the service manager, in place of the
  // entry's last descriptor.
  void Store(const std::string& name, int fd, Entry& entry)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Removes the name from the service manager's store, and clears `stored`.
  // Ignores an empty name.
  void RemoveStored(std::string& stored) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  size_t manager_limit_ = 0;
  mutable absl::Mutex mutex_;
  std::map<std::string, Entry> kept_ ABSL_GUARDED_BY(mutex_);
  // Waiting entries, by the name of the entry that they wait for.
  std::map<std::string, std::string> heirs_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> inherited_ ABSL_GUARDED_BY(mutex_);  // with versions
  uint64_t last_version_ ABSL_GUARDED_BY(mutex_) = 0;
  bool settled_ ABSL_GUARDED_BY(mutex_) = false;
  // The number of descriptors in the service manager, including those of the
  // earlier daemon.
  size_t in_manager_ ABSL_GUARDED_BY(mutex_) = 0;
  bool full_ ABSL_GUARDED_BY(mutex_) = false;  // was logged
};

// Reads a record that KeepRecord has made, from the borrowed descriptor `fd`.
// INVALID_ARGUMENT: `fd` is not a sealed memfd with a message of this type.
absl::Status ReadRecord(int fd, google::protobuf::MessageLite* record);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_KEPT_DESCRIPTOR_STORE_H_
