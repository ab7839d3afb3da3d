// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SUPERVISOR_KEPT_SESSION_RECORD_H_
#define HOLDFAST_SERVER_SUPERVISOR_KEPT_SESSION_RECORD_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "holdfast/internal/restart.pb.h"
#include "holdfast/v1/admin.pb.h"
#include "server/kept/descriptor_store.h"

namespace holdfast::supervisor {

// A session's record and sockets in the DescriptorStore. The next daemon makes
// the session again from them. Not thread-safe.
//
// Each change is sent to the service manager at once, under the session's lock,
// so that the changes arrive in their order. If the manager's queue stays full
// for a second, the message is dropped.
class KeptSessionRecord {
 public:
  struct Options {
    // The record first, then the sockets. Empty if nothing is kept.
    std::vector<DescriptorStore::Kept> kept;
    internal::SessionRecord record;
    // Keeps a changed record. Null if changes are not kept.
    std::function<DescriptorStore::Kept(const internal::SessionRecord&)> keep;
    // Keeps the fact that the session has no client. Null if the fact is not
    // kept.
    std::function<DescriptorStore::Kept()> keep_detached;
  };
  explicit KeptSessionRecord(Options options);

  void SetQuota(const v1::Quota& quota);
  // REQUIRES: the session has one device.
  void SetDevice(uint32_t device);
  // Note that the session has a client, or has no client any more.
  void SetAttached();
  void SetDetached();
  // Notes that the next daemon takes the session. The streams of clients end
  // because of this, so SetDetached has no effect from then on.
  void Leave() { left_ = true; }
  // Drops everything that is kept, because the session has ended.
  void Close();

 private:
  void Keep();

  Options options_;
  DescriptorStore::Kept detached_;
  bool left_ = false;
};

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_KEPT_SESSION_RECORD_H_
