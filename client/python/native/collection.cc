// SPDX-License-Identifier: Apache-2.0
//
// Collections that a session has open or writes, and watches of collections.
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "client/python/native/job.h"
#include "client/python/native/method.h"
#include "client/python/native/native.h"

namespace holdfast::python {
namespace {

// Name, dtype, shape, size, strides, index of the buffer, offset in it.
using Array =
    std::tuple<const char*, const char*, std::vector<uint64_t>, uint64_t,
               std::optional<std::vector<int64_t>>, size_t, uint64_t>;

Array ToArray(const hf_collection* collection, size_t index) {
  const hf_array array = hf_collection_array_at(collection, index);
  size_t buffer = 0;
  uint64_t offset = 0;
  hf_collection_array_place(collection, index, &buffer, &offset);
  std::optional<std::vector<int64_t>> strides;
  const int64_t* const steps = hf_collection_array_strides(collection, index);
  if (steps != nullptr) strides.emplace(steps, steps + array.rank);
  return {array.name, array.dtype, {array.shape, array.shape + array.rank},
          array.size, strides,     buffer,
          offset};
}

std::vector<Array> Arrays(const hf_collection* collection) {
  std::vector<Array> arrays;
  const size_t count = hf_collection_array_count(collection);
  for (size_t i = 0; i < count; ++i) arrays.push_back(ToArray(collection, i));
  return arrays;
}

using Text = std::tuple<std::string, std::string>;

// Pairs of key and text.
std::vector<Text> Metadata(const hf_collection* collection) {
  std::vector<Text> entries;
  const size_t count = hf_collection_metadata_count(collection);
  for (size_t i = 0; i < count; ++i) {
    const char* text = nullptr;
    const char* const key = hf_collection_metadata_at(collection, i, &text);
    entries.emplace_back(key, text);
  }
  return entries;
}

// -> names of arrays that have moved. Waits; other threads must not use the
// collection meanwhile.
hf_error* Wake(hf_collection* collection, std::optional<uint64_t> version,
               std::vector<std::string>* moved) {
  size_t count = 0;
  hf_error* const error =
      hf_collection_wake(collection, version.value_or(HF_SAME_VERSION), &count);
  if (error != nullptr) return error;
  for (size_t i = 0; i < count; ++i) {
    moved->emplace_back(hf_collection_moved_at(collection, i));
  }
  return nullptr;
}

PyMethodDef collection_methods[] = {
    // As wake.
    Method<"sleep", hf_collection_sleep>(),
    Method<"wake", Wake, "version">(),
    Method<"arrays", kQuick<Arrays>>(),
    Method<"metadata", kQuick<Metadata>>(),
    Closing<"close", hf_collection>(),
    {},
};

PyGetSetDef collection_properties[] = {
    Property<"version", hf_collection_version>(),
    Closed<"closed", hf_collection>(),
    {},
};

// An array that is to be written: name, dtype, shape.
using Spec = std::tuple<std::string, std::string, std::vector<uint64_t>>;

hf_error* Write(hf_session* session, uint32_t device,
                const std::vector<Spec>& specs, hf_collection_writer** writer) {
  std::vector<hf_array> arrays;
  arrays.reserve(specs.size());
  for (const auto& [name, dtype, shape] : specs) {
    arrays.push_back(
        {name.c_str(), dtype.c_str(), shape.data(), shape.size(), 0});
  }
  return hf_collection_writer_create(session, device, arrays.data(),
                                     arrays.size(), writer);
}

// The session is that of the writer: it must not be closed meanwhile.
hf_error* Commit(hf_collection_writer* writer, hf_session*, const char* name,
                 const std::vector<Text>& metadata, uint64_t* version) {
  std::vector<hf_named_bytes> entries;
  entries.reserve(metadata.size());
  for (const auto& [key, text] : metadata) {
    entries.push_back({key.c_str(), text.data(), text.size()});
  }
  return hf_collection_writer_commit(writer, name, entries.data(),
                                     entries.size(), version);
}

PyMethodDef writer_methods[] = {
    Method<"adopt", kQuick<hf_collection_writer_adopt>, "collection", "name">(),
    Method<"commit", Commit, "session", "name", "metadata">(),
    Closing<"close", hf_collection_writer>(),
    {},
};

// Waits, and can be interrupted.
PyObject* Claim(Use<hf_session>& session, const std::string& name) {
  hf_write_claim* const claim = RunJob<hf_write_claim>(
      &session, [s = session.get(), name](hf_write_claim** made) {
        return hf_write_claim_wait(s, name.c_str(), made);
      });
  return claim != nullptr ? Wrap(claim) : nullptr;
}

PyMethodDef claim_methods[] = {
    Closing<"close", hf_write_claim>(),
    {},
};

PyGetSetDef claim_properties[] = {
    Property<"writes", hf_write_claim_writes>(),
    {},
};

PyTypeObject* watch_type = nullptr;

// A watch that the thread of an interrupted next() may outlive its object with.
struct Watch {
  PyObject_HEAD std::shared_ptr<hf_watch>* watch;
};

std::shared_ptr<hf_watch>& WatchOf(PyObject* self) {
  return *reinterpret_cast<Watch*>(self)->watch;
}

PyObject* StartWatch(hf_daemon* daemon, const char* name) {
  hf_watch* watch = nullptr;
  hf_error* const error = hf_watch_start(daemon, name, &watch);
  if (error != nullptr) return Raise(error);
  PyObject* const self = NewObject(watch_type);
  if (self == nullptr) {
    hf_watch_free(watch);
    return nullptr;
  }
  reinterpret_cast<Watch*>(self)->watch =
      new std::shared_ptr<hf_watch>(watch, hf_watch_free);
  return self;
}

// Kind, name, version, owner.
using Change = std::tuple<int32_t, std::string, uint64_t, std::string>;

hf_error* AwaitChange(hf_watch* watch, Change** change) {
  hf_change kind = HF_PRESENT;
  const char* name = nullptr;
  uint64_t version = 0;
  hf_error* const error = hf_watch_next(watch, &kind, &name, &version);
  if (error == nullptr) {
    *change = new Change(static_cast<int32_t>(kind), name, version,
                         hf_watch_owner(watch));
  }
  return error;
}

PyObject* Next(PyObject* self) {
  if (!CheckNotForked()) return nullptr;
  const std::shared_ptr<hf_watch> watch = WatchOf(self);
  const auto change = RunJob<Change>(
      [watch](Change** made) { return AwaitChange(watch.get(), made); },
      [](Change* unused) { delete unused; },
      [&] { hf_watch_cancel(watch.get()); });
  return change != nullptr ? Result<Change>::Make(*change) : nullptr;
}

void Cancel(PyObject* self) { hf_watch_cancel(WatchOf(self).get()); }

void DeallocWatch(PyObject* self) {
  auto* const watch = reinterpret_cast<Watch*>(self)->watch;
  if (watch != nullptr && !IsForked()) {
    hf_watch_cancel(watch->get());
    delete watch;
  }
  FreeSelf(self);
}

PyMethodDef watch_methods[] = {
    Method<"next", Next>(),
    Method<"cancel", kQuick<Cancel>>(),
    {},
};

PyMethodDef functions[] = {
    Function<"open_collection", hf_collection_open, "session", "device", "name",
             "version">(),
    Function<"write_collection", Write, "session", "device", "shape">(),
    Function<"claim_collection", Claim, "session", "name">(),
    Function<"watch_collections", StartWatch, "daemon", "name">(),
    {},
};

}  // namespace

bool AddCollections(PyObject* module) {
  return AddClass<hf_collection>(
             module, {"holdfast._native.Collection", collection_methods,
                      collection_properties}) &&
         AddClass<hf_collection_writer>(
             module, {"holdfast._native.CollectionWriter", writer_methods}) &&
         AddClass<hf_write_claim>(module, {"holdfast._native.WriteClaim",
                                           claim_methods, claim_properties}) &&
         AddType(module,
                 {.name = "holdfast._native.CollectionWatch",
                  .methods = watch_methods,
                  .dealloc = DeallocWatch,
                  .size = sizeof(Watch)},
                 &watch_type) &&
         PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace holdfast::python
