// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/tenants/tenants.h"

#include "client/cpp/connection/daemon_stubs.h"
#include "core/base/status_macros.h"
#include "grpcpp/client_context.h"

namespace holdfast {

absl::StatusOr<std::string> Tenants::Create(
    const v1::CreateTenantRequest& request) {
  grpc::ClientContext context;
  v1::CreateTenantResponse response;
  HOLDFAST_RETURN_IF_ERROR(daemon_->Explain(
      daemon_->stubs().admin.CreateTenant(&context, request, &response)));
  return response.token();
}

absl::StatusOr<v1::TenantInfo> Tenants::End(const std::string& name,
                                            const std::string& reason) {
  grpc::ClientContext context;
  v1::EndTenantRequest request;
  request.set_name(name);
  request.set_reason(reason);
  v1::EndTenantResponse response;
  HOLDFAST_RETURN_IF_ERROR(daemon_->Explain(
      daemon_->stubs().admin.EndTenant(&context, request, &response)));
  return response.final();
}

absl::Status Tenants::SetQuota(const std::string& name,
                               const v1::Quota& quota) {
  grpc::ClientContext context;
  v1::SetQuotaRequest request;
  request.set_tenant(name);
  *request.mutable_quota() = quota;
  v1::SetQuotaResponse response;
  return daemon_->Explain(
      daemon_->stubs().admin.SetQuota(&context, request, &response));
}

absl::StatusOr<v1::ListTenantsResponse> Tenants::List() {
  grpc::ClientContext context;
  v1::ListTenantsResponse response;
  HOLDFAST_RETURN_IF_ERROR(daemon_->Explain(
      daemon_->stubs().admin.ListTenants(&context, {}, &response)));
  return response;
}

}  // namespace holdfast
