// SPDX-License-Identifier: Apache-2.0
//
// Daemons and their devices.
#include "client/cpp/connection/daemon.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "client/c/error.h"
#include "client/c/handles.h"
#include "client/c/holdfast.h"
#include "client/c/json.h"
#include "core/base/status_macros.h"
#include "holdfast/v1/admin.pb.h"
#include "holdfast/v1/devices.pb.h"
#include "holdfast/v1/sessions.pb.h"

using holdfast::c::Give;
using holdfast::c::Guard;

struct hf_device_info {
  holdfast::v1::Device device;
  holdfast::v1::Driver driver;
  // Sorted by name.
  std::vector<std::pair<std::string, int64_t>> attributes;
};

extern "C" {

const char* hf_version(void) { return HF_VERSION; }

hf_error* hf_default_address(hf_text** address) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(address);
    return Give(holdfast::DefaultAddress(), address);
  });
}

hf_error* hf_daemon_connect(const char* address, hf_daemon** daemon) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(daemon);
    HOLDFAST_ASSIGN_OR_RETURN(
        auto connected, holdfast::Daemon::Connect(holdfast::c::Text(address)));
    return Give(std::move(connected), daemon);
  });
}

void hf_daemon_free(hf_daemon* daemon) { delete daemon; }

const char* hf_daemon_address(const hf_daemon* daemon) {
  return daemon->daemon->address().text.c_str();
}

hf_error* hf_daemon_server_info(hf_daemon* daemon, hf_text** json) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(daemon, json);
    HOLDFAST_ASSIGN_OR_RETURN(const auto info, daemon->daemon->Info());
    return holdfast::c::GiveJson(info, json);
  });
}

hf_error* hf_daemon_sessions(hf_daemon* daemon, hf_text** json) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(daemon, json);
    HOLDFAST_ASSIGN_OR_RETURN(const auto list, daemon->daemon->ListSessions());
    return holdfast::c::GiveJson(list, json);
  });
}

hf_error* hf_daemon_cache_statistics(hf_daemon* daemon, hf_text** json) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(daemon, json);
    HOLDFAST_ASSIGN_OR_RETURN(const auto statistics,
                              daemon->daemon->CacheStatistics());
    return holdfast::c::GiveJson(statistics, json);
  });
}

hf_error* hf_daemon_cache_entries(hf_daemon* daemon, uint32_t max_entries,
                                  hf_text** json) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(daemon, json);
    HOLDFAST_ASSIGN_OR_RETURN(const auto entries,
                              daemon->daemon->CacheEntries(max_entries));
    return holdfast::c::GiveJson(entries, json);
  });
}

hf_error* hf_daemon_clear_cache(hf_daemon* daemon) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(daemon);
    return daemon->daemon->ClearCache().status();
  });
}

hf_error* hf_daemon_device_count(hf_daemon* daemon, uint32_t* count) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(daemon, count);
    HOLDFAST_ASSIGN_OR_RETURN(const auto list, daemon->daemon->Devices());
    *count = static_cast<uint32_t>(list.devices_size());
    return absl::OkStatus();
  });
}

hf_error* hf_daemon_describe_device(hf_daemon* daemon, uint32_t device,
                                    hf_device_info** info) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(daemon, info);
    HOLDFAST_ASSIGN_OR_RETURN(auto response,
                              daemon->daemon->DescribeDevice(device));
    auto described = std::make_unique<hf_device_info>();
    described->driver = response.driver();
    described->device = std::move(*response.mutable_device());
    // A foreign daemon may send anything; the accessor promises 16 bytes.
    described->device.mutable_uuid()->resize(16);
    const auto& attributes = described->device.attributes();
    described->attributes.assign(attributes.begin(), attributes.end());
    std::sort(described->attributes.begin(), described->attributes.end());
    *info = described.release();
    return absl::OkStatus();
  });
}

void hf_device_info_free(hf_device_info* info) { delete info; }

uint32_t hf_device_info_ordinal(const hf_device_info* info) {
  return info->device.ordinal();
}

const char* hf_device_info_name(const hf_device_info* info) {
  return info->device.name().c_str();
}

const uint8_t* hf_device_info_uuid(const hf_device_info* info) {
  return reinterpret_cast<const uint8_t*>(info->device.uuid().data());
}

const char* hf_device_info_pci_bus_id(const hf_device_info* info) {
  return info->device.pci_bus_id().c_str();
}

void hf_device_info_compute_capability(const hf_device_info* info,
                                       uint32_t* major, uint32_t* minor) {
  *major = info->device.compute_capability_major();
  *minor = info->device.compute_capability_minor();
}

uint64_t hf_device_info_total_memory(const hf_device_info* info) {
  return info->device.total_memory();
}

void hf_device_info_stream_priorities(const hf_device_info* info,
                                      int32_t* least, int32_t* greatest) {
  *least = info->device.least_stream_priority();
  *greatest = info->device.greatest_stream_priority();
}

bool hf_device_info_is_software(const hf_device_info* info) {
  return info->driver.kind() == holdfast::v1::Driver::KIND_SOFTWARE;
}

int32_t hf_device_info_driver_version(const hf_device_info* info) {
  return info->driver.version();
}

const char* hf_device_info_driver_path(const hf_device_info* info) {
  return info->driver.path().c_str();
}

bool hf_device_info_attribute(const hf_device_info* info, const char* name,
                              int64_t* value) {
  const auto& attributes = info->device.attributes();
  const auto found = attributes.find(name);
  if (found == attributes.end()) return false;
  *value = found->second;
  return true;
}

size_t hf_device_info_attribute_count(const hf_device_info* info) {
  return info->attributes.size();
}

const char* hf_device_info_attribute_at(const hf_device_info* info,
                                        size_t index, int64_t* value) {
  *value = info->attributes[index].second;
  return info->attributes[index].first.c_str();
}

}  // extern "C"
