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

// One KeepAlive stream. The stream is attached to its session while it is open.
// The object deletes itself when the stream is over.
//
// Answers each request once, in order. In between, notifies the client of a
// fault, the next epoch or a restart. The stream ends with the session. If the
// client ends the stream, the stream is detached from the session.
class KeepAliveStream final
    : public grpc::ServerBidiReactor<v1::KeepAliveRequest,
                                     v1::KeepAliveResponse> {
 public:
  // Attaches the stream to the session; see Session::AddKeeper.
  // `outlives_kill`: the session survives if the daemon is killed.
  KeepAliveStream(std::shared_ptr<supervisor::Session> session,
                  bool outlives_kill);

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  // Detaches the stream from the session. Blocks until no callback of the
  // session runs.
  void OnDone() override;

 private:
  // The callbacks for the session, which run on its threads and do not block.
  void OnSessionEnd(const std::string& reason);
  void OnFault(const v1::FaultReport& report, uint64_t epoch);
  void OnRestart();
  // Sends the next message, unless a message is being sent: first the end of
  // the session, then news_, then answers.
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
  bool answering_ ABSL_GUARDED_BY(mutex_) = false;  // sending an answer
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  // The reason of the session's end; "" if the client has closed it.
  std::optional<std::string> ended_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SERVICES_KEEP_ALIVE_STREAM_H_
