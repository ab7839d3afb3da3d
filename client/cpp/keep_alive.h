// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_KEEP_ALIVE_H_
#define HOLDFAST_CLIENT_CPP_KEEP_ALIVE_H_

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "grpcpp/client_context.h"
#include "grpcpp/support/sync_stream.h"
#include "holdfast/v1/sessions.grpc.pb.h"

namespace holdfast {

// Holds the stream open that keeps a session alive. When this process dies the
// stream breaks, and the daemon frees the session.
class KeepAlive {
 public:
  // `ended` is called at most once, from a thread of this object, when the
  // daemon ends the session; not after the destructor has begun.
  KeepAlive(v1::SessionService::StubInterface& sessions,
            const std::string& token,
            std::function<void(const std::string& reason)> ended);
  ~KeepAlive();

 private:
  void Read();

  const std::function<void(const std::string&)> ended_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriterInterface<v1::KeepAliveRequest,
                                                    v1::KeepAliveResponse>>
      stream_;
  std::thread reader_;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_KEEP_ALIVE_H_
