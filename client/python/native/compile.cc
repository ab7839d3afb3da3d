// SPDX-License-Identifier: Apache-2.0
//
// Compiling, linking, and objects of the daemon's store.
#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/python/native/job.h"
#include "client/python/native/native.h"

namespace holdfast::python {

PyTypeObject* object_type = nullptr;
PyTypeObject* module_type = nullptr;

namespace {

PyTypeObject* compilation_type = nullptr;

using UseCompilation = Use<hf_compilation, hf_compilation_free>;

using NamedStrings = std::vector<std::pair<std::string, std::string>>;

std::vector<const char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<const char*> pointers;
  pointers.reserve(strings.size());
  for (const std::string& string : strings) pointers.push_back(string.c_str());
  return pointers;
}

std::vector<hf_named_bytes> Pointers(const NamedStrings& entries) {
  std::vector<hf_named_bytes> pointers;
  pointers.reserve(entries.size());
  for (const auto& [name, text] : entries) {
    pointers.push_back({name.c_str(), text.data(), text.size()});
  }
  return pointers;
}

// A sequence of (str, bytes).
bool ToNamedStrings(PyObject* sequence, NamedStrings* entries) {
  const Py_ssize_t count = PySequence_Size(sequence);
  if (count < 0) return false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    const Ref item(PySequence_GetItem(sequence, i));
    const char* name = nullptr;
    const char* data = nullptr;
    Py_ssize_t size = 0;
    if (!item || !PyArg_ParseTuple(item.get(), "sy#", &name, &data, &size)) {
      return false;
    }
    entries->emplace_back(name, std::string(data, static_cast<size_t>(size)));
  }
  return true;
}

PyObject* NewHandle(hf_object* object) {
  PyObject* const self = NewObject(object_type);
  if (self == nullptr) {
    hf_object_free(object);
  } else {
    reinterpret_cast<Handle<hf_object>*>(self)->object = object;
  }
  return self;
}

// A dict of the object's symbols: source-level name -> name in the object.
PyObject* Symbols(const hf_object* object) {
  Ref symbols(PyDict_New());
  const size_t count = hf_object_symbol_count(object);
  for (size_t i = 0; symbols && i < count; ++i) {
    const char* lowered = nullptr;
    const char* const name = hf_object_symbol_at(object, i, &lowered);
    const Ref value(PyUnicode_FromString(lowered));
    if (!value || PyDict_SetItemString(symbols.get(), name, value.get()) != 0) {
      return nullptr;
    }
  }
  return symbols.release();
}

// (the compilation, a dict of what it tells). Takes the compilation.
PyObject* ToResult(hf_compilation* compilation) {
  Ref self(NewObject(compilation_type));
  if (!self) {
    hf_compilation_free(compilation);
    return nullptr;
  }
  reinterpret_cast<Handle<hf_compilation>*>(self.get())->object = compilation;
  const hf_object* const object = hf_compilation_object(compilation);
  Ref symbols(Symbols(object));
  return !symbols ? nullptr
                  : Py_BuildValue(
                        "(N{s:y#,s:K,s:i,s:N,s:s,s:s,s:s,s:s,s:N,s:d})",
                        self.release(), "sha256", hf_object_sha256(object),
                        Py_ssize_t{32}, "size",
                        static_cast<unsigned long long>(hf_object_size(object)),
                        "format", static_cast<int>(hf_object_format(object)),
                        "symbols", symbols.release(), "log",
                        hf_compilation_log(compilation), "warnings",
                        hf_compilation_warnings(compilation), "compiler",
                        hf_compilation_compiler(compilation), "arch",
                        hf_compilation_arch(compilation), "cache_hit",
                        PyBool_FromLong(hf_compilation_cache_hit(compilation)),
                        "seconds", hf_compilation_seconds(compilation));
}

// The daemon outlives a call that goes on after an interrupt: it is never
// freed.
PyObject* Interrupted(PyObject* daemon) {
  ++reinterpret_cast<Handle<hf_daemon>*>(daemon)->users;
  return nullptr;
}

// How far a compilation is, told by the thread that waits for the daemon, and
// asked for by the one that holds the GIL.
struct Progress {
  std::atomic<uint32_t> position = 0;  // 0: it is not queued
  std::atomic<uint32_t> length = 0;

