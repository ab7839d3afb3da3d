// SPDX-License-Identifier: Apache-2.0
//
// For operators: sessions of others, drain, tenants.
#include "client/cpp/admin/admin.h"

#include "absl/time/time.h"
#include "client/c/error.h"
#include "client/c/handles.h"
#include "client/c/holdfast.h"
#include "client/c/json.h"
#include "client/cpp/tenants/tenants.h"
#include "core/base/status_macros.h"
#include "holdfast/v1/admin.pb.h"

using holdfast::Tenants;
using holdfast::c::Give;
using holdfast::c::Guard;
using holdfast::c::Text;

extern "C" {

hf_error* hf_admin_end_session(hf_daemon* daemon, const char* session_id,
                               const char* reason) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(daemon, session_id);
    return holdfast::EndSession(*daemon->daemon, session_id, Text(reason));
  });
}

hf_error* hf_admin_suspend_session(hf_daemon* daemon, const char* session_id,
                                   const char* file, double timeout,
                                   uint64_t* bytes) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(daemon, session_id);
    HOLDFAST_ASSIGN_OR_RETURN(
        const uint64_t taken,
        holdfast::SuspendSession(
            *daemon->daemon, session_id,
            {.file = Text(file), .timeout = absl::Seconds(timeout)}));
    if (bytes != nullptr) *bytes = taken;
    return absl::OkStatus();
  });
}

hf_error* hf_admin_resume_session(hf_daemon* daemon, const char* session_id) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(daemon, session_id);
    return holdfast::ResumeSession(*daemon->daemon, session_id).status();
  });
}

hf_error* hf_admin_drain(hf_daemon* daemon, double timeout,
                         uint32_t* sessions_left) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(daemon, sessions_left);
    return Give(
        holdfast::Drain(*daemon->daemon, timeout < 0 ? absl::InfiniteDuration()
                                                     : absl::Seconds(timeout)),
        sessions_left);
  });
}

hf_error* hf_admin_stop_drain(hf_daemon* daemon) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(daemon);
    return holdfast::StopDrain(*daemon->daemon);
  });
}

hf_error* hf_tenants_create(hf_daemon* daemon, const char* json,
                            hf_text** token) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(daemon, json, token);
    holdfast::v1::CreateTenantRequest request;
    HOLDFAST_RETURN_IF_ERROR(holdfast::c::ReadJson(json, &request));
    HOLDFAST_ASSIGN_OR_RETURN(auto made,
                              Tenants(daemon->daemon).Create(request));
    return holdfast::c::Give(std::move(made), token);
  });
}

hf_error* hf_tenants_end(hf_daemon* daemon, const char* name,
                         const char* reason, hf_text** json) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(daemon, name, json);
    HOLDFAST_ASSIGN_OR_RETURN(const auto used,
                              Tenants(daemon->daemon).End(name, Text(reason)));
    return holdfast::c::GiveJson(used, json);
  });
}

hf_error* hf_tenants_list(hf_daemon* daemon, hf_text** json) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(daemon, json);
    HOLDFAST_ASSIGN_OR_RETURN(const auto list, Tenants(daemon->daemon).List());
    return holdfast::c::GiveJson(list, json);
  });
}

}  // extern "C"
