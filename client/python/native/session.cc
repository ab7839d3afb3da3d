// SPDX-License-Identifier: Apache-2.0
//
// Daemon: a connection; Session: what owns streams and buffers.
#include <optional>
#include <string>
#include <vector>

#include "client/python/native/job.h"
#include "client/python/native/method.h"
#include "client/python/native/native.h"

namespace holdfast::python {
namespace {

PyObject* Connect(const std::string& address) {
  if (!CheckNotForked()) return nullptr;
  hf_daemon* const daemon =
      RunJob<hf_daemon>(
          [address](hf_daemon** made) {
            return hf_daemon_connect(address.c_str(), made);
          },
          hf_daemon_free, [] {})
          .release();
  return daemon != nullptr ? Wrap(daemon) : nullptr;
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

}  // namespace

template <>
struct Result<hf_device_info*> {
  static PyObject* Make(hf_device_info* info) {
    PyObject* const dict = ToDict(info);
    hf_device_info_free(info);
    return dict;
  }
};

namespace {

PyMethodDef daemon_methods[] = {
    Method<"describe", hf_daemon_describe_device, "device">(),
    Method<"server_info", hf_daemon_server_info>(),
    Method<"collections", hf_collections_list>(),
    Method<"describe_collection", hf_collections_describe, "name", "version">(),
    Method<"delete_collection", hf_collections_delete, "name", "version">(),
    Method<"configure_collection", hf_collections_configure, "request">(),
    Closing<"close", hf_daemon>(),
    {},
};

PyGetSetDef daemon_properties[] = {
    Property<"address", hf_daemon_address>(),
    Closed<"closed", hf_daemon>(),
    {},
};

// The options of a session; owns what hf_session_options refers to.
struct Options {
  std::string name;
  std::vector<std::string> devices;
  uint64_t memory_limit;
  double reconnect_grace;
  hf_recovery recovery;
  double kernel_time_limit;
  double detached_lifetime;
  bool blocking;

  hf_error* Open(hf_daemon* daemon, hf_session** session) const {
    std::vector<const char*> names;
    names.reserve(devices.size());
    for (const std::string& device : devices) names.push_back(device.c_str());
    hf_session_options options = HF_SESSION_OPTIONS_INIT;
    options.name = name.c_str();
    options.devices = names.data();
    options.device_count = names.size();
    options.memory_limit = memory_limit;
    options.reconnect_grace = reconnect_grace;
    options.recover = recovery;
    options.kernel_time_limit = kernel_time_limit;
    options.detached_lifetime = detached_lifetime;
    options.blocking = blocking;
    return hf_session_open(daemon, &options, session);
  }
};

PyObject* Open(PyObject* self, Use<hf_daemon>& daemon, const std::string& name,
               const std::vector<std::string>& devices, uint64_t memory_limit,
               double grace, hf_recovery recovery, double time_limit,
               double detached_lifetime, bool blocking) {
  hf_session* const session = RunJob<hf_session>(
      &daemon, [d = daemon.get(),
                options = Options{name, devices, memory_limit, grace, recovery,
                                  time_limit, detached_lifetime, blocking}](
                   hf_session** made) { return options.Open(d, made); });
  return session != nullptr ? Adopt(self, session) : nullptr;
}

std::vector<uint32_t> Ordinals(const hf_session* session) {
  size_t count = 0;
  const uint32_t* const devices = hf_session_devices(session, &count);
  return {devices, devices + count};
}

hf_error* Revoke(hf_session* session, const Token& token) {
  return hf_session_revoke_export(session, token.bytes);
}

PyMethodDef session_methods[] = {
    Method<"_begin", Open, "daemon", "name", "devices", "memory_limit",
           "reconnect_grace", "recovery", "kernel_time_limit",
           "detached_lifetime", "blocking">(),
    Method<"_synchronize", hf_session_synchronize>(),
    Method<"_check", hf_session_check>(),
    Method<"_flush", hf_session_flush>(),
    Method<"_recover", hf_session_recover>(),
    Method<"_detach", hf_session_detach>(),
    Method<"_revoke", Revoke, "a token">(),
    Method<"_can_access_peer", hf_session_can_access_peer, "device", "peer">(),
    Method<"_enable_peer_access", hf_session_enable_peer_access, "device",
           "peer">(),
    Method<"_disable_peer_access", hf_session_disable_peer_access, "device",
           "peer">(),
    Closing<"_close", hf_session>(),
    {},
};

PyGetSetDef session_properties[] = {
    Property<"_id", hf_session_id>(),
    Property<"_ordinals", Ordinals>(),
    Closed<"_closed", hf_session>(),
    {},
};

PyMethodDef functions[] = {
    Function<"connect", Connect, "address">(),
    Function<"default_address", kQuick<hf_default_address>>(),
    {},
};

}  // namespace

bool AddSession(PyObject* module) {
  return AddClass<hf_daemon>(module, {"holdfast._native.Daemon", daemon_methods,
                                      daemon_properties}) &&
         AddClass<hf_session>(module, {"holdfast._native.Session",
                                       session_methods, session_properties}) &&
         PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace holdfast::python
