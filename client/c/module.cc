// SPDX-License-Identifier: Apache-2.0
//
// Modules and their kernels.
#include "client/cpp/module.h"

#include <memory>
#include <utility>

#include "absl/strings/str_join.h"
#include "client/c/error.h"
#include "client/c/handles.h"
#include "client/c/holdfast.h"
#include "client/cpp/kernel.h"
#include "core/base/status_macros.h"
#include "holdfast/v1/module_commands.pb.h"

using holdfast::c::Give;
using holdfast::c::Guard;

struct hf_kernel_info {
  holdfast::v1::KernelDescription description;
};

extern "C" {

hf_error* hf_module_load(hf_session* session, const hf_object* object,
                         hf_module** module) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(session, object, module);
    HOLDFAST_ASSIGN_OR_RETURN(auto loaded,
                              session->session->Load(object->object));
    *module = new hf_module{std::move(loaded), session->session->state()};
    return absl::OkStatus();
  });
}

void hf_module_free(hf_module* module) { delete module; }

hf_error* hf_module_kernel_names(const hf_module* module, hf_text** names) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(module, names);
    HOLDFAST_ASSIGN_OR_RETURN(const auto all, module->module.KernelNames());
    return Give(absl::StrJoin(all, "\n"), names);
  });
}

hf_error* hf_module_kernel(const hf_module* module, const char* name,
                           hf_kernel** kernel) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(module, name, kernel);
    HOLDFAST_ASSIGN_OR_RETURN(auto found, module->module.GetKernel(name));
    *kernel = new hf_kernel{std::move(found), module->session};
    return absl::OkStatus();
  });
}

hf_error* hf_module_global(const hf_module* module, const char* name,
                           uint32_t device, hf_buffer** buffer) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(module, name, buffer);
    HOLDFAST_ASSIGN_OR_RETURN(auto global,
                              module->module.GetGlobal(name, device));
    return Give(std::move(global), buffer);
  });
}

void hf_kernel_free(hf_kernel* kernel) { delete kernel; }

uint64_t hf_kernel_handle(const hf_kernel* kernel) {
  return kernel->kernel.handle();
}

hf_error* hf_kernel_status(const hf_kernel* kernel) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(kernel);
    return kernel->kernel.status();
  });
}

hf_error* hf_kernel_describe(const hf_kernel* kernel, uint32_t device,
                             hf_kernel_info** info) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(kernel, info);
    HOLDFAST_ASSIGN_OR_RETURN(auto described, kernel->kernel.Describe(device));
    return Give(std::move(described), info);
  });
}

hf_error* hf_kernel_set_attribute(const hf_kernel* kernel, uint32_t device,
                                  const char* attribute, int64_t value) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(kernel, attribute);
    return kernel->kernel.SetAttribute(attribute, value, device);
  });
}

void hf_kernel_info_free(hf_kernel_info* info) { delete info; }

const char* hf_kernel_info_name(const hf_kernel_info* info) {
  return info->description.name().c_str();
}

bool hf_kernel_info_attribute(const hf_kernel_info* info, const char* name,
                              int64_t* value) {
  const auto& attributes = info->description.attributes();
  const auto found = attributes.find(name);
  if (found == attributes.end()) return false;
  *value = found->second;
  return true;
}

size_t hf_kernel_info_parameter_count(const hf_kernel_info* info) {
  return static_cast<size_t>(info->description.parameters_size());
}

void hf_kernel_info_parameter(const hf_kernel_info* info, size_t index,
                              uint64_t* offset, uint64_t* size) {
  const auto& parameter = info->description.parameters(static_cast<int>(index));
  *offset = parameter.offset();
  *size = parameter.size();
}

}  // extern "C"
