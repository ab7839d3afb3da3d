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

// One KeepAlive stream: attached to its session from beginning to end.
// Deletes itself when the stream is over.
//
// Answers each request once, in order, and sends news in between: a fault, the
// next epoch, a restart. Its end is the session's end, or detaches the client.
class KeepAliveStream final
    : public grpc::ServerBidiReactor<v1::KeepAliveRequest,
                                     v1::KeepAliveResponse> {
 public:
  // `outlives_kill`: the session would survive if the daemon were killed.
  // Attaches to the session at once; see Session::AddKeeper.
  KeepAliveStream(std::shared_ptr<supervisor::Session> session,
                  bool outlives_kill);

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  // Detaches; waits for a callback of the session that is running.
  void OnDone() override;

 private:
  // The next three are the session's callbacks, on its threads. They do not
  // wait.
  void OnSessionEnd(const std::string& reason);
  void OnFault(const v1::FaultReport& report, uint64_t epoch);
  void OnRestart();
  // Sends what there is to say, unless a message is under way. News first, then
  // answers; the end before both.
  void Proceed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::shared_ptr<supervisor::Session> session_;
  const bool outlives_kill_;
  int64_t keeper_ = 0;
  v1::KeepAliveRequest request_;

  absl::Mutex mutex_;
  v1::KeepAliveResponse response_ ABSL_GUARDED_BY(mutex_);
  bool answer_due_ ABSL_GUARDED_BY(mutex_) = false;
  // Responses that nobody has asked for; the latest of each epoch.
  std::deque<v1::KeepAliveResponse> news_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool answering_ ABSL_GUARDED_BY(mutex_) = false;  // a request
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  // Why the session has ended; "" if the client wanted it.
  std::optional<std::string> ended_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SERVICES_KEEP_ALIVE_STREAM_H_