  static void Tell(void* user, const hf_compile_progress* now) {
    auto* const self = static_cast<Progress*>(user);
    self->position = now->queued ? now->queue_position : 0;
    self->length = now->queue_length;
  }
};

// Calls `function` (queue position, queue length), or nothing for None. False,
// with an exception.
bool Show(PyObject* function, const Progress& progress) {
  if (function == Py_None) return true;
  const Ref shown(PyObject_CallFunction(
      function, "II", progress.position.load(), progress.length.load()));
  return static_cast<bool>(shown);
}

// The inputs of one compilation; owns all of them.
struct Source {
  std::string text;
  int language = 0;
  int target = 0;
  std::string name;
  std::string arch;
  std::vector<std::string> options;
  std::vector<std::string> expressions;
  NamedStrings headers;
  NamedStrings extra;
  std::vector<std::string> include_path;
  std::vector<std::string> pre_include;
  std::shared_ptr<Progress> progress = std::make_shared<Progress>();

  hf_error* Compile(hf_daemon* daemon, hf_compilation** made) const {
    const auto words = Pointers(options);
    const auto names = Pointers(expressions);
    const auto includes = Pointers(headers);
    const auto modules = Pointers(extra);
    const auto folders = Pointers(include_path);
    const auto before = Pointers(pre_include);
    hf_compile_options all = HF_COMPILE_OPTIONS_INIT;
    all.language = static_cast<hf_language>(language);
    all.target = static_cast<hf_format>(target);
    all.name = name.c_str();
    all.arch = arch.c_str();
    all.options = words.data();
    all.option_count = words.size();
    all.name_expressions = names.data();
    all.name_expression_count = names.size();
    all.headers = includes.data();
    all.header_count = includes.size();
    all.extra_sources = modules.data();
    all.extra_source_count = modules.size();
    all.progress = Progress::Tell;
    all.progress_user = progress.get();
    all.include_path = folders.data();
    all.include_path_count = folders.size();
    all.pre_include = before.data();
    all.pre_include_count = before.size();
    return hf_compile(daemon, text.data(), text.size(), &all, made);
  }
};

// compile(daemon, source, language, target, name, arch, options, expressions,
// headers, extra sources, include path, pre-includes, progress) ->
// (Compilation, dict). progress: None, or a function of queue position and
// length that is called while this waits.
PyObject* Compile(PyObject*, PyObject* arguments) {
  PyObject* with = nullptr;
  const char* text = nullptr;
  Py_ssize_t size = 0;
  const char* name = nullptr;
  const char* arch = nullptr;
  PyObject* options = nullptr;
  PyObject* expressions = nullptr;
  PyObject* headers = nullptr;
  PyObject* extra = nullptr;
  PyObject* include_path = nullptr;
  PyObject* pre_include = nullptr;
  PyObject* progress = nullptr;
  Source source;
  if (!PyArg_ParseTuple(arguments, "Oy#iissOOOOOOO", &with, &text, &size,
                        &source.language, &source.target, &name, &arch,
                        &options, &expressions, &headers, &extra, &include_path,
                        &pre_include, &progress) ||
      !CheckType(with, daemon_type, "a Daemon") ||
      !ToStrings(options, &source.options) ||
      !ToStrings(expressions, &source.expressions) ||
      !ToNamedStrings(headers, &source.headers) ||
      !ToNamedStrings(extra, &source.extra) ||
      !ToStrings(include_path, &source.include_path) ||
      !ToStrings(pre_include, &source.pre_include)) {
    return nullptr;
  }
  source.text.assign(text, static_cast<size_t>(size));
  source.name = name;
  source.arch = arch;
  const UseDaemon daemon(with);
  if (!daemon) return nullptr;
  hf_compilation* made = nullptr;
  hf_error* error = nullptr;
  const auto told = source.progress;
  if (!RunJob<hf_compilation>(
          [d = daemon.get(), source = std::move(source)](hf_compilation** out) {
            return source.Compile(d, out);
          },
          hf_compilation_free, &made, &error,
          [&] { return Show(progress, *told); })) {
    return Interrupted(with);
  }
  return error != nullptr ? Raise(error) : ToResult(made);
}

