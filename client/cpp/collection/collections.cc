// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/collection/collections.h"

#include <utility>

#include "client/cpp/rpc_status.h"
#include "core/base/status_macros.h"
#include "grpcpp/channel.h"

namespace holdfast {

Collections::Collections(std::shared_ptr<Daemon> daemon)
    : daemon_(std::move(daemon)),
      stub_(v1::CollectionService::NewStub(daemon_->channel())) {}

absl::StatusOr<v1::ListCollectionsResponse> Collections::List() {
  grpc::ClientContext context;
  v1::ListCollectionsResponse response;
  HOLDFAST_RETURN_IF_ERROR(
      daemon_->Explain(stub_->ListCollections(&context, {}, &response)));
  return response;
}

absl::StatusOr<v1::DescribeCollectionResponse> Collections::Describe(
    const std::string& name, uint64_t version) {
  grpc::ClientContext context;
  v1::DescribeCollectionRequest request;
  request.set_name(name);
  request.set_version(version);
  v1::DescribeCollectionResponse response;
  HOLDFAST_RETURN_IF_ERROR(daemon_->Explain(
      stub_->DescribeCollection(&context, request, &response)));
  return response;
}

absl::StatusOr<uint32_t> Collections::Delete(const std::string& name,
                                             uint64_t version) {
  grpc::ClientContext context;
  v1::DeleteCollectionRequest request;
  request.set_name(name);
  request.set_version(version);
  v1::DeleteCollectionResponse response;
  HOLDFAST_RETURN_IF_ERROR(
      daemon_->Explain(stub_->DeleteCollection(&context, request, &response)));
  return response.deleted_versions();
}

absl::Status Collections::Configure(
    const v1::ConfigureCollectionRequest& request) {
  grpc::ClientContext context;
  v1::ConfigureCollectionResponse response;
  return daemon_->Explain(
      stub_->ConfigureCollection(&context, request, &response));
}

absl::Status Collections::Watch(
    const std::string& name,
    const std::function<bool(const v1::CollectionChange&)>& changed) {
  grpc::ClientContext context;
  v1::WatchCollectionsRequest request;
  request.set_name(name);
  const auto reader = stub_->WatchCollections(&context, request);
  v1::CollectionChange change;
  while (reader->Read(&change)) {
    if (changed(change)) continue;
    context.TryCancel();
    reader->Finish();
    return absl::OkStatus();
  }
  return daemon_->Explain(reader->Finish());
}

WriteClaim::WriteClaim(const Session& session)
    : stub_(v1::CollectionService::NewStub(session.daemon().channel())) {
  context_.AddMetadata("holdfast-session-token", session.token());
}

WriteClaim::~WriteClaim() {
  if (reader_ == nullptr) return;
  context_.TryCancel();
  reader_->Finish();
}

absl::StatusOr<std::unique_ptr<WriteClaim>> WriteClaim::Wait(
    const Session& session, const std::string& name) {
  std::unique_ptr<WriteClaim> claim(new WriteClaim(session));
  v1::ClaimCollectionRequest request;
  request.set_name(name);
  claim->reader_ = claim->stub_->ClaimCollection(&claim->context_, request);
  v1::ClaimCollectionResponse response;
  if (!claim->reader_->Read(&response)) {
    const grpc::Status status =
        std::exchange(claim->reader_, nullptr)->Finish();
    return session.daemon().Explain(status);
  }
  claim->writes_ = response.has_write();
  return claim;
}

}  // namespace holdfast
