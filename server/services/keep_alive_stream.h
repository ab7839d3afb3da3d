// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SERVICES_KEEP_ALIVE_STREAM_H_
#define HOLDFAST_SERVER_SERVICES_KEEP_ALIVE_STREAM_H_

#include <grpcpp/support/server_callback.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "holdfast/v1/sessions.pb.h"
#include "server/supervisor/session.h"

namespace holdfast {

// One KeepAlive stream. It is attached to its session while it is open, and
// deletes itself when it is over.
//
// Answers each request once, in order, and sends news in between: a fault, the
// next epoch, a restart. It ends with the session; if the client ends it, the
// client is detached.
class KeepAliveStream final
    : public grpc::ServerBidiReactor<v1::KeepAliveRequest,
                                     v1::KeepAliveResponse> {
 public:
  // Attaches to the session at once; see Session::AddKeeper. `outlives_kill`:
  // the session survives if the daemon is killed.
  KeepAliveStream(std::shared_ptr<supervisor::Session> session,
                  bool outlives_kill);

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  // Detaches. Waits for a running callback of the session.
  void OnDone() override;

 private:
  // The session's callbacks, which run on its threads. They do not wait.
  void OnSessionEnd(const std::string& reason);
  void OnFault(const v1::FaultReport& report, uint64_t epoch);
  void OnRestart();
  // Sends the next message, unless one is being sent: the end first, then news,
  // then answers.
  void Proceed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::shared_ptr<supervisor::Session> session_;
  const bool outlives_kill_;
  int64_t keeper_ = 0;
  v1::KeepAliveRequest request_;

  absl::Mutex mutex_;
  v1::KeepAliveResponse response_ ABSL_GUARDED_BY(mutex_);
  bool answer_due_ ABSL_GUARDED_BY(mutex_) = false;
  // Responses without a request; the latest of each epoch.
  std::deque<v1::KeepAliveResponse> news_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool answering_ ABSL_GUARDED_BY(mutex_) = false;  // a request
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  // The reason of the session's end; "" if the client has closed it.
  std::optional<std::string> ended_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SERVICES_KEEP_ALIVE_STREAM_H_
