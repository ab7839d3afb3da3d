// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SERVICES_COMPILE_SERVICE_H_
#define HOLDFAST_SERVER_SERVICES_COMPILE_SERVICE_H_

#include "holdfast/v1/compile.grpc.pb.h"
#include "server/compile/compile_caller.h"
#include "server/compile/program_compiler.h"
#include "server/rpc/call_threads.h"
#include "server/tenants/callers.h"

namespace holdfast {

// Serves compile and link calls. Clients take turns at the compilers. A call
// that is cancelled, or whose client dies, is abandoned. No call blocks a
// thread that serves connections.
class CompileService final : public v1::CompileService::CallbackService {
 public:
  using ProgressReactor = grpc::ServerWriteReactor<v1::CompileProgress>;

  // At most `max_waiting` calls wait; one client has at most half of them.
  // REQUIRES: `compiler` and `callers` outlive the service.
  CompileService(ProgramCompiler& compiler, const Callers& callers,
                 size_t max_waiting);
  ~CompileService() override;

  // A program that is cached in memory is returned by the thread that read the
  // request from the connection, so that no other thread has to be woken.
  grpc::ServerUnaryReactor* Compile(grpc::CallbackServerContext* context,
                                    const v1::CompileRequest* request,
                                    v1::CompileResponse* response) override;
  ProgressReactor* CompileWithProgress(
      grpc::CallbackServerContext* context,
      const v1::CompileRequest* request) override;
  grpc::ServerUnaryReactor* Link(grpc::CallbackServerContext* context,
                                 const v1::LinkRequest* request,
                                 v1::LinkResponse* response) override;
  ProgressReactor* LinkWithProgress(grpc::CallbackServerContext* context,
                                    const v1::LinkRequest* request) override;

 private:
  // Answers a call with the result of `make(caller)`, which runs in a thread
  // that may wait.
  template <typename Response, typename Make>
  grpc::ServerUnaryReactor* Answer(grpc::CallbackServerContext* context,
                                   const CompileCaller& caller,
                                   Response* response, Make make);
  template <typename Make>
  ProgressReactor* AnswerWithProgress(grpc::CallbackServerContext* context,
                                      CompileCaller caller, Make make);

  // REQUIRES: the context outlives the result.
  absl::StatusOr<CompileCaller> CallerOf(
      const grpc::ServerContextBase& context) const;

  ProgramCompiler& compiler_;
  const Callers& callers_;
  CallThreads threads_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SERVICES_COMPILE_SERVICE_H_
