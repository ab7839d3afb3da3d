// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SERVICES_COMPILE_SERVICE_H_
#define HOLDFAST_SERVER_SERVICES_COMPILE_SERVICE_H_

#include "holdfast/v1/compile.grpc.pb.h"
#include "server/compile/compile_caller.h"
#include "server/compile/program_compiler.h"
#include "server/rpc/call_threads.h"
#include "server/rpc/peer_table.h"

namespace holdfast {

// Peers take turns at the compilers. A call that is cancelled, or whose client
// dies, is given up.
class CompileService final
    : public v1::CompileService::WithCallbackMethod_Compile<
          v1::CompileService::Service> {
 public:
  // Both must outlive the service; so many calls of Compile may wait.
  CompileService(ProgramCompiler& compiler, const PeerTable& peers,
                 size_t max_waiting)
      : compiler_(compiler), peers_(peers), threads_(max_waiting) {}

  // What is found in memory is answered in the thread that read the request
  // from the connection: each other one would have to be woken up first.
  grpc::ServerUnaryReactor* Compile(grpc::CallbackServerContext* context,
                                    const v1::CompileRequest* request,
                                    v1::CompileResponse* response) override;
  grpc::Status CompileWithProgress(
      grpc::ServerContext* context, const v1::CompileRequest* request,
      grpc::ServerWriter<v1::CompileProgress>* writer) override;
  grpc::Status Link(grpc::ServerContext* context,
                    const v1::LinkRequest* request,
                    v1::LinkResponse* response) override;

 private:
  // REQUIRES: the context outlives it.
  CompileCaller CallerOf(const grpc::ServerContextBase& context) const;

  ProgramCompiler& compiler_;
  const PeerTable& peers_;
  CallThreads threads_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SERVICES_COMPILE_SERVICE_H_
