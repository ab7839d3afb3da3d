// SPDX-License-Identifier: Apache-2.0
//
// Daemon: a connection; Session: what owns streams and buffers.
#include <memory>
#include <string>
#include <vector>

#include "client/python/native/collection.h"
#include "client/python/native/job.h"
#include "client/python/native/native.h"
#include "client/python/native/number.h"
#include "client/python/native/sharing.h"

namespace holdfast::python {

PyTypeObject* daemon_type = nullptr;
PyTypeObject* session_type = nullptr;

namespace {

PyObject* Connect(PyObject*, PyObject* address) {
  if (!CheckNotForked()) return nullptr;
  const char* const text = PyUnicode_AsUTF8AndSize(address, nullptr);
  if (text == nullptr) return nullptr;
  hf_daemon* daemon = nullptr;
  hf_error* error = nullptr;
  if (!RunJob<hf_daemon>(
          [where = std::string(text)](hf_daemon** made) {
            return hf_daemon_connect(where.c_str(), made);
          },
          hf_daemon_free, &daemon, &error)) {
    return nullptr;
  }
  if (error != nullptr) return Raise(error);
  PyObject* const self = NewObject(daemon_type);
  if (self == nullptr) {
    hf_daemon_free(daemon);
    return nullptr;
  }
  reinterpret_cast<Handle<hf_daemon>*>(self)->object = daemon;
  return self;
}

PyObject* DefaultAddress(PyObject*, PyObject*) {
  hf_text* text = nullptr;
  if (hf_error* const error = hf_default_address(&text)) return Raise(error);
  PyObject* const address = PyUnicode_FromStringAndSize(
      hf_text_data(text), static_cast<Py_ssize_t>(hf_text_size(text)));
  hf_text_free(text);
  return address;
}

PyObject* Address(PyObject* self, void*) {
  const UseDaemon daemon(self);
  return daemon ? PyUnicode_FromString(hf_daemon_address(daemon.get()))
                : nullptr;
}

PyObject* DeviceCount(PyObject* self, PyObject*) {
  const UseDaemon daemon(self);
  if (!daemon) return nullptr;
  uint32_t count = 0;
  hf_error* error = nullptr;
  {
    const WithoutGil released;
    error = hf_daemon_device_count(daemon.get(), &count);
  }
  return error != nullptr ? Raise(error) : PyLong_FromUnsignedLong(count);
}

// A dict of what `info` says; null with an exception.
PyObject* ToDict(const hf_device_info* info) {
  Ref attributes(PyDict_New());
  if (!attributes) return nullptr;
  const size_t count = hf_device_info_attribute_count(info);
  for (size_t i = 0; i < count; ++i) {
    int64_t value = 0;
    const char* const name = hf_device_info_attribute_at(info, i, &value);
    const Ref number(PyLong_FromLongLong(value));
    if (!number ||
        PyDict_SetItemString(attributes.get(), name, number.get()) != 0) {
      return nullptr;
    }
  }
  uint32_t major = 0;
  uint32_t minor = 0;
  int32_t least = 0;
  int32_t greatest = 0;
  hf_device_info_compute_capability(info, &major, &minor);
  hf_device_info_stream_priorities(info, &least, &greatest);
  return Py_BuildValue(
      "{s:s,s:y#,s:s,s:(II),s:K,s:(ii),s:N,s:i,s:s,s:N}", "name",
      hf_device_info_name(info), "uuid", hf_device_info_uuid(info),
      Py_ssize_t{16}, "pci_bus_id", hf_device_info_pci_bus_id(info),
      "compute_capability", major, minor, "total_memory",
      static_cast<unsigned long long>(hf_device_info_total_memory(info)),
      "priorities", least, greatest, "is_software",
      PyBool_FromLong(hf_device_info_is_software(info)), "driver_version",
      static_cast<int>(hf_device_info_driver_version(info)), "driver_path",
      hf_device_info_driver_path(info), "attributes", attributes.release());
}

PyObject* Describe(PyObject* self, PyObject* ordinal) {
  const UseDaemon daemon(self);
  if (!daemon) return nullptr;
  Number<uint32_t> device("device");
  if (!device.Take(ordinal)) return nullptr;
  hf_device_info* info = nullptr;
  hf_error* error = nullptr;
  {
    const WithoutGil released;
    error = hf_daemon_describe_device(daemon.get(), device, &info);
  }
  if (error != nullptr) return Raise(error);
  PyObject* const described = ToDict(info);
  hf_device_info_free(info);
  return described;
}

// The daemon's answer in JSON, as str.
template <hf_error* (*Ask)(hf_daemon*, hf_text**)>
PyObject* Json(PyObject* self, PyObject*) {
  const UseDaemon daemon(self);
  if (!daemon) return nullptr;
  hf_text* text = nullptr;
  hf_error* error = nullptr;
  {
    const WithoutGil released;
    error = Ask(daemon.get(), &text);
  }
  if (error != nullptr) return Raise(error);
  PyObject* const json = PyUnicode_FromStringAndSize(
      hf_text_data(text), static_cast<Py_ssize_t>(hf_text_size(text)));
  hf_text_free(text);
  return json;
}

PyObject* ClearCache(PyObject* self, PyObject*) {
  const UseDaemon daemon(self);
  if (!daemon) return nullptr;
  hf_error* error = nullptr;
  {
    const WithoutGil released;
    error = hf_daemon_clear_cache(daemon.get());
  }
  return NoneOrRaise(error);
}

// open(session, name, devices, memory_limit, reconnect_grace, recovery,
//      kernel_time_limit, detached_lifetime, blocking)
PyObject* Open(PyObject* self, PyObject* arguments) {
  const UseDaemon daemon(self);
  if (!daemon) return nullptr;
  PyObject* session = nullptr;
  PyObject* devices = nullptr;
  const char* name = nullptr;
  Number<uint64_t> memory_limit("memory_limit");
  Seconds grace("reconnect_grace");
  int recover = 0;
  Seconds time_limit("kernel_time_limit");
  Seconds detached("detached_lifetime");
  int blocking = 0;
  std::vector<std::string> choices;
  if (!PyArg_ParseTuple(arguments, "OsOO&O&iO&O&p", &session, &name, &devices,
                        ToNumber, &memory_limit, ToSeconds, &grace, &recover,
                        ToSeconds, &time_limit, ToSeconds, &detached,
                        &blocking) ||
      !CheckType(session, session_type, "a Session") ||
      !ToStrings(devices, &choices)) {
    return nullptr;
  }
  hf_session* opened = nullptr;
  hf_error* error = nullptr;
  const auto open = [d = daemon.get(), label = std::string(name), choices,
                     memory_limit, grace, recover, time_limit, detached,
                     blocking](hf_session** made) {
    std::vector<const char*> names;
    names.reserve(choices.size());
    for (const std::string& choice : choices) names.push_back(choice.c_str());
    hf_session_options options = HF_SESSION_OPTIONS_INIT;
    options.name = label.c_str();
    options.devices = names.data();
    options.device_count = names.size();
    options.memory_limit = memory_limit;
    options.reconnect_grace = grace;
    options.recover = static_cast<hf_recovery>(recover);
    options.kernel_time_limit = time_limit;
    options.detached_lifetime = detached;
    options.blocking = blocking != 0;
    return hf_session_open(d, &options, made);
  };
  if (!RunJob<hf_session>(open, hf_session_free, &opened, &error)) {
    // The call that goes on uses the daemon: it is never freed.
    ++reinterpret_cast<Handle<hf_daemon>*>(self)->users;
    return nullptr;
  }
  if (error != nullptr) return Raise(error);
  return Adopt<hf_session, hf_session_free>(session, opened);
}

PyMethodDef daemon_methods[] = {
    {"device_count", DeviceCount, METH_NOARGS, nullptr},
    {"describe", Describe, METH_O, nullptr},
    {"server_info", Json<hf_daemon_server_info>, METH_NOARGS, nullptr},
    {"sessions", Json<hf_daemon_sessions>, METH_NOARGS, nullptr},
    {"cache_statistics", Json<hf_daemon_cache_statistics>, METH_NOARGS,
     nullptr},
    {"clear_cache", ClearCache, METH_NOARGS, nullptr},
    {"collections", Json<hf_collections_list>, METH_NOARGS, nullptr},
    {"describe_collection", DescribeCollection, METH_VARARGS, nullptr},
    {"delete_collection", DeleteCollection, METH_VARARGS, nullptr},
    {"configure_collection", ConfigureCollection, METH_O, nullptr},
    {"open", Open, METH_VARARGS, nullptr},
    {"close", Close<hf_daemon, hf_daemon_free>, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef daemon_properties[] = {
    {"address", Address, nullptr, nullptr, nullptr},
    {"closed", IsClosed<hf_daemon>, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot daemon_slots[] = {
    {Py_tp_dealloc,
     reinterpret_cast<void*>(Dealloc<hf_daemon, hf_daemon_free>)},
    {Py_tp_methods, daemon_methods},
    {Py_tp_getset, daemon_properties},
    {0, nullptr},
};

PyType_Spec daemon_spec = {"holdfast._native.Daemon", sizeof(Handle<hf_daemon>),
                           0, Py_TPFLAGS_DEFAULT, daemon_slots};

PyObject* Id(PyObject* self, void*) {
  const UseSession session(self);
  return session ? PyUnicode_FromString(hf_session_id(session.get())) : nullptr;
}

PyObject* Devices(PyObject* self, void*) {
  const UseSession session(self);
  if (!session) return nullptr;
  size_t count = 0;
  const uint32_t* const devices = hf_session_devices(session.get(), &count);
  Ref tuple(PyTuple_New(static_cast<Py_ssize_t>(count)));
  for (size_t i = 0; tuple && i < count; ++i) {
    PyTuple_SetItem(tuple.get(), static_cast<Py_ssize_t>(i),
                    PyLong_FromUnsignedLong(devices[i]));
  }
  return tuple.release();
}

template <hf_error* (*Call)(hf_session*)>
PyObject* WithoutArguments(PyObject* self, PyObject*) {
  const UseSession session(self);
  if (!session) return nullptr;
  hf_error* error = nullptr;
  {
    const WithoutGil released;
    error = Call(session.get());
  }
  return NoneOrRaise(error);
}

// Returns the number of the last command that was submitted.
PyObject* Flush(PyObject* self, PyObject*) {
  const UseSession session(self);
  if (!session) return nullptr;
  uint64_t last = 0;
  {
    const WithoutGil released;
    last = hf_session_flush(session.get());
  }
  return PyLong_FromUnsignedLongLong(last);
}

PyObject* CanAccessPeer(PyObject* self, PyObject* arguments) {
  const UseSession session(self);
  Number<uint32_t> device("device");
  Number<uint32_t> peer("peer");
  if (!session || !PyArg_ParseTuple(arguments, "O&O&", ToNumber, &device,
                                    ToNumber, &peer)) {
    return nullptr;
  }
  bool can = false;
  hf_error* error = nullptr;
  {
    const WithoutGil released;
    error = hf_session_can_access_peer(session.get(), device, peer, &can);
  }
  return error != nullptr ? Raise(error) : PyBool_FromLong(can);
}

template <hf_error* (*Set)(hf_session*, uint32_t, uint32_t)>
PyObject* SetPeerAccess(PyObject* self, PyObject* arguments) {
  const UseSession session(self);
  Number<uint32_t> device("device");
  Number<uint32_t> peer("peer");
  if (!session || !PyArg_ParseTuple(arguments, "O&O&", ToNumber, &device,
                                    ToNumber, &peer)) {
    return nullptr;
  }
  hf_error* error = nullptr;
  {
    const WithoutGil released;
    error = Set(session.get(), device, peer);
  }
  return NoneOrRaise(error);
}

PyMethodDef session_methods[] = {
    {"_synchronize", WithoutArguments<hf_session_synchronize>, METH_NOARGS,
     nullptr},
    {"_check", WithoutArguments<hf_session_check>, METH_NOARGS, nullptr},
    {"_flush", Flush, METH_NOARGS, nullptr},
    {"_recover", WithoutArguments<hf_session_recover>, METH_NOARGS, nullptr},
    {"_detach", WithoutArguments<hf_session_detach>, METH_NOARGS, nullptr},
    {"_revoke", RevokeExport, METH_O, nullptr},
    {"_can_access_peer", CanAccessPeer, METH_VARARGS, nullptr},
    {"_enable_peer_access", SetPeerAccess<hf_session_enable_peer_access>,
     METH_VARARGS, nullptr},
    {"_disable_peer_access", SetPeerAccess<hf_session_disable_peer_access>,
     METH_VARARGS, nullptr},
    {"_close", Close<hf_session, hf_session_free>, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef session_properties[] = {
    {"_id", Id, nullptr, nullptr, nullptr},
    {"_ordinals", Devices, nullptr, nullptr, nullptr},
    {"_closed", IsClosed<hf_session>, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot session_slots[] = {
    {Py_tp_dealloc,
     reinterpret_cast<void*>(Dealloc<hf_session, hf_session_free>)},
    {Py_tp_methods, session_methods},
    {Py_tp_getset, session_properties},
    {0, nullptr},
};

PyType_Spec session_spec = {
    "holdfast._native.Session", sizeof(Handle<hf_session>), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, session_slots};

PyMethodDef functions[] = {
    {"connect", Connect, METH_O, nullptr},
    {"default_address", DefaultAddress, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool AddSession(PyObject* module) {
  return AddType(module, &daemon_spec, &daemon_type) &&
         AddType(module, &session_spec, &session_type) &&
         PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace holdfast::python
