// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_ATTACH_UPLOAD_TRIES_H_
#define HOLDFAST_SERVER_EXECUTOR_ATTACH_UPLOAD_TRIES_H_

#include <grpcpp/server_context.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <stop_token>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "proto/metadata.h"

namespace holdfast::executor {

// The running calls of uploads, by upload and by try. A client whose connection
// broke repeats its upload, while calls of the broken connection may still run.
// Bytes of an earlier try must not reach the device after the last try has
// ended, because later commands may change the same memory. Thread-safe.
class UploadTries {
 public:
  // The most uploads that are remembered.
  static constexpr size_t kMaxRemembered = 1024;
  // The most bytes of the client's name for an upload.
  static constexpr size_t kMaxIdBytes =
      kTransferKey.max_bytes - (sizeof "/4294967295" - 1);

  // Registers a call until the result is destroyed. `which` is the value of the
  // client's metadata kTransferKey, the upload's name and the number of the
  // try; if it is empty, registers nothing and returns null. The first call of
  // a try cancels the calls of earlier tries, and blocks until they have ended.
  // CANCELLED: a later try has begun, or a stop of `cancelled` was requested.
  // INVALID_ARGUMENT: `which` is malformed. REQUIRES: `context` and this object
  // outlive the result.
  absl::StatusOr<std::shared_ptr<void>> Enter(grpc::ServerContextBase& context,
                                              absl::string_view which,
                                              const std::stop_token& cancelled);

 private:
  struct Upload {
    uint32_t number = 0;  // the latest try
    std::set<grpc::ServerContextBase*> calls;
  };

  // Returns the upload, and adds it if it is unknown. Forgets the oldest upload
  // without calls if there are more than kMaxRemembered.
  Upload& Find(const std::string& id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Mutex mutex_;
  std::map<std::string, Upload> uploads_ ABSL_GUARDED_BY(mutex_);
  std::deque<std::string> order_ ABSL_GUARDED_BY(mutex_);  // oldest first
};

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_ATTACH_UPLOAD_TRIES_H_
