// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/linker.h"

#include "client/cpp/request_text.h"
#include "core/base/status_macros.h"

namespace holdfast {

Linker& Linker::Add(const ObjectCode& object, std::string name) {
  inputs_.push_back({object, std::move(name)});
  return *this;
}

absl::StatusOr<Compilation> Linker::Link(Daemon& daemon,
                                         v1::ObjectFormat target) const {
  v1::LinkRequest request;
  request.set_target(target);
  request.set_arch(options_.arch);
  request.mutable_options()->Add(options_.options.begin(),
                                 options_.options.end());
  for (const Input& added : inputs_) {
    v1::LinkInput& input = *request.add_inputs();
    input.set_sha256(added.object.sha256);
    input.set_format(added.object.format);
    input.set_name(added.name);
  }
  HOLDFAST_RETURN_IF_ERROR(CheckRequestText(request));
  grpc::ClientContext context;
  v1::LinkResponse response;
  HOLDFAST_RETURN_IF_ERROR(
      daemon.Explain(daemon.compiler().Link(&context, request, &response)));
  return Compilation::FromResponse(response);
}

}  // namespace holdfast
