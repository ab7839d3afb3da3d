// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/sharing/export.h"

#include <utility>

#include "client/cpp/state/session_state.h"
#include "core/base/status_macros.h"

namespace holdfast {
namespace {

// A lifetime that no message can hold is the daemon's to refuse.
void SetDuration(absl::Duration duration, google::protobuf::Duration* proto) {
  proto->set_seconds(absl::IDivDuration(duration, absl::Seconds(1), &duration));
  proto->set_nanos(static_cast<int32_t>(absl::ToInt64Nanoseconds(duration)));
}

absl::StatusOr<v1::Export> Export(const Resource& resource,
                                  const ExportOptions& options,
                                  v1::ForeignHandle foreign) {
  HOLDFAST_ASSIGN_OR_RETURN(
      v1::Result result,
      resource.session()->queue.Call([&](v1::Command& command) {
        v1::ExportResource& message = *command.mutable_export_resource();
        message.set_resource(resource.handle());
        message.set_offset(options.offset);
        message.set_size(options.size);
        message.set_rights(options.rights == Rights::kReadWrite
                               ? v1::RIGHTS_READ_WRITE
                               : v1::RIGHTS_READ);
        message.set_session_id(options.session_id);
        message.set_tenant(options.tenant);
        SetDuration(options.lifetime, message.mutable_lifetime());
        message.set_max_imports(options.max_imports);
        message.set_foreign(foreign);
        message.set_with_neighbours(options.with_neighbours);
      }));
  return std::move(*result.mutable_exported());
}

absl::Status SubmitRevoke(SessionState& session, absl::string_view token) {
  return session.queue
      .Submit([&](v1::Command& command) {
        command.mutable_revoke_export()->set_token(std::string(token));
      })
      .status();
}

}  // namespace

absl::StatusOr<std::unique_ptr<ScopedExport>> ScopedExport::Create(
    const Resource& resource, const ExportOptions& options) {
  HOLDFAST_ASSIGN_OR_RETURN(std::string token,
                            ExportResource(resource, options));
  return std::unique_ptr<ScopedExport>(
      new ScopedExport(resource.session(), std::move(token)));
}

// A session that has ended has ended its tokens.
ScopedExport::~ScopedExport() { SubmitRevoke(*session_, token_).IgnoreError(); }

absl::StatusOr<std::string> ExportResource(const Resource& resource,
                                           const ExportOptions& options) {
  HOLDFAST_ASSIGN_OR_RETURN(
      const v1::Export exported,
      Export(resource, options, v1::FOREIGN_HANDLE_UNSPECIFIED));
  return exported.token();
}

absl::StatusOr<LocalExport> ExportLocally(const Resource& resource,
                                          const ExportOptions& options) {
  HOLDFAST_ASSIGN_OR_RETURN(
      const v1::Export exported,
      Export(resource, options, v1::FOREIGN_HANDLE_POSIX_DESCRIPTOR));
  return LocalExport{.token = exported.token(),
                     .address = exported.descriptor_address(),
                     .offset = exported.offset(),
                     .size = exported.size(),
                     .mapped_size = exported.mapped_size(),
                     .read_only = options.rights == Rights::kRead};
}

absl::Status RevokeExport(SessionState& session, absl::string_view token) {
  HOLDFAST_RETURN_IF_ERROR(SubmitRevoke(session, token));
  HOLDFAST_RETURN_IF_ERROR(
      session.queue.Call([](v1::Command& command) { command.mutable_fence(); })
          .status());
  return session.queue.TakeFailure();
}

}  // namespace holdfast
