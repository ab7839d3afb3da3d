// SPDX-License-Identifier: Apache-2.0
#include "server/supervisor/session_place.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/status_macros.h"
#include "server/supervisor/device_choice.h"

namespace holdfast::supervisor {
namespace {

const v1::Device* Find(uint32_t ordinal,
                       const v1::ListDevicesResponse& devices) {
  for (const v1::Device& device : devices.devices()) {
    if (device.ordinal() == ordinal) return &device;
  }
  return nullptr;
}

std::string Describe(const v1::Device& device) {
  return absl::StrCat(
      "device ", device.ordinal(), " (", device.name(), ", compute capability ",
      device.compute_capability_major(), ".", device.compute_capability_minor(),
      ", ", device.total_memory(), " bytes)");
}

bool IsLike(const v1::Device& named, const v1::Device& other) {
  return other.name() == named.name() &&
         other.compute_capability_major() == named.compute_capability_major() &&
         other.compute_capability_minor() == named.compute_capability_minor() &&
         other.total_memory() >= named.total_memory();
}

// The device that is asked for, if the session can go there.
absl::StatusOr<std::vector<uint32_t>> Wanted(
    const PlaceRequest& request, const v1::ListDevicesResponse& all,
    const v1::ListDevicesResponse& of_tenant) {
  v1::OpenSessionRequest choice;
  choice.add_devices(*request.wanted);
  HOLDFAST_RETURN_IF_ERROR(ChooseDevices(choice, of_tenant).status());
  const v1::Device* const named = Find(request.named, all);
  const v1::Device* const wanted = Find(*request.wanted, all);
  if (*request.wanted == request.now) return std::vector{request.now};
  if (named == nullptr || !IsLike(*named, *wanted)) {
    return absl::FailedPreconditionError(absl::StrCat(
        Describe(*wanted), " is not of the same kind as the session's, ",
        named == nullptr ? absl::StrCat("device ", request.named)
                         : Describe(*named),
        ": it needs the same name and compute capability, and as much memory"));
  }
  return std::vector{*request.wanted};
}

// All other devices of the same kind that work, those with most free memory
// first.
std::vector<uint32_t> Others(const PlaceRequest& request,
                             const v1::Device& named,
                             const v1::ListDevicesResponse& of_tenant) {
  std::vector<const v1::Device*> found;
  for (const v1::Device& device : of_tenant.devices()) {
    const bool usable = !IsQuarantined(device) && IsLike(named, device);
    if (usable && device.ordinal() != request.now) found.push_back(&device);
  }
  std::sort(found.begin(), found.end(),
            [](const v1::Device* a, const v1::Device* b) {
              return std::pair(FreeMemory(*b), a->ordinal()) <
                     std::pair(FreeMemory(*a), b->ordinal());
            });
  std::vector<uint32_t> ordinals;
  ordinals.reserve(found.size());
  for (const v1::Device* device : found) ordinals.push_back(device->ordinal());
  return ordinals;
}

}  // namespace

absl::Status CheckMovable(const internal::Assign& assign,
                          const Tenant& tenant) {
  if (assign.devices_size() != 1) {
    return absl::FailedPreconditionError(absl::StrCat(
        "session ", assign.session_id(), " has ", assign.devices_size(),
        " devices (", absl::StrJoin(assign.devices(), ", "),
        "): only one with a single device can be resumed on another"));
  }
  const Concurrency concurrency = tenant.concurrency();
  if (!concurrency.shared()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "session ", assign.session_id(), " is of tenant ", tenant.name(),
      ", which shares an MPS server (group ", concurrency.group,
      "): it cannot be resumed on another device"));
}

absl::StatusOr<std::vector<uint32_t>> FindPlaces(
    const PlaceRequest& request, const v1::ListDevicesResponse& all,
    const std::vector<uint32_t>& allowed) {
  // Fails if the policy leaves the tenant none.
  const auto of_tenant = DevicesOfTenant(all, allowed);
  if (request.wanted.has_value()) {
    HOLDFAST_RETURN_IF_ERROR(of_tenant.status());
    return Wanted(request, all, *of_tenant);
  }
  std::vector<uint32_t> places;
  const v1::Device* const named = Find(request.named, all);
  if (named != nullptr && of_tenant.ok()) {
    places = Others(request, *named, *of_tenant);
  }
  const v1::Device* const now = Find(request.now, all);
  const bool last = now != nullptr && IsQuarantined(*now);
  places.insert(last ? places.end() : places.begin(), request.now);
  return places;
}

}  // namespace holdfast::supervisor
