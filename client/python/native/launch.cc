// SPDX-License-Identifier: Apache-2.0
//
// Kernels, launch configurations, and launching, which is to be fast.
#include <memory>
#include <vector>

#include "client/python/native/arguments.h"
#include "client/python/native/native.h"
#include "client/python/native/number.h"

namespace holdfast::python {

PyTypeObject* kernel_type = nullptr;
PyTypeObject* config_type = nullptr;

namespace {

// CUDA's own limit is 4 KiB or 32 KiB of parameters.
constexpr Py_ssize_t kMaxArguments = 1024;

// False, with an exception: no sequence of truth values.
bool ToBools(PyObject* sequence, std::vector<bool>* bools) {
  const Py_ssize_t count = PySequence_Size(sequence);
  if (count < 0) return false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    const Ref item(PySequence_GetItem(sequence, i));
    if (!item) return false;
    bools->push_back(PyObject_IsTrue(item.get()) == 1);
  }
  return true;
}

// _load(module, name, device, which parameters are floating-point numbers):
// waits, and raises if there is no such kernel.
PyObject* LoadKernel(PyObject* self, PyObject* arguments) {
  PyObject* from = nullptr;
  const char* name = nullptr;
  Number<uint32_t> device("device");
  PyObject* is_float = nullptr;
  auto parameters = std::make_unique<Parameters>();
  if (!PyArg_ParseTuple(arguments, "OsO&O", &from, &name, ToNumber, &device,
                        &is_float) ||
      !CheckType(from, module_type, "a module") ||
      !ToBools(is_float, &parameters->is_float)) {
    return nullptr;
  }
  const UseModule module(from);
  if (!module) return nullptr;
  hf_kernel* kernel = nullptr;
  hf_kernel_info* info = nullptr;
  hf_error* error = nullptr;
  {
    const WithoutGil released;
    error = hf_module_kernel(module.get(), name, &kernel);
    if (error == nullptr) error = hf_kernel_describe(kernel, device, &info);
  }
  if (error != nullptr) {
    hf_kernel_free(kernel);
    return Raise(error);
  }
  for (size_t i = 0; i < hf_kernel_info_parameter_count(info); ++i) {
    uint64_t offset = 0;
    uint64_t size = 0;
    hf_kernel_info_parameter(info, i, &offset, &size);
    parameters->sizes.push_back(static_cast<uint32_t>(size));
  }
  hf_kernel_info_free(info);
  const Ref done(Adopt<hf_kernel, hf_kernel_free>(self, kernel));
  if (!done) return nullptr;
  reinterpret_cast<Kernel*>(self)->parameters = parameters.release();
  Py_RETURN_NONE;
}

void DeallocKernel(PyObject* self) {
  delete reinterpret_cast<Kernel*>(self)->parameters;
  Dealloc<hf_kernel, hf_kernel_free>(self);
}

PyObject* KernelHandle(PyObject* self, void*) {
  const UseKernel kernel(self);
  return kernel ? PyLong_FromUnsignedLongLong(hf_kernel_handle(kernel.get()))
                : nullptr;
}

// _describe(device, attribute names) -> (name, {name: value}, [(offset, size)])
PyObject* Describe(PyObject* self, PyObject* arguments) {
  Number<uint32_t> device("device");
  PyObject* wanted = nullptr;
  std::vector<std::string> names;
  if (!PyArg_ParseTuple(arguments, "O&O", ToNumber, &device, &wanted) ||
      !ToStrings(wanted, &names)) {
    return nullptr;
  }
  const UseKernel kernel(self);
  if (!kernel) return nullptr;
  hf_kernel_info* info = nullptr;
  hf_error* error = nullptr;
  {
    const WithoutGil released;
    error = hf_kernel_describe(kernel.get(), device, &info);
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
  Ref parameters(PyList_New(0));
  for (size_t i = 0; i < hf_kernel_info_parameter_count(info); ++i) {
    uint64_t offset = 0;
    uint64_t size = 0;
    hf_kernel_info_parameter(info, i, &offset, &size);
    const Ref pair(Py_BuildValue("(KK)",
                                 static_cast<unsigned long long>(offset),
                                 static_cast<unsigned long long>(size)));
    if (parameters && pair) PyList_Append(parameters.get(), pair.get());
  }
  PyObject* const result =
      Py_BuildValue("(sNN)", hf_kernel_info_name(info), attributes.release(),
                    parameters.release());
  hf_kernel_info_free(info);
  return result;
}

PyObject* ActiveBlocks(PyObject* self, PyObject* arguments) {
  Number<uint32_t> device("device");
  Number<uint32_t> threads("block_size");
  Number<uint64_t> shared("dynamic shared memory");
  if (!PyArg_ParseTuple(arguments, "O&O&O&", ToNumber, &device, ToNumber,
                        &threads, ToNumber, &shared)) {
    return nullptr;
  }
  const UseKernel kernel(self);
  if (!kernel) return nullptr;
  uint64_t blocks = 0;
  hf_error* error = nullptr;
  {
    const WithoutGil released;
    error = hf_occupancy_active_blocks(kernel.get(), device, threads, shared,
                                       &blocks);
  }
  return error != nullptr ? Raise(error) : PyLong_FromUnsignedLongLong(blocks);
}

// _block_size(device, dynamic shared, max threads) -> (min grid, threads)
PyObject* BlockSize(PyObject* self, PyObject* arguments) {
  Number<uint32_t> device("device");
  Number<uint32_t> limit("block_size_limit");
  Number<uint64_t> shared("dynamic shared memory");
  if (!PyArg_ParseTuple(arguments, "O&O&O&", ToNumber, &device, ToNumber,
                        &shared, ToNumber, &limit)) {
    return nullptr;
  }
  const UseKernel kernel(self);
  if (!kernel) return nullptr;
  uint32_t threads = 0;
  uint32_t grid = 0;
  hf_error* error = nullptr;
  {
    const WithoutGil released;
    error = hf_occupancy_block_size(kernel.get(), device, shared, limit,
                                    &threads, &grid);
  }
  return error != nullptr ? Raise(error) : Py_BuildValue("(II)", grid, threads);
}

PyObject* DynamicShared(PyObject* self, PyObject* arguments) {
  Number<uint32_t> device("device");
  Number<uint32_t> blocks("num_blocks_per_multiprocessor");
  Number<uint32_t> threads("block_size");
  if (!PyArg_ParseTuple(arguments, "O&O&O&", ToNumber, &device, ToNumber,
                        &blocks, ToNumber, &threads)) {
    return nullptr;
  }
  const UseKernel kernel(self);
  if (!kernel) return nullptr;
  uint64_t bytes = 0;
  hf_error* error = nullptr;
  {
    const WithoutGil released;
    error = hf_occupancy_dynamic_shared(kernel.get(), device, blocks, threads,
                                        &bytes);
  }
  return error != nullptr ? Raise(error) : PyLong_FromUnsignedLongLong(bytes);
}

using AskClusters = hf_error* (*)(const hf_kernel*, uint32_t,
                                  const hf_launch_config*, uint64_t*);

// (device, configuration)
template <AskClusters Ask>
PyObject* Clusters(PyObject* self, PyObject* arguments) {
  Number<uint32_t> device("device");
  PyObject* config = nullptr;
  if (!PyArg_ParseTuple(arguments, "O&O", ToNumber, &device, &config) ||
      !CheckType(config, config_type, "a LaunchConfig")) {
    return nullptr;
  }
  const UseKernel kernel(self);
  if (!kernel) return nullptr;
  uint64_t value = 0;
  hf_error* error = nullptr;
  {
    const WithoutGil released;
    error = Ask(kernel.get(), device,
                &reinterpret_cast<Config*>(config)->config, &value);
  }
  return error != nullptr ? Raise(error) : PyLong_FromUnsignedLongLong(value);
}

// A tuple of three; false, with an exception that names it.
bool ToDim3(PyObject* tuple, const char* name, hf_dim3* dim) {
  Number<uint32_t> x(name);
  Number<uint32_t> y(name);
  Number<uint32_t> z(name);
  if (!PyArg_ParseTuple(tuple, "O&O&O&", ToNumber, &x, ToNumber, &y, ToNumber,
                        &z)) {
    return false;
  }
  *dim = {x, y, z};
  return true;
}

// _set(grid, block, cluster or None, shared, cooperative, serialization)
PyObject* SetConfig(PyObject* self, PyObject* arguments) {
  auto* const own = reinterpret_cast<Config*>(self);
  hf_launch_config config = HF_LAUNCH_CONFIG_INIT;
  PyObject* grid = nullptr;
  PyObject* block = nullptr;
  PyObject* cluster = nullptr;
  Number<uint32_t> shared("shmem_size");
  int cooperative = 0;
  int serialization = 0;
  if (!PyArg_ParseTuple(arguments, "OOOO&pp", &grid, &block, &cluster, ToNumber,
                        &shared, &cooperative, &serialization) ||
      !ToDim3(grid, "grid", &config.grid) ||
      !ToDim3(block, "block", &config.block) ||
      (cluster != Py_None && !ToDim3(cluster, "cluster", &config.cluster))) {
    return nullptr;
  }
  config.dynamic_shared_bytes = shared;
  config.cooperative = cooperative != 0;
  if (serialization != 0) {
    own->attributes[0].kind = HF_PROGRAMMATIC_STREAM_SERIALIZATION;
    own->attributes[0].value.number = 1;
    config.attributes = own->attributes.data();
    config.attribute_count = 1;
  }
  own->config = config;
  Py_RETURN_NONE;
}

void DeallocConfig(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

// launch(stream, config, kernel, *arguments)
PyObject* Launch(PyObject*, PyObject* const* objects, Py_ssize_t count) {
  if (count < 3 || count > kMaxArguments) {
    PyErr_SetString(PyExc_TypeError,
                    "launch(stream, config, kernel, *arguments) expected");
    return nullptr;
  }
  if (!CheckType(objects[0], stream_type, "a Stream") ||
      !CheckType(objects[1], config_type, "a LaunchConfig") ||
      !CheckType(objects[2], kernel_type, "a Kernel")) {
    return nullptr;
  }
  const UseStream stream(objects[0]);
  if (!stream) return nullptr;
  const UseKernel kernel(objects[2]);
  if (!kernel) return nullptr;
  Arguments arguments(*reinterpret_cast<Kernel*>(objects[2])->parameters);
  if (!arguments.Set(objects + 3, static_cast<size_t>(count - 3))) {
    return nullptr;
  }
  hf_error* error = nullptr;
  {
    const WithoutGil released;
    error = hf_launch(
        stream.get(), &reinterpret_cast<Config*>(objects[1])->config,
        kernel.get(), arguments.data(), static_cast<size_t>(count - 3));
  }
  if (error != nullptr) return RaiseOfLaunch(error);
  Py_RETURN_NONE;
}

PyMethodDef kernel_methods[] = {
    {"_load", LoadKernel, METH_VARARGS, nullptr},
    {"_describe", Describe, METH_VARARGS, nullptr},
    {"_active_blocks", ActiveBlocks, METH_VARARGS, nullptr},
    {"_block_size", BlockSize, METH_VARARGS, nullptr},
    {"_dynamic_shared", DynamicShared, METH_VARARGS, nullptr},
    {"_cluster_size", Clusters<hf_occupancy_cluster_size>, METH_VARARGS,
     nullptr},
    {"_active_clusters", Clusters<hf_occupancy_active_clusters>, METH_VARARGS,
     nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef kernel_properties[] = {
    {"_handle", KernelHandle, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot kernel_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(DeallocKernel)},
    {Py_tp_methods, kernel_methods},
    {Py_tp_getset, kernel_properties},
    {0, nullptr},
};

PyType_Spec kernel_spec = {"holdfast._native.Kernel", sizeof(Kernel), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                           kernel_slots};

PyMethodDef config_methods[] = {
    {"_set", SetConfig, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot config_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(DeallocConfig)},
    {Py_tp_methods, config_methods},
    {0, nullptr},
};

PyType_Spec config_spec = {"holdfast._native.LaunchConfig", sizeof(Config), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                           config_slots};

PyMethodDef functions[] = {
    {"launch",
     reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(Launch)),
     METH_FASTCALL, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool AddLaunch(PyObject* module) {
  return AddType(module, &kernel_spec, &kernel_type) &&
         AddType(module, &config_spec, &config_type) &&
         PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace holdfast::python