// An object that is stored, or is to be: bytes, format, symbols and a name.
struct Stored {
  std::string bytes;
  int format = 0;
  NamedStrings symbols;
  std::string name;

  hf_error* Put(hf_daemon* daemon, hf_object** object) const {
    const auto names = Pointers(symbols);
    return hf_object_put(daemon, bytes.data(), bytes.size(),
                         static_cast<hf_format>(format), names.data(),
                         names.size(), object);
  }
};

// Stores all of them and links. Those that the store has are not sent.
hf_error* PutAndLink(hf_daemon* daemon, const std::vector<Stored>& inputs,
                     hf_link_options* options, hf_compilation** made) {
  std::vector<hf_object*> objects;
  std::vector<hf_link_input> all;
  hf_error* error = nullptr;
  for (const Stored& input : inputs) {
    hf_object* object = nullptr;
    error = input.Put(daemon, &object);
    if (error != nullptr) break;
    objects.push_back(object);
    all.push_back({object, input.name.c_str()});
  }
  if (error == nullptr) {
    error = hf_link(daemon, all.data(), all.size(), options, made);
  }
  for (hf_object* object : objects) hf_object_free(object);
  return error;
}

// link(daemon, [(name, bytes, format)], target, arch, options) -> (Compilation,
// dict)
PyObject* Link(PyObject*, PyObject* arguments) {
  PyObject* with = nullptr;
  PyObject* list = nullptr;
  PyObject* options = nullptr;
  const char* arch = nullptr;
  int target = 0;
  std::vector<std::string> words;
  if (!PyArg_ParseTuple(arguments, "OOisO", &with, &list, &target, &arch,
                        &options) ||
      !CheckType(with, daemon_type, "a Daemon") ||
      !ToStrings(options, &words)) {
    return nullptr;
  }
  std::vector<Stored> inputs;
  const Py_ssize_t count = PySequence_Size(list);
  for (Py_ssize_t i = 0; i < count; ++i) {
    const Ref item(PySequence_GetItem(list, i));
    const char* name = nullptr;
    const char* data = nullptr;
    Py_ssize_t size = 0;
    Stored input;
    if (!item || !PyArg_ParseTuple(item.get(), "sy#i", &name, &data, &size,
                                   &input.format)) {
      return nullptr;
    }
    input.name = name;
    input.bytes.assign(data, static_cast<size_t>(size));
    inputs.push_back(std::move(input));
  }
  const UseDaemon daemon(with);
  if (!daemon) return nullptr;
  const auto link = [d = daemon.get(), inputs = std::move(inputs),
                     words = std::move(words), where = std::string(arch),
                     target](hf_compilation** out) {
    const auto pointers = Pointers(words);
    hf_link_options all = HF_LINK_OPTIONS_INIT;
    all.target = static_cast<hf_format>(target);
    all.arch = where.c_str();
    all.options = pointers.data();
    all.option_count = pointers.size();
    return PutAndLink(d, inputs, &all, out);
  };
  hf_compilation* made = nullptr;
  hf_error* error = nullptr;
  if (!RunJob<hf_compilation>(link, hf_compilation_free, &made, &error)) {
    return Interrupted(with);
  }
  return error != nullptr ? Raise(error) : ToResult(made);
}

// put(daemon, bytes, format, [(name, lowered as bytes)]) -> object
PyObject* Put(PyObject*, PyObject* arguments) {
  PyObject* with = nullptr;
  const char* data = nullptr;
  Py_ssize_t size = 0;
  PyObject* symbols = nullptr;
  Stored stored;
  if (!PyArg_ParseTuple(arguments, "Oy#iO", &with, &data, &size, &stored.format,
                        &symbols) ||
      !CheckType(with, daemon_type, "a Daemon") ||
      !ToNamedStrings(symbols, &stored.symbols)) {
    return nullptr;
  }
  stored.bytes.assign(data, static_cast<size_t>(size));
  const UseDaemon daemon(with);
  if (!daemon) return nullptr;
  hf_object* object = nullptr;
  hf_error* error = nullptr;
  if (!RunJob<hf_object>([d = daemon.get(), stored = std::move(stored)](
                             hf_object** out) { return stored.Put(d, out); },
                         hf_object_free, &object, &error)) {
    return Interrupted(with);
  }
  return error != nullptr ? Raise(error) : NewHandle(object);
}

