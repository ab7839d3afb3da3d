// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_RESTART_DESCRIPTOR_STORE_H_
#define HOLDFAST_SERVER_RESTART_DESCRIPTOR_STORE_H_

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
#include "server/restart/kept_name.h"

namespace holdfast {

// A descriptor with the name that it is kept under.
struct KeptDescriptor {
  KeptName name;
  UniqueFd fd;
};

// The descriptors that are to outlive the daemon's process: of sessions'
// memory, journals and sockets, of collections. Where a service manager keeps
// descriptors ($FDSTORE says how many: systemd, or server/restart/keeper), each
// is handed to it at once, and comes back to the next daemon, however this one
// has ended. Without, they pass only to a daemon that this process executes
// itself (upgrade.h). Thread-safe.
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

  // Asks $FDSTORE. The service manager may have `inherited`, by name, of an
  // earlier daemon; those that are not kept again until Settle go then. Before
  // it nothing is let go of: if the daemon fails to start, the next one has
  // all.
  explicit DescriptorStore(const std::vector<std::string>& inherited = {});

  // Whether sessions outlive a daemon that is killed.
  bool outlives_kill() const { return manager_limit_ > 0; }

  // `fd` is borrowed and must stay open as long as the result lives, as must
  // the store. A descriptor that was kept under this name before is replaced,
  // and given up only when the service manager has the new one. One that was
  // inherited under this name must be `fd`: it stays with the service manager
  // as it is.
  Kept Keep(const KeptName& name, int fd);
  // The same for something whose place another is to leave, that is kept under
  // `before`. If there is room for one of them alone, it is stored when the
  // other one is let go of.
  Kept KeepInPlaceOf(const KeptName& before, const KeptName& name, int fd);
  // The same for a message, in a sealed memfd. One that cannot be made is
  // missing later; the log says so.
  Kept KeepRecord(const KeptName& name,
                  const google::protobuf::MessageLite& record);

  void Settle();

  // Hands everything to a service manager that has nothing yet. `start` starts
  // it and makes messages go to it; what others keep meanwhile waits. Returns
  // the number of descriptors, or why there is no such service manager; call
  // MoveTo again then. REQUIRES: Settle was called.
  absl::StatusOr<size_t> MoveTo(absl::FunctionRef<absl::Status()> start);

  // Copies of all that is kept, for the next daemon.
  std::vector<KeptDescriptor> CopyAll() const;

 private:
  struct Entry {
    int fd = -1;
    std::string stored;  // its name with the service manager; empty: none
    // Whose place it waits for; empty: it does not.
    std::string before;
  };

  Kept Keep(const KeptName& name, int fd, const std::string& before);
  void Remove(const std::string& name);
  // Stores what has waited for the place of this one.
  void StoreHeir(const std::string& before)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The greatest version of an inherited name; empty: there is none.
  std::string FindInherited(const std::string& name) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // Hands it to the service manager, in the place of the one before.
  void Store(const std::string& name, int fd, Entry& entry)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes it out of the service manager's store and clears it; empty: nothing.
  void RemoveStored(std::string& stored) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  size_t manager_limit_ = 0;
  mutable absl::Mutex mutex_;
  std::map<std::string, Entry> kept_ ABSL_GUARDED_BY(mutex_);
  // Names that wait, by the name whose place it is.
  std::map<std::string, std::string> heirs_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> inherited_ ABSL_GUARDED_BY(mutex_);  // with versions
  uint64_t last_version_ ABSL_GUARDED_BY(mutex_) = 0;
  bool settled_ ABSL_GUARDED_BY(mutex_) = false;
  // Descriptors that the manager has, also those of the daemon before.
  size_t in_manager_ ABSL_GUARDED_BY(mutex_) = 0;
  bool full_ ABSL_GUARDED_BY(mutex_) = false;  // was said
};

// Reads a record. INVALID_ARGUMENT: the descriptor is no sealed memfd with such
// a message.
absl::Status ReadRecord(int fd, google::protobuf::MessageLite* record);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_RESTART_DESCRIPTOR_STORE_H_
