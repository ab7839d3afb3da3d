// SPDX-License-Identifier: Apache-2.0
#include "server/executor/recovery/module_variables.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/error_detail.h"
#include "core/base/memfd.h"
#include "core/base/status_macros.h"
#include "core/base/utf8.h"
#include "server/executor/memory/memory_image.h"
#include "server/journal/saved_variables.h"

namespace holdfast::executor {
namespace {

// At most, of a variable besides its name and value: tags, lengths, numbers.
constexpr uint64_t kEncodingBytes = 48;

// A variable on one device.
struct Place {
  DeviceState* device = nullptr;
  cuda::Module::Global global;
};

DeviceRange RangeOf(const Place& place) {
  return {place.global.address, place.global.size};
}

absl::StatusOr<Place> Find(Resources& resources, uint64_t module,
                           const std::string& name, uint32_t ordinal) {
  HOLDFAST_ASSIGN_OR_RETURN(ModuleResource * found,
                            resources.modules.Find(module));
  HOLDFAST_ASSIGN_OR_RETURN(DeviceState * device,
                            resources.devices.Open(ordinal));
  HOLDFAST_ASSIGN_OR_RETURN(const cuda::Module::Global global,
                            found->module->FindGlobal(name, *device->context));
  return Place{device, global};
}

// Finds all variables, device by device. Each entry of the message gets its
// value later.
class Finder {
 public:
  Finder(Resources& resources, internal::SavedVariables* variables)
      : resources_(resources), variables_(*variables) {}

  absl::StatusOr<std::vector<Place>> Find() && {
    for (const auto& open : resources_.devices.open()) {
      absl::Status status;
      resources_.modules.ForEachHandle(
          [&](uint64_t handle, const ModuleResource& module) {
            if (status.ok()) status = Add(handle, module, open.first);
          });
      HOLDFAST_RETURN_IF_ERROR(status);
    }
    return std::move(places_);
  }

 private:
  absl::Status Add(uint64_t handle, const ModuleResource& module,
                   uint32_t device) {
    for (const std::string& name : module.variables) {
      // One of internal linkage, perhaps.
      const auto place = executor::Find(resources_, handle, name, device);
      if (!place.ok() || place->global.size == 0) continue;
      values_ += place->global.size;
      encoded_ += name.size() + place->global.size + kEncodingBytes;
      HOLDFAST_RETURN_IF_ERROR(CheckSize());
      places_.push_back(*place);
      auto& variable = *variables_.add_variables();
      variable.set_module(handle);
      variable.set_name(name);
      variable.set_device(device);
    }
    return absl::OkStatus();
  }

  absl::Status CheckSize() const {
    if (values_ > kMaxVariableBytes) {
      return absl::FailedPreconditionError(
          absl::StrCat("the variables of the session's modules have ", values_,
                       " bytes or more; the limit of what can be kept is ",
                       kMaxVariableBytes));
    }
    if (encoded_ > kMaxSavedVariablesBytes) {
      return absl::FailedPreconditionError(absl::StrCat(
          "the variables of the session's modules have, with their names, ",
          encoded_, " bytes or more; the limit of what can be kept is ",
          kMaxSavedVariablesBytes));
    }
    return absl::OkStatus();
  }

  Resources& resources_;
  internal::SavedVariables& variables_;
  std::vector<Place> places_;
  uint64_t values_ = 0;
  uint64_t encoded_ = 0;  // at most
};

absl::Status Save(MemoryCopiers& copiers, const Place& place,
                  std::string* value) {
  HOLDFAST_ASSIGN_OR_RETURN(MemoryCopier * copier,
                            copiers.For(place.device->context));
  value->resize(place.global.size);
  return copier->Save(RangeOf(place), value->data());
}

absl::Status Load(Resources& resources,
                  const internal::SavedVariables::Variable& variable) {
  HOLDFAST_ASSIGN_OR_RETURN(
      const Place place,
      Find(resources, variable.module(), variable.name(), variable.device()));
  const std::string& value = variable.value();
  if (value.size() != place.global.size) {
    return absl::DataLossError(absl::StrCat("it has ", place.global.size,
                                            " bytes, and had ", value.size()));
  }
  HOLDFAST_ASSIGN_OR_RETURN(
      MemoryCopier * copier,
      resources.devices.copiers().For(place.device->context));
  HOLDFAST_RETURN_IF_ERROR(copier->Load(RangeOf(place), value.data()));
  // So that the next suspension saves it, though its image could not be read
  // and its handle may be gone.
  HOLDFAST_ASSIGN_OR_RETURN(ModuleResource * module,
                            resources.modules.Find(variable.module()));
  module->variables.insert(variable.name());
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<UniqueFd> SaveVariables(Resources& resources) {
  internal::SavedVariables variables;
  HOLDFAST_ASSIGN_OR_RETURN(const std::vector<Place> places,
                            Finder(resources, &variables).Find());
  if (places.empty()) return UniqueFd();
  MemoryCopiers copiers(resources.account().staging_memory());
  for (size_t i = 0; i < places.size(); ++i) {
    HOLDFAST_RETURN_IF_ERROR(Save(
        copiers, places[i],
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
  if (mapping.size() <= kMaxSavedVariablesBytes &&
      variables.ParseFromArray(mapping.data(),
                               static_cast<int>(mapping.size()))) {
    return variables;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "saved variables of ", mapping.size(), " bytes cannot be read"));
}

void RestoreVariables(
    Resources& resources, const internal::SavedVariables& variables,
    absl::FunctionRef<void(uint64_t module, const absl::Status& why)> failed) {
  for (const auto& variable : variables.variables()) {
    if (!resources.modules.Contains(variable.module())) continue;
    const absl::Status status = Load(resources, variable);
    if (status.ok()) continue;
    failed(variable.module(),
           WithPrefix(absl::StrCat("variable ", ToValidUtf8(variable.name()),
                                   " of ", DescribeHandle(variable.module())),
                      status));
  }
}

}  // namespace holdfast::executor
