// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/session.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "client/c/error.h"
#include "client/c/handles.h"
#include "client/c/holdfast.h"
#include "client/cpp/device.h"
#include "client/cpp/fence.h"
#include "client/cpp/state/session_state.h"
#include "client/cpp/submission/quiet_thread.h"
#include "client/cpp/submission/wait_hook.h"
#include "core/base/status_macros.h"

using holdfast::c::Give;
using holdfast::c::Guard;

namespace holdfast::c {
namespace {

absl::StatusOr<RecoveryPolicy> ToRecover(hf_recovery policy) {
  switch (policy) {
    case HF_RECOVER_ALWAYS:
      return RecoveryPolicy::kAlways;
    case HF_RECOVER_NEVER:
      return RecoveryPolicy::kNever;
    case HF_RECOVER_ASK:
      return RecoveryPolicy::kAsk;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("recover is ", static_cast<int>(policy),
                   ", which is no hf_recovery: 0 to 2"));
}

absl::StatusOr<absl::Duration> ToDuration(const char* name, double seconds) {
  constexpr double kYear = 365.0 * 24 * 3600;
  if (seconds >= 0 && seconds <= kYear) return absl::Seconds(seconds);
  return absl::InvalidArgumentError(absl::StrCat(
      name, " is ", seconds, " s; possible: 0 to 31536000, a year"));
}

absl::StatusOr<SessionOptions> ToOptions(const hf_session_options* given) {
  HOLDFAST_ASSIGN_OR_RETURN(
      const auto all,
      Complete<hf_session_options>(given, HF_SESSION_OPTIONS_INIT));
  SessionOptions options;
  options.name = Text(all.name);
  options.memory_limit = all.memory_limit;
  options.reconnect_grace = absl::Seconds(all.reconnect_grace);
  HOLDFAST_ASSIGN_OR_RETURN(options.recover, ToRecover(all.recover));
  HOLDFAST_ASSIGN_OR_RETURN(
      options.kernel_time_limit,
      ToDuration("kernel_time_limit", all.kernel_time_limit));
  HOLDFAST_ASSIGN_OR_RETURN(
      options.detached_lifetime,
      ToDuration("detached_lifetime", all.detached_lifetime));
  options.blocking = all.blocking;
  if (all.device_count > 0) HF_REQUIRE(all.devices);
  for (size_t i = 0; i < all.device_count; ++i) {
    options.device_choices.push_back(Text(all.devices[i]));
  }
  if (all.kernel_output != nullptr) {
    options.kernel_output =
        [take = all.kernel_output, user = all.kernel_output_user](
            absl::string_view s) { take(user, s.data(), s.size()); };
  }
  return options;
}

}  // namespace
}  // namespace holdfast::c

extern "C" {

hf_error* hf_session_open(hf_daemon* daemon, const hf_session_options* options,
                          hf_session** session) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(daemon, session);
    HOLDFAST_ASSIGN_OR_RETURN(const auto wanted,
                              holdfast::c::ToOptions(options));
    HOLDFAST_ASSIGN_OR_RETURN(auto opened,
                              holdfast::Session::Open(daemon->daemon, wanted));
    return Give(std::move(opened), session);
  });
}

hf_error* hf_session_attach(hf_daemon* daemon, const char* session_id,
                            const hf_session_options* options,
                            hf_session** session) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(daemon, session_id, session);
    HOLDFAST_ASSIGN_OR_RETURN(const auto wanted,
                              holdfast::c::ToOptions(options));
    HOLDFAST_ASSIGN_OR_RETURN(
        auto attached,
        holdfast::Session::Attach(daemon->daemon, session_id, wanted));
    return Give(std::move(attached), session);
  });
}

hf_error* hf_session_detach(hf_session* session) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(session);
    return session->session->Detach();
  });
}

hf_error* hf_session_recover(hf_session* session) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(session);
    return session->session->Recover();
  });
}

hf_error* hf_session_close(hf_session* session) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(session);
    return session->session->Close();
  });
}

void hf_session_free(hf_session* session) { delete session; }

const char* hf_session_id(const hf_session* session) {
  return session->session->id().c_str();
}

const uint32_t* hf_session_devices(const hf_session* session, size_t* count) {
  *count = session->session->devices().size();
  return session->session->devices().data();
}

hf_error* hf_session_synchronize(hf_session* session) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(session);
    return session->session->Synchronize();
  });
}

hf_error* hf_session_check(hf_session* session) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(session);
    HOLDFAST_ASSIGN_OR_RETURN(
        const auto fence, holdfast::Fence::Create(session->session->state(), {},
                                                  /*all_streams=*/false));
    return fence.Wait();
  });
}

uint64_t hf_session_flush(hf_session* session) {
  return session == nullptr ? 0 : session->session->state()->queue.Flush();
}

hf_error* hf_session_can_access_peer(hf_session* session, uint32_t device,
                                     uint32_t peer, bool* can) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(session, can);
    const holdfast::Session& s = *session->session;
    return Give(s.device(device).CanAccessPeer(s.device(peer)), can);
  });
}

hf_error* hf_session_enable_peer_access(hf_session* session, uint32_t device,
                                        uint32_t peer) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(session);
    const holdfast::Session& s = *session->session;
    return s.device(device).EnablePeerAccess(s.device(peer));
  });
}

hf_error* hf_session_disable_peer_access(hf_session* session, uint32_t device,
                                         uint32_t peer) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(session);
    const holdfast::Session& s = *session->session;
    return s.device(device).DisablePeerAccess(s.device(peer));
  });
}

void hf_set_wait_hook(bool (*hook)(void)) { holdfast::SetWaitHook(hook); }

void hf_set_quiet_thread(bool quiet) { holdfast::SetQuietThread(quiet); }

hf_error* hf_fence_create(hf_session* session, const hf_stream* const* streams,
                          size_t stream_count, hf_fence** fence) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(session, fence);
    if (stream_count > 0) HF_REQUIRE(streams);
    std::vector<const holdfast::Stream*> all;
    for (size_t i = 0; i < stream_count; ++i) {
      HF_REQUIRE(streams[i]);
      all.push_back(&streams[i]->stream);
    }
    return Give(all.empty() ? session->session->Fence()
                            : holdfast::Fence::Create(all[0]->session(), all,
                                                      /*all_streams=*/false),
                fence);
  });
}

void hf_fence_free(hf_fence* fence) { delete fence; }

hf_error* hf_fence_wait(hf_fence* fence) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(fence);
    return fence->fence.Wait();
  });
}

}  // extern "C"
