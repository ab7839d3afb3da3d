// SPDX-License-Identifier: Apache-2.0
//
// Collections that a session has open or writes, and watches of collections.
#include "client/python/native/collection.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/python/native/job.h"
#include "client/python/native/native.h"
#include "client/python/native/number.h"

namespace holdfast::python {
namespace {

PyTypeObject* collection_type = nullptr;
PyTypeObject* writer_type = nullptr;
PyTypeObject* claim_type = nullptr;
PyTypeObject* watch_type = nullptr;

using UseCollection = Use<hf_collection, hf_collection_free>;
using UseWriter = Use<hf_collection_writer, hf_collection_writer_free>;
using UseClaim = Use<hf_write_claim, hf_write_claim_free>;

// open_collection(session, device, name, version) -> Collection
PyObject* Open(PyObject*, PyObject* arguments) {
  PyObject* in = nullptr;
  Number<uint32_t> device("device");
  const char* name = nullptr;
  Number<uint64_t> version("version");
  if (!PyArg_ParseTuple(arguments, "OO&sO&", &in, ToNumber, &device, &name,
                        ToNumber, &version) ||
      !CheckType(in, session_type, "a Session")) {
    return nullptr;
  }
  const UseSession session(in);
  if (!session) return nullptr;
  hf_collection* collection = nullptr;
  hf_error* error = nullptr;
  {
    const WithoutGil released;
    error =
        hf_collection_open(session.get(), device, name, version, &collection);
  }
  if (error != nullptr) return Raise(error);
  return Wrap<hf_collection, hf_collection_free>(collection_type, collection);
}

PyObject* Version(PyObject* self, void*) {
  const UseCollection collection(self);
  return collection ? PyLong_FromUnsignedLongLong(
                          hf_collection_version(collection.get()))
                    : nullptr;
}

// None if there are no strides.
PyObject* ToTuple(const int64_t* strides, size_t rank) {
  if (strides == nullptr) Py_RETURN_NONE;
  PyObject* const tuple = PyTuple_New(static_cast<Py_ssize_t>(rank));
  for (size_t i = 0; tuple != nullptr && i < rank; ++i) {
    PyTuple_SetItem(tuple, static_cast<Py_ssize_t>(i),
                    PyLong_FromLongLong(strides[i]));
  }
  return tuple;
}

// (name, dtype, shape, size, strides, index of the buffer, offset in it)
PyObject* ToTuple(const hf_collection* collection, size_t index) {
  const hf_array array = hf_collection_array_at(collection, index);
  size_t buffer = 0;
  uint64_t offset = 0;
  hf_collection_array_place(collection, index, &buffer, &offset);
  Ref shape(PyTuple_New(static_cast<Py_ssize_t>(array.rank)));
  for (size_t i = 0; shape && i < array.rank; ++i) {
    PyTuple_SetItem(shape.get(), static_cast<Py_ssize_t>(i),
                    PyLong_FromUnsignedLongLong(array.shape[i]));
  }
  Ref steps(
      ToTuple(hf_collection_array_strides(collection, index), array.rank));
  if (!shape || !steps) return nullptr;
  return Py_BuildValue("(ssNKNnK)", array.name, array.dtype, shape.release(),
                       static_cast<unsigned long long>(array.size),
                       steps.release(), static_cast<Py_ssize_t>(buffer),
                       static_cast<unsigned long long>(offset));
}

PyObject* Arrays(PyObject* self, PyObject*) {
  const UseCollection collection(self);
  if (!collection) return nullptr;
  Ref list(PyList_New(0));
  const size_t count = hf_collection_array_count(collection.get());
  for (size_t i = 0; list && i < count; ++i) {
    const Ref entry(ToTuple(collection.get(), i));
    if (!entry || PyList_Append(list.get(), entry.get()) != 0) return nullptr;
  }
  return list.release();
}

PyObject* Metadata(PyObject* self, PyObject*) {
  const UseCollection collection(self);
  if (!collection) return nullptr;
  Ref dict(PyDict_New());
  const size_t count = hf_collection_metadata_count(collection.get());
  for (size_t i = 0; dict && i < count; ++i) {
    const char* text = nullptr;
    const char* const key =
        hf_collection_metadata_at(collection.get(), i, &text);
    const Ref value(PyUnicode_FromString(text));
    if (!value || PyDict_SetItemString(dict.get(), key, value.get()) != 0) {
      return nullptr;
    }
  }
  return dict.release();
}

// array(name, Buffer): gives the empty Buffer the array's memory.
PyObject* Array(PyObject* self, PyObject* arguments) {
  const char* name = nullptr;
  PyObject* to = nullptr;
  if (!PyArg_ParseTuple(arguments, "sO", &name, &to) ||
      !CheckType(to, buffer_type, "a Buffer")) {
    return nullptr;
  }
  const UseCollection collection(self);
  if (!collection) return nullptr;
  hf_buffer* buffer = nullptr;
  hf_error* const error = hf_collection_array(collection.get(), name, &buffer);
  if (error != nullptr) return Raise(error);
  return Adopt<hf_buffer, hf_buffer_free>(to, buffer);
}

// buffer(index, Buffer): gives the empty Buffer the memory of several arrays.
PyObject* WholeBuffer(PyObject* self, PyObject* arguments) {
  Py_ssize_t index = 0;
  PyObject* to = nullptr;
  if (!PyArg_ParseTuple(arguments, "nO", &index, &to) ||
      !CheckType(to, buffer_type, "a Buffer")) {
    return nullptr;
  }
  const UseCollection collection(self);
  if (!collection) return nullptr;
  hf_buffer* buffer = nullptr;
  hf_error* const error = hf_collection_buffer(
      collection.get(), static_cast<size_t>(index), &buffer);
  if (error != nullptr) return Raise(error);
  return Adopt<hf_buffer, hf_buffer_free>(to, buffer);
}

// sleep(); waits, and lets other threads run, which must not use the collection
// meanwhile
PyObject* Sleep(PyObject* self, PyObject*) {
  const UseCollection collection(self);
  if (!collection) return nullptr;
  hf_error* error = nullptr;
  {
    const WithoutGil released;
    error = hf_collection_sleep(collection.get());
  }
  return NoneOrRaise(error);
}

// wake(version or None) -> names of arrays that have moved; waits as sleep does
PyObject* Wake(PyObject* self, PyObject* version) {
  Number<uint64_t> given("version");
  if (version != Py_None && !given.Take(version)) return nullptr;
  const uint64_t wanted = version == Py_None ? HF_SAME_VERSION : given;
  const UseCollection collection(self);
  if (!collection) return nullptr;
  size_t moved = 0;
  hf_error* error = nullptr;
  {
    const WithoutGil released;
    error = hf_collection_wake(collection.get(), wanted, &moved);
  }
  if (error != nullptr) return Raise(error);
  Ref list(PyList_New(0));
  for (size_t i = 0; list && i < moved; ++i) {
    const Ref name(
        PyUnicode_FromString(hf_collection_moved_at(collection.get(), i)));
    if (!name || PyList_Append(list.get(), name.get()) != 0) return nullptr;
  }
  return list.release();
}

PyMethodDef collection_methods[] = {
    {"sleep", Sleep, METH_NOARGS, nullptr},
    {"wake", Wake, METH_O, nullptr},
    {"arrays", Arrays, METH_NOARGS, nullptr},
    {"buffer", WholeBuffer, METH_VARARGS, nullptr},
    {"metadata", Metadata, METH_NOARGS, nullptr},
    {"array", Array, METH_VARARGS, nullptr},
    {"close", Close<hf_collection, hf_collection_free>, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef collection_properties[] = {
    {"version", Version, nullptr, nullptr, nullptr},
    {"closed", IsClosed<hf_collection>, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot collection_slots[] = {
    {Py_tp_dealloc,
     reinterpret_cast<void*>(Dealloc<hf_collection, hf_collection_free>)},
    {Py_tp_methods, collection_methods},
    {Py_tp_getset, collection_properties},
    {0, nullptr},
};

PyType_Spec collection_spec = {"holdfast._native.Collection",
                               sizeof(Handle<hf_collection>), 0,
                               Py_TPFLAGS_DEFAULT, collection_slots};

// Arrays that are to be written; what hf_array refers to lives here.
struct Specs {
  std::vector<std::string> names;
  std::vector<std::string> dtypes;
  std::vector<std::vector<uint64_t>> shapes;

  std::vector<hf_array> Pointers() const {
    std::vector<hf_array> arrays;
    for (size_t i = 0; i < names.size(); ++i) {
      arrays.push_back({names[i].c_str(), dtypes[i].c_str(), shapes[i].data(),
                        shapes[i].size(), 0});
    }
    return arrays;
  }
};

// A sequence of (name, dtype, shape); false, with an exception.
bool ToSpecs(PyObject* sequence, Specs* specs) {
  const Py_ssize_t count = PySequence_Size(sequence);
  if (count < 0) return false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    const Ref item(PySequence_GetItem(sequence, i));
    const char* name = nullptr;
    const char* dtype = nullptr;
    PyObject* shape = nullptr;
    if (!item || !PyArg_ParseTuple(item.get(), "ssO", &name, &dtype, &shape)) {
      return false;
    }
    specs->names.emplace_back(name);
    specs->dtypes.emplace_back(dtype);
    std::vector<uint64_t>& extents = specs->shapes.emplace_back();
    const Py_ssize_t rank = PySequence_Size(shape);
    for (Py_ssize_t axis = 0; axis < rank; ++axis) {
      const Ref extent(PySequence_GetItem(shape, axis));
      if (!extent) return false;
      Number<uint64_t> number("shape");
      if (!number.Take(extent.get())) return false;
      extents.push_back(number);
    }
    if (rank < 0) return false;
  }
  return true;
}

// write_collection(session, device, arrays) -> Writer
PyObject* Write(PyObject*, PyObject* arguments) {
  PyObject* in = nullptr;
  Number<uint32_t> device("device");
  PyObject* arrays = nullptr;
  Specs specs;
  if (!PyArg_ParseTuple(arguments, "OO&O", &in, ToNumber, &device, &arrays) ||
      !CheckType(in, session_type, "a Session") || !ToSpecs(arrays, &specs)) {
    return nullptr;
  }
  const UseSession session(in);
  if (!session) return nullptr;
  const std::vector<hf_array> given = specs.Pointers();
  hf_collection_writer* writer = nullptr;
  hf_error* error = nullptr;
  {
    const WithoutGil released;
    error = hf_collection_writer_create(session.get(), device, given.data(),
                                        given.size(), &writer);
  }
  if (error != nullptr) return Raise(error);
  return Wrap<hf_collection_writer, hf_collection_writer_free>(writer_type,
                                                               writer);
}

// array(index, Buffer): gives the empty Buffer the array's memory.
PyObject* WriterArray(PyObject* self, PyObject* arguments) {
  Py_ssize_t index = 0;
  PyObject* to = nullptr;
  if (!PyArg_ParseTuple(arguments, "nO", &index, &to) ||
      !CheckType(to, buffer_type, "a Buffer")) {
    return nullptr;
  }
  const UseWriter writer(self);
  if (!writer) return nullptr;
  hf_buffer* buffer = nullptr;
  hf_error* const error = hf_collection_writer_array(
      writer.get(), static_cast<size_t>(index), &buffer);
  if (error != nullptr) return Raise(error);
  return Adopt<hf_buffer, hf_buffer_free>(to, buffer);
}

// adopt(Collection, name)
PyObject* Adopted(PyObject* self, PyObject* arguments) {
  PyObject* of = nullptr;
  const char* name = nullptr;
  if (!PyArg_ParseTuple(arguments, "Os", &of, &name) ||
      !CheckType(of, collection_type, "a collection")) {
    return nullptr;
  }
  const UseWriter writer(self);
  if (!writer) return nullptr;
  const UseCollection collection(of);
  if (!collection) return nullptr;
  return NoneOrRaise(
      hf_collection_writer_adopt(writer.get(), collection.get(), name));
}

// commit(session, name, ((key, text), ...)) -> version. The session is that of
// the writer: it must not be closed meanwhile.
PyObject* Commit(PyObject* self, PyObject* arguments) {
  PyObject* in = nullptr;
  const char* name = nullptr;
  PyObject* metadata = nullptr;
  if (!PyArg_ParseTuple(arguments, "OsO", &in, &name, &metadata) ||
      !CheckType(in, session_type, "a Session")) {
    return nullptr;
  }
  std::vector<std::pair<std::string, std::string>> texts;
  const Py_ssize_t count = PySequence_Size(metadata);
  for (Py_ssize_t i = 0; i < count; ++i) {
    const Ref item(PySequence_GetItem(metadata, i));
    const char* key = nullptr;
    const char* text = nullptr;
    if (!item || !PyArg_ParseTuple(item.get(), "ss", &key, &text)) {
      return nullptr;
    }
    texts.emplace_back(key, text);
  }
  if (count < 0) return nullptr;
  std::vector<hf_named_bytes> entries;
  entries.reserve(texts.size());
  for (const auto& [key, text] : texts) {
    entries.push_back({key.c_str(), text.data(), text.size()});
  }
  const UseSession session(in);
  if (!session) return nullptr;
  const UseWriter writer(self);
  if (!writer) return nullptr;
  uint64_t version = 0;
  hf_error* error = nullptr;
  {
    const WithoutGil released;
    error = hf_collection_writer_commit(writer.get(), name, entries.data(),
                                        entries.size(), &version);
  }
  return error != nullptr ? Raise(error) : PyLong_FromUnsignedLongLong(version);
}

PyMethodDef writer_methods[] = {
    {"array", WriterArray, METH_VARARGS, nullptr},
    {"adopt", Adopted, METH_VARARGS, nullptr},
    {"commit", Commit, METH_VARARGS, nullptr},
    {"close", Close<hf_collection_writer, hf_collection_writer_free>,
     METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot writer_slots[] = {
    {Py_tp_dealloc,
     reinterpret_cast<void*>(
         Dealloc<hf_collection_writer, hf_collection_writer_free>)},
    {Py_tp_methods, writer_methods},
    {0, nullptr},
};

PyType_Spec writer_spec = {"holdfast._native.CollectionWriter",
                           sizeof(Handle<hf_collection_writer>), 0,
                           Py_TPFLAGS_DEFAULT, writer_slots};

// claim_collection(session, name) -> Claim; waits, and can be interrupted.
PyObject* ClaimCollection(PyObject*, PyObject* arguments) {
  PyObject* in = nullptr;
  const char* name = nullptr;
  if (!PyArg_ParseTuple(arguments, "Os", &in, &name) ||
      !CheckType(in, session_type, "a Session")) {
    return nullptr;
  }
  const UseSession session(in);
  if (!session) return nullptr;
  hf_write_claim* claim = nullptr;
  hf_error* error = nullptr;
  const auto wait = [s = session.get(),
                     what = std::string(name)](hf_write_claim** made) {
    return hf_write_claim_wait(s, what.c_str(), made);
  };
  if (!RunJob<hf_write_claim>(wait, hf_write_claim_free, &claim, &error)) {
    // The call that goes on uses the session: it is never freed.
    ++reinterpret_cast<Handle<hf_session>*>(in)->users;
    return nullptr;
  }
  if (error != nullptr) return Raise(error);
  return Wrap<hf_write_claim, hf_write_claim_free>(claim_type, claim);
}

PyObject* Writes(PyObject* self, void*) {
  const UseClaim claim(self);
  return claim ? PyBool_FromLong(hf_write_claim_writes(claim.get())) : nullptr;
}

PyMethodDef claim_methods[] = {
    {"close", Close<hf_write_claim, hf_write_claim_free>, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef claim_properties[] = {
    {"writes", Writes, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot claim_slots[] = {
    {Py_tp_dealloc,
     reinterpret_cast<void*>(Dealloc<hf_write_claim, hf_write_claim_free>)},
    {Py_tp_methods, claim_methods},
    {Py_tp_getset, claim_properties},
    {0, nullptr},
};

PyType_Spec claim_spec = {"holdfast._native.WriteClaim",
                          sizeof(Handle<hf_write_claim>), 0, Py_TPFLAGS_DEFAULT,
                          claim_slots};

// A watch that the thread of an interrupted next() may outlive its object with.
struct Watch {
  PyObject_HEAD std::shared_ptr<hf_watch>* watch;
};

struct Change {
  hf_change kind = HF_PRESENT;
  std::string name;
  uint64_t version = 0;
  std::string owner;
};

// watch_collections(daemon, name) -> Watch
PyObject* StartWatch(PyObject*, PyObject* arguments) {
  PyObject* at = nullptr;
  const char* name = nullptr;
  if (!PyArg_ParseTuple(arguments, "Os", &at, &name) ||
      !CheckType(at, daemon_type, "a daemon")) {
    return nullptr;
  }
  const UseDaemon daemon(at);
  if (!daemon) return nullptr;
  hf_watch* watch = nullptr;
  hf_error* const error = hf_watch_start(daemon.get(), name, &watch);
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

// next() -> (kind, name, version, owner)
PyObject* Next(PyObject* self, PyObject*) {
  if (!CheckNotForked()) return nullptr;
  const std::shared_ptr<hf_watch> watch =
      *reinterpret_cast<Watch*>(self)->watch;
  Change* change = nullptr;
  hf_error* error = nullptr;
  const auto wait = [watch](Change** made) {
    auto found = std::make_unique<Change>();
    const char* name = nullptr;
    hf_error* const failed =
        hf_watch_next(watch.get(), &found->kind, &name, &found->version);
    if (failed != nullptr) return failed;
    found->name = name;
    found->owner = hf_watch_owner(watch.get());
    *made = found.release();
    return failed;
  };
  if (!RunJob<Change>(
          wait, [](Change* unused) { delete unused; }, &change, &error)) {
    hf_watch_cancel(watch.get());
    return nullptr;
  }
  if (error != nullptr) return Raise(error);
  const std::unique_ptr<Change> found(change);
  return Py_BuildValue(
      "(isKs)", static_cast<int>(found->kind), found->name.c_str(),
      static_cast<unsigned long long>(found->version), found->owner.c_str());
}

PyObject* Cancel(PyObject* self, PyObject*) {
  hf_watch_cancel(reinterpret_cast<Watch*>(self)->watch->get());
  Py_RETURN_NONE;
}

void DeallocWatch(PyObject* self) {
  PyTypeObject* const type = Py_TYPE(self);
  auto* const watch = reinterpret_cast<Watch*>(self)->watch;
  if (watch != nullptr && !IsForked()) {
    hf_watch_cancel(watch->get());
    delete watch;
  }
  reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

PyMethodDef watch_methods[] = {
    {"next", Next, METH_NOARGS, nullptr},
    {"cancel", Cancel, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot watch_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(DeallocWatch)},
    {Py_tp_methods, watch_methods},
    {0, nullptr},
};

PyType_Spec watch_spec = {"holdfast._native.CollectionWatch", sizeof(Watch), 0,
                          Py_TPFLAGS_DEFAULT, watch_slots};

PyMethodDef functions[] = {
    {"open_collection", Open, METH_VARARGS, nullptr},
    {"write_collection", Write, METH_VARARGS, nullptr},
    {"claim_collection", ClaimCollection, METH_VARARGS, nullptr},
    {"watch_collections", StartWatch, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

// describe_collection(name, version) -> JSON
PyObject* DescribeCollection(PyObject* self, PyObject* arguments) {
  const char* name = nullptr;
  Number<uint64_t> version("version");
  if (!PyArg_ParseTuple(arguments, "sO&", &name, ToNumber, &version))
    return nullptr;
  const UseDaemon daemon(self);
  if (!daemon) return nullptr;
  hf_text* json = nullptr;
  hf_error* error = nullptr;
  {
    const WithoutGil released;
    error = hf_collections_describe(daemon.get(), name, version, &json);
  }
  return error != nullptr ? Raise(error) : TakeText(json);
}

// delete_collection(name, version) -> number of versions
PyObject* DeleteCollection(PyObject* self, PyObject* arguments) {
  const char* name = nullptr;
  Number<uint64_t> version("version");
  if (!PyArg_ParseTuple(arguments, "sO&", &name, ToNumber, &version))
    return nullptr;
  const UseDaemon daemon(self);
  if (!daemon) return nullptr;
  uint32_t count = 0;
  hf_error* error = nullptr;
  {
    const WithoutGil released;
    error = hf_collections_delete(daemon.get(), name, version, &count);
  }
  return error != nullptr ? Raise(error) : PyLong_FromUnsignedLong(count);
}

// configure_collection(JSON)
PyObject* ConfigureCollection(PyObject* self, PyObject* request) {
  const char* const json = PyUnicode_AsUTF8AndSize(request, nullptr);
  if (json == nullptr) return nullptr;
  const UseDaemon daemon(self);
  if (!daemon) return nullptr;
  hf_error* error = nullptr;
  {
    const WithoutGil released;
    error = hf_collections_configure(daemon.get(), json);
  }
  return NoneOrRaise(error);
}

bool AddCollections(PyObject* module) {
  return AddType(module, &collection_spec, &collection_type) &&
         AddType(module, &writer_spec, &writer_type) &&
         AddType(module, &claim_spec, &claim_type) &&
         AddType(module, &watch_spec, &watch_type) &&
         PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace holdfast::python
