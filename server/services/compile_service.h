// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SERVICES_COMPILE_SERVICE_H_
#define HOLDFAST_SERVER_SERVICES_COMPILE_SERVICE_H_

#include "holdfast/v1/compile.grpc.pb.h"
#include "server/compile/program_compiler.h"

namespace holdfast {

class CompileService final : public v1::CompileService::Service {
 public:
  // `compiler` must outlive the service.
  explicit CompileService(ProgramCompiler& compiler) : compiler_(compiler) {}

  grpc::Status Compile(grpc::ServerContext* context,
                       const v1::CompileRequest* request,
                       v1::CompileResponse* response) override;
  grpc::Status Link(grpc::ServerContext* context,
                    const v1::LinkRequest* request,
                    v1::LinkResponse* response) override;

 private:
  ProgramCompiler& compiler_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SERVICES_COMPILE_SERVICE_H_
