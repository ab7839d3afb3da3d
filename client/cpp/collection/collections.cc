// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/collection/collections.h"

#include <utility>

#include "client/cpp/collection/collection_watch.h"
#include "client/cpp/collection/next_daemon.h"
#include "client/cpp/connection/daemon_stubs.h"
#include "client/cpp/connection/forked_process.h"
#include "core/base/status_macros.h"
#include "grpcpp/client_context.h"
#include "grpcpp/support/sync_stream.h"
#include "proto/metadata.h"

namespace holdfast {
namespace {

// Daemons that a claim outlives, each of which may be replaced in its turn.
constexpr int kAttempts = 100;

}  // namespace

absl::StatusOr<v1::ListCollectionsResponse> Collections::List() {
  grpc::ClientContext context;
  v1::ListCollectionsResponse response;
  HOLDFAST_RETURN_IF_ERROR(daemon_->Explain(
      daemon_->stubs().collections.ListCollections(&context, {}, &response)));
  return response;
}

absl::StatusOr<v1::DescribeCollectionResponse> Collections::Describe(
    const std::string& name, uint64_t version) {
  grpc::ClientContext context;
  v1::DescribeCollectionRequest request;
  request.set_name(name);
  request.set_version(version);
  v1::DescribeCollectionResponse response;
  HOLDFAST_RETURN_IF_ERROR(
      daemon_->Explain(daemon_->stubs().collections.DescribeCollection(
          &context, request, &response)));
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
      daemon_->Explain(daemon_->stubs().collections.DeleteCollection(
          &context, request, &response)));
  return response.deleted_versions();
}

absl::Status Collections::Configure(
    const v1::ConfigureCollectionRequest& request) {
  grpc::ClientContext context;
  v1::ConfigureCollectionResponse response;
  return daemon_->Explain(daemon_->stubs().collections.ConfigureCollection(
      &context, request, &response));
}

absl::StatusOr<v1::SuspendCollectionResponse> Collections::Suspend(
    const std::string& name, const SuspendOptions& options) {
  grpc::ClientContext context;
  v1::SuspendCollectionRequest request;
  request.set_name(name);
  request.set_version(options.version);
  request.set_on_disk(options.on_disk);
  v1::SuspendCollectionResponse response;
  HOLDFAST_RETURN_IF_ERROR(
      daemon_->Explain(daemon_->stubs().collections.SuspendCollection(
          &context, request, &response)));
  return response;
}

absl::StatusOr<v1::SuspendCollectionResponse> Collections::Suspend(
    const std::string& name) {
  return Suspend(name, SuspendOptions());
}

absl::StatusOr<v1::ResumeCollectionResponse> Collections::Resume(
    const std::string& name, uint64_t version) {
  grpc::ClientContext context;
  v1::ResumeCollectionRequest request;
  request.set_name(name);
  request.set_version(version);
  v1::ResumeCollectionResponse response;
  HOLDFAST_RETURN_IF_ERROR(
      daemon_->Explain(daemon_->stubs().collections.ResumeCollection(
          &context, request, &response)));
  return response;
}

absl::Status Collections::Watch(
    const std::string& name,
    const std::function<bool(const v1::CollectionChange&)>& changed) {
  CollectionWatch watch(daemon_, name);
  while (true) {
    HOLDFAST_ASSIGN_OR_RETURN(const v1::CollectionChange change, watch.Next());
    if (!changed(change)) return absl::OkStatus();
  }
}

WriteClaim::WriteClaim(const Session& session, std::string name)
    : daemon_(session.shared_daemon()),
      token_(session.token()),
      name_(std::move(name)) {}

WriteClaim::~WriteClaim() {
  if (reader_ == nullptr) return;
  if (IsForked()) {
    Abandon(std::move(reader_));
    Abandon(std::move(context_));
    return;
  }
  context_->TryCancel();
  reader_->Finish();
}

absl::Status WriteClaim::Ask() {
  context_ = std::make_unique<grpc::ClientContext>();
  context_->AddMetadata(kSessionTokenKey.name, token_);
  v1::ClaimCollectionRequest request;
  request.set_name(name_);
  reader_ =
      daemon_->stubs().collections.ClaimCollection(context_.get(), request);
  v1::ClaimCollectionResponse response;
  if (reader_->Read(&response)) {
    writes_ = response.has_write();
    return absl::OkStatus();
  }
  const grpc::Status status = std::exchange(reader_, nullptr)->Finish();
  return daemon_->Explain(status);
}

absl::StatusOr<std::unique_ptr<WriteClaim>> WriteClaim::Wait(
    const Session& session, const std::string& name) {
  std::unique_ptr<WriteClaim> claim(new WriteClaim(session, name));
  for (int attempt = 1;; ++attempt) {
    const absl::Status asked = claim->Ask();
    if (asked.ok()) return claim;
    if (!absl::IsUnavailable(asked) || attempt == kAttempts ||
        !AwaitNextDaemon(session.daemon())) {
      return asked;
    }
  }
}

}  // namespace holdfast
