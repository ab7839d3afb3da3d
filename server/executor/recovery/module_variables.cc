// SPDX-License-Identifier: Apache-2.0
#include "server/executor/recovery/module_variables.h"

#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/error_detail.h"
#include "core/base/memfd.h"
#include "core/base/status_macros.h"
#include "server/executor/recovery/memory_image.h"

namespace holdfast::executor {
namespace {

// Room for names and the encoding, besides the values.
constexpr size_t kMaxSavedBytes = kMaxVariableBytes + (size_t{64} << 20);

// A variable on one device.
struct Place {
  DeviceState* device = nullptr;
  cuda::Module::Global global;
};

absl::StatusOr<Place> Find(Resources& resources, uint64_t module,
                           const std::string& name, uint32_t ordinal) {
  HOLDFAST_ASSIGN_OR_RETURN(ModuleResource * found,
                            resources.modules.Find(module));
  HOLDFAST_ASSIGN_OR_RETURN(DeviceState * device, resources.Device(ordinal));
  HOLDFAST_ASSIGN_OR_RETURN(const cuda::Module::Global global,
                            found->module->FindGlobal(name, *device->context));
  return Place{device, global};
}

// Finds all; each entry gets its value later.
absl::StatusOr<std::vector<Place>> FindAll(
    Resources& resources, internal::SavedVariables* variables) {
  std::vector<Place> places;
  uint64_t bytes = 0;
  std::vector<std::pair<uint64_t, std::vector<std::string>>> modules;
  resources.modules.ForEachHandle(
      [&](uint64_t handle, const ModuleResource& module) {
        modules.emplace_back(handle, module.variables);
      });
  for (const auto& [handle, names] : modules) {
    for (const std::string& name : names) {
      for (const uint32_t device : resources.OpenDevices()) {
        // One of internal linkage, perhaps.
        const auto place = Find(resources, handle, name, device);
        if (!place.ok() || place->global.size == 0) continue;
        bytes += place->global.size;
        places.push_back(*place);
        auto& variable = *variables->add_variables();
        variable.set_module(handle);
        variable.set_name(name);
        variable.set_device(device);
      }
    }
  }
  if (bytes <= kMaxVariableBytes) return places;
  return absl::FailedPreconditionError(absl::StrCat(
      "the variables of the session's modules have ", bytes,
      " bytes; the limit of what can be kept is ", kMaxVariableBytes));
}

absl::Status CheckTransferred(ssize_t bytes, size_t wanted) {
  if (bytes == static_cast<ssize_t>(wanted)) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(
      bytes, " bytes of a variable were transferred instead of ", wanted));
}

// By way of `scratch`, as the bytes of chunks go.
absl::Status Save(Resources& resources, const Place& place, int scratch,
                  std::string* value) {
  HOLDFAST_RETURN_IF_ERROR(
      SaveMemory(place.device->context, *resources.account().staging_memory(),
                 {place.global.address, place.global.size}, {scratch, 0}));
  value->resize(place.global.size);
  return CheckTransferred(pread(scratch, value->data(), value->size(), 0),
                          value->size());
}

absl::Status Load(Resources& resources, const Place& place, int scratch,
                  const std::string& value) {
  if (value.size() != place.global.size) {
    return absl::DataLossError(absl::StrCat("it has ", place.global.size,
                                            " bytes, and had ", value.size()));
  }
  HOLDFAST_RETURN_IF_ERROR(CheckTransferred(
      pwrite(scratch, value.data(), value.size(), 0), value.size()));
  return LoadMemory(place.device->context,
                    *resources.account().staging_memory(),
                    {place.global.address, place.global.size}, {scratch, 0});
}

}  // namespace

absl::StatusOr<UniqueFd> SaveVariables(Resources& resources) {
  internal::SavedVariables variables;
  HOLDFAST_ASSIGN_OR_RETURN(const std::vector<Place> places,
                            FindAll(resources, &variables));
  if (places.empty()) return UniqueFd();
  HOLDFAST_ASSIGN_OR_RETURN(const UniqueFd scratch,
                            CreateMemfd("holdfast-variable", 0));
  for (size_t i = 0; i < places.size(); ++i) {
    HOLDFAST_RETURN_IF_ERROR(Save(
        resources, places[i], scratch.get(),
        variables.mutable_variables(static_cast<int>(i))->mutable_value()));
  }
  return CreateSealedMemfd("holdfast-variables", variables.SerializeAsString());
}

absl::StatusOr<internal::SavedVariables> ReadVariables(int memory) {
  if (!IsSealed(memory)) {
    return absl::InvalidArgumentError("saved variables are no sealed memfd");
  }
  HOLDFAST_ASSIGN_OR_RETURN(
      const FileMapping mapping,
      FileMapping::Map(memory, FileMapping::Access::kReadOnly));
  internal::SavedVariables variables;
  if (mapping.size() <= kMaxSavedBytes &&
      variables.ParseFromArray(mapping.data(),
                               static_cast<int>(mapping.size()))) {
    return variables;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "saved variables of ", mapping.size(), " bytes cannot be read"));
}

absl::Status RestoreVariables(Resources& resources,
                              const internal::SavedVariables& variables) {
  HOLDFAST_ASSIGN_OR_RETURN(const UniqueFd scratch,
                            CreateMemfd("holdfast-variable", 0));
  for (const auto& variable : variables.variables()) {
    absl::Status status;
    const auto place =
        Find(resources, variable.module(), variable.name(), variable.device());
    status = place.ok()
                 ? Load(resources, *place, scratch.get(), variable.value())
                 : place.status();
    if (!status.ok()) {
      return WithPrefix(absl::StrCat("variable ", variable.name(), " of ",
                                     DescribeHandle(variable.module())),
                        status);
    }
  }
  return absl::OkStatus();
}

}  // namespace holdfast::executor
