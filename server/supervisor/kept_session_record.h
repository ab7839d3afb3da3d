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

// A session's record and sockets in the DescriptorStore, from which the next
// daemon makes the session again. Not thread-safe.
//
// Changes are sent to the service manager at once, under the session's lock, so
// that they arrive in their order. A message is given up after a second while
// the manager's queue is full.
class KeptSessionRecord {
 public:
  struct Options {
    // The record first, then the sockets; empty: nothing is kept.
    std::vector<DescriptorStore::Kept> kept;
    internal::SessionRecord record;
    // Keeps a changed record; null: not kept.
    std::function<DescriptorStore::Kept(const internal::SessionRecord&)> keep;
    // Keeps the fact that the session has no client; null: not kept.
    std::function<DescriptorStore::Kept()> keep_detached;
  };
  explicit KeptSessionRecord(Options options);

  void SetQuota(const v1::Quota& quota);
  // REQUIRES: the session has one device.
  void SetDevice(uint32_t device);
  // The session has a client, or has none any more.
  void SetAttached();
  void SetDetached();
  // The next daemon has the session. It ends the streams of clients, which is
  // no detaching.
  void Leave() { left_ = true; }
  // The session has ended: the next daemon learns nothing of it.
  void Close();

 private:
  void Keep();

  Options options_;
  DescriptorStore::Kept detached_;
  bool left_ = false;
};

}  // namespace holdfast::supervisor

#endif  // HOLDFAST_SERVER_SUPERVISOR_KEPT_SESSION_RECORD_H_
