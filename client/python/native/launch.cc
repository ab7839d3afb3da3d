// SPDX-License-Identifier: Apache-2.0
//
// Kernels, launch configurations, and launching, which is to be fast.
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "client/python/native/kernel_arguments.h"
#include "client/python/native/method.h"
#include "client/python/native/native.h"

namespace holdfast::python {

PyTypeObject* config_type = nullptr;

namespace {

// CUDA's own limit is 4 KiB or 32 KiB of parameters.
constexpr Py_ssize_t kMaxArguments = 1024;

// A parameter's offset and size.
using Parameter = std::tuple<uint64_t, uint64_t>;

std::vector<Parameter> ParametersOf(const hf_kernel_info* info) {
  std::vector<Parameter> parameters(hf_kernel_info_parameter_count(info));
  for (size_t i = 0; i < parameters.size(); ++i) {
    auto& [offset, size] = parameters[i];
    hf_kernel_info_parameter(info, i, &offset, &size);
  }
  return parameters;
}

// Waits, and raises if there is no such kernel. `kinds`: see Parameters.
PyObject* LoadKernel(PyObject* self, const hf_module* module, const char* name,
                     uint32_t device, const char* kinds) {
  hf_kernel* kernel = nullptr;
  hf_kernel_info* info = nullptr;
  hf_error* error = nullptr;
  {
    const WithoutGil released;
    error = hf_module_kernel(module, name, &kernel);
    if (error == nullptr) error = hf_kernel_describe(kernel, device, &info);
  }
  if (error != nullptr) {
    hf_kernel_free(kernel);
    return Raise(error);
  }
  auto parameters = std::make_unique<Parameters>();
  parameters->kinds = kinds;
  for (const auto& [offset, size] : ParametersOf(info)) {
    parameters->sizes.push_back(static_cast<uint32_t>(size));
  }
  hf_kernel_info_free(info);
  const Ref done(Adopt(self, kernel));
  if (!done) return nullptr;
  reinterpret_cast<Kernel*>(self)->parameters = parameters.release();
  Py_RETURN_NONE;
}

void DeallocKernel(PyObject* self) {
  delete reinterpret_cast<Kernel*>(self)->parameters;
  Dealloc<hf_kernel>(self);
}

// -> (name, {name: value}, parameters)
PyObject* Describe(const hf_kernel* kernel, uint32_t device,
                   const std::vector<std::string>& names) {
  hf_kernel_info* info = nullptr;
  hf_error* error = nullptr;
  {
    const WithoutGil released;
    error = hf_kernel_describe(kernel, device, &info);
  }
  if (error != nullptr) return Raise(error);
  Ref attributes(PyDict_New());
  for (const std::string& name : names) {
    int64_t value = 0;
    if (!attributes || !hf_kernel_info_attribute(info, name.c_str(), &value)) {
      continue;
    }
    const Ref number(PyLong_FromLongLong(value));
    PyDict_SetItemString(attributes.get(), name.c_str(), number.get());
  }
  PyObject* const result =
      Py_BuildValue("(sNN)", hf_kernel_info_name(info), attributes.release(),
                    Result<std::vector<Parameter>>::Make(ParametersOf(info)));
  hf_kernel_info_free(info);
  return result;
}

// -> (min grid, threads)
hf_error* BlockSize(const hf_kernel* kernel, uint32_t device, uint64_t shared,
                    uint32_t limit, uint32_t* min_grid, uint32_t* threads) {
  return hf_occupancy_block_size(kernel, device, shared, limit, threads,
                                 min_grid);
}

using Extents = std::tuple<uint32_t, uint32_t, uint32_t>;

hf_dim3 ToDim3(const Extents& extents) {
  return {std::get<0>(extents), std::get<1>(extents), std::get<2>(extents)};
}

void SetConfig(PyObject* self, const Extents& grid, const Extents& block,
               const std::optional<Extents>& cluster, uint32_t shared,
               bool cooperative, bool serialization) {
  auto* const own = reinterpret_cast<Config*>(self);
  hf_launch_config config = HF_LAUNCH_CONFIG_INIT;
  config.grid = ToDim3(grid);
  config.block = ToDim3(block);
  if (cluster.has_value()) config.cluster = ToDim3(*cluster);
  config.dynamic_shared_bytes = shared;
  config.cooperative = cooperative;
  if (serialization) {
    own->attributes[0].kind = HF_PROGRAMMATIC_STREAM_SERIALIZATION;
    own->attributes[0].value.number = 1;
    config.attributes = own->attributes.data();
    config.attribute_count = 1;
  }
  own->config = config;
}

// launch(stream, config, kernel, *arguments)
PyObject* Launch(PyObject*, PyObject* const* objects, Py_ssize_t count) {
  if (count < 3 || count > kMaxArguments) {
    PyErr_SetString(PyExc_TypeError,
                    "launch(stream, config, kernel, *arguments) expected");
    return nullptr;
  }
  Argument<hf_stream*> stream;
  Argument<const hf_launch_config*> config;
  Argument<hf_kernel*> kernel;
  if (!stream.Take(objects[0], "stream") ||
      !config.Take(objects[1], "config") ||
      !kernel.Take(objects[2], "kernel")) {
    return nullptr;
  }
  Arguments arguments(objects[2],
                      *reinterpret_cast<Kernel*>(objects[2])->parameters);
  if (!arguments.Set(objects + 3, static_cast<size_t>(count - 3))) {
    return nullptr;
  }
  hf_error* error = nullptr;
  {
    const WithoutGil released;
    error = hf_launch(stream.get(), config.get(), kernel.get(),
                      arguments.data(), static_cast<size_t>(count - 3));
  }
  if (error != nullptr) return RaiseOfLaunch(error);
  Py_RETURN_NONE;
}

PyMethodDef kernel_methods[] = {
    Method<"_load", LoadKernel, "module", "name", "device", "kinds">(),
    Method<"_describe", Describe, "device", "attributes">(),
    Method<"_active_blocks", hf_occupancy_active_blocks, "device", "block_size",
           "dynamic shared memory">(),
    Method<"_block_size", BlockSize, "device", "dynamic shared memory",
           "block_size_limit">(),
    Method<"_dynamic_shared", hf_occupancy_dynamic_shared, "device",
           "num_blocks_per_multiprocessor", "block_size">(),
    Method<"_cluster_size", hf_occupancy_cluster_size, "device", "config">(),
    Method<"_active_clusters", hf_occupancy_active_clusters, "device",
           "config">(),
    {},
};

PyGetSetDef kernel_properties[] = {
    Property<"_handle", hf_kernel_handle>(),
    {},
};

PyMethodDef config_methods[] = {
    Method<"_set", kQuick<SetConfig>, "grid", "block", "cluster", "shmem_size",
           "cooperative", "serialization">(),
    {},
};

PyMethodDef functions[] = {
    {"launch",
     reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(Launch)),
     METH_FASTCALL, nullptr},
    {},
};

}  // namespace

bool AddLaunch(PyObject* module) {
  return AddClass<hf_kernel>(module, {.name = "holdfast._native.Kernel",
                                      .methods = kernel_methods,
                                      .properties = kernel_properties,
                                      .dealloc = DeallocKernel,
                                      .size = sizeof(Kernel)}) &&
         AddType(module,
                 {.name = "holdfast._native.LaunchConfig",
                  .methods = config_methods,
                  .dealloc = FreeSelf,
                  .size = sizeof(Config)},
                 &config_type) &&
         PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace holdfast::python