// Calls `function` with the hf_object of an Object or a Compilation.
template <typename Function>
PyObject* WithObject(PyObject* from, Function function) {
  if (PyObject_TypeCheck(from, compilation_type)) {
    const UseCompilation compilation(from);
    if (!compilation) return nullptr;
    return function(hf_compilation_object(compilation.get()));
  }
  if (!CheckType(from, object_type, "an Object or a Compilation")) {
    return nullptr;
  }
  const UseObject object(from);
  return object ? function(object.get()) : nullptr;
}

// fetch(daemon, object) -> bytes
PyObject* Fetch(PyObject*, PyObject* arguments) {
  PyObject* with = nullptr;
  PyObject* from = nullptr;
  if (!PyArg_ParseTuple(arguments, "OO", &with, &from) ||
      !CheckType(with, daemon_type, "a Daemon")) {
    return nullptr;
  }
  const UseDaemon daemon(with);
  if (!daemon) return nullptr;
  return WithObject(from, [&](const hf_object* object) -> PyObject* {
    hf_text* text = nullptr;
    hf_error* error = nullptr;
    {
      const WithoutGil released;
      error = hf_object_fetch(daemon.get(), object, &text);
    }
    if (error != nullptr) return Raise(error);
    PyObject* const bytes = PyBytes_FromStringAndSize(
        hf_text_data(text), static_cast<Py_ssize_t>(hf_text_size(text)));
    hf_text_free(text);
    return bytes;
  });
}

// load(session, object) -> Module
PyObject* Load(PyObject*, PyObject* arguments) {
  PyObject* into = nullptr;
  PyObject* from = nullptr;
  if (!PyArg_ParseTuple(arguments, "OO", &into, &from) ||
      !CheckType(into, session_type, "a Session")) {
    return nullptr;
  }
  const UseSession session(into);
  if (!session) return nullptr;
  return WithObject(from, [&](const hf_object* object) -> PyObject* {
    hf_module* module = nullptr;
    hf_error* const error = hf_module_load(session.get(), object, &module);
    if (error != nullptr) return Raise(error);
    PyObject* const self = NewObject(module_type);
    if (self == nullptr) {
      hf_module_free(module);
      return nullptr;
    }
    reinterpret_cast<Handle<hf_module>*>(self)->object = module;
    return self;
  });
}

PyType_Slot object_slots[] = {
    {Py_tp_dealloc,
     reinterpret_cast<void*>(Dealloc<hf_object, hf_object_free>)},
    {0, nullptr},
};

PyType_Spec object_spec = {"holdfast._native.Object", sizeof(Handle<hf_object>),
                           0, Py_TPFLAGS_DEFAULT, object_slots};

PyType_Slot compilation_slots[] = {
    {Py_tp_dealloc,
     reinterpret_cast<void*>(Dealloc<hf_compilation, hf_compilation_free>)},
    {0, nullptr},
};

PyType_Spec compilation_spec = {"holdfast._native.Compilation",
                                sizeof(Handle<hf_compilation>), 0,
                                Py_TPFLAGS_DEFAULT, compilation_slots};

PyType_Slot module_slots[] = {
    {Py_tp_dealloc,
     reinterpret_cast<void*>(Dealloc<hf_module, hf_module_free>)},
    {0, nullptr},
};

PyType_Spec module_spec = {"holdfast._native.Module", sizeof(Handle<hf_module>),
                           0, Py_TPFLAGS_DEFAULT, module_slots};

PyMethodDef functions[] = {
    {"compile", Compile, METH_VARARGS, nullptr},
    {"link", Link, METH_VARARGS, nullptr},
    {"put", Put, METH_VARARGS, nullptr},
    {"fetch", Fetch, METH_VARARGS, nullptr},
    {"load", Load, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool AddCompile(PyObject* module) {
  return AddType(module, &object_spec, &object_type) &&
         AddType(module, &compilation_spec, &compilation_type) &&
         AddType(module, &module_spec, &module_type) &&
         PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace holdfast::python
