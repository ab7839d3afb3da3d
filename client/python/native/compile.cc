// SPDX-License-Identifier: Apache-2.0
//
// Compiling, linking, and objects of the daemon's store.
#include <atomic>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "client/python/native/job.h"
#include "client/python/native/method.h"
#include "client/python/native/native.h"

namespace holdfast::python {

namespace {

// The bytes of an object with the buffer protocol, copied.
struct ByteString {
  std::string bytes;
};

}  // namespace

template <>
class Argument<ByteString> : public Value<ByteString> {
 public:
  bool Take(PyObject* object, const char* name) {
    Argument<BytesToRead> argument;
    if (!argument.Take(object, name)) return false;
    const BytesToRead given = argument.get();
    value_.bytes.assign(static_cast<const char*>(given.data), given.size);
    return true;
  }
};

namespace {

using NamedBytes = std::vector<std::tuple<std::string, ByteString>>;

std::vector<const char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<const char*> pointers;
  pointers.reserve(strings.size());
  for (const std::string& string : strings) pointers.push_back(string.c_str());
  return pointers;
}

std::vector<hf_named_bytes> Pointers(const NamedBytes& entries) {
  std::vector<hf_named_bytes> pointers;
  pointers.reserve(entries.size());
  for (const auto& [name, text] : entries) {
    pointers.push_back({name.c_str(), text.bytes.data(), text.bytes.size()});
  }
  return pointers;
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

// A dict of the kernels whose parameters are known: name in the object -> a
// letter for each parameter, as Parameters::kinds has them.
PyObject* Kernels(const hf_compilation* compilation) {
  Ref kernels(PyDict_New());
  const size_t count = hf_compilation_kernel_count(compilation);
  for (size_t i = 0; kernels && i < count; ++i) {
    const hf_parameter_kind* kinds = nullptr;
    size_t parameters = 0;
    const char* const name =
        hf_compilation_kernel_at(compilation, i, &kinds, &parameters);
    std::string letters(parameters, '?');
    for (size_t k = 0; k < parameters; ++k) {
      if (kinds[k] == HF_INTEGER_PARAMETER) letters[k] = 'i';
      if (kinds[k] == HF_FLOAT_PARAMETER) letters[k] = 'f';
    }
    const Ref value(PyUnicode_FromString(letters.c_str()));
    if (!value || PyDict_SetItemString(kernels.get(), name, value.get()) != 0) {
      return nullptr;
    }
  }
  return kernels.release();
}

// (the compilation, a dict of what it tells). Takes the compilation; null stays
// null.
PyObject* ToResult(hf_compilation* compilation) {
  if (compilation == nullptr) return nullptr;
  Ref self(Wrap(compilation));
  if (!self) return nullptr;
  const hf_object* const object = hf_compilation_object(compilation);
  Ref symbols(Symbols(object));
  if (!symbols) return nullptr;
  Ref kernels(Kernels(compilation));
  return !kernels
             ? nullptr
             : Py_BuildValue(
                   "(N{s:y#,s:K,s:i,s:N,s:N,s:s,s:s,s:s,s:s,s:N,s:d})",
                   self.release(), "sha256", hf_object_sha256(object),
                   Py_ssize_t{32}, "size",
                   static_cast<unsigned long long>(hf_object_size(object)),
                   "format", static_cast<int>(hf_object_format(object)),
                   "symbols", symbols.release(), "kernels", kernels.release(),
                   "log", hf_compilation_log(compilation), "warnings",
                   hf_compilation_warnings(compilation), "compiler",
                   hf_compilation_compiler(compilation), "arch",
                   hf_compilation_arch(compilation), "cache_hit",
                   PyBool_FromLong(hf_compilation_cache_hit(compilation)),
                   "seconds", hf_compilation_seconds(compilation));
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
  ByteString text;
  hf_language language;
  hf_format target;
  std::string name;
  std::string arch;
  std::vector<std::string> options;
  std::vector<std::string> expressions;
  NamedBytes headers;
  NamedBytes extra;
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
    all.language = language;
    all.target = target;
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
    return hf_compile(daemon, text.bytes.data(), text.bytes.size(), &all, made);
  }
};

// -> (Compilation, dict). `progress` is None, or a function of queue position
// and length that is called while this waits.
PyObject* Compile(Use<hf_daemon>& daemon, const ByteString& text,
                  hf_language language, hf_format target,
                  const std::string& name, const std::string& arch,
                  const std::vector<std::string>& options,
                  const std::vector<std::string>& expressions,
                  const NamedBytes& headers, const NamedBytes& extra,
                  const std::vector<std::string>& include_path,
                  const std::vector<std::string>& pre_include,
                  PyObject* progress) {
  Source source{text,  language,     target,      name,
                arch,  options,      expressions, headers,
                extra, include_path, pre_include};
  const auto told = source.progress;
  return ToResult(RunJob<hf_compilation>(
      &daemon,
      [d = daemon.get(), source = std::move(source)](hf_compilation** made) {
        return source.Compile(d, made);
      },
      [&] { return Show(progress, *told); }));
}

// Name, bytes and format of an object that is to be linked.
using LinkInput = std::tuple<std::string, ByteString, hf_format>;

// Stores all of them and links. Those that the store has are not sent.
hf_error* PutAndLink(hf_daemon* daemon, const std::vector<LinkInput>& inputs,
                     hf_link_options* options, hf_compilation** made) {
  std::vector<hf_object*> objects;
  std::vector<hf_link_input> all;
  hf_error* error = nullptr;
  for (const auto& [name, code, format] : inputs) {
    hf_object* object = nullptr;
    error = hf_object_put(daemon, code.bytes.data(), code.bytes.size(), format,
                          nullptr, 0, &object);
    if (error != nullptr) break;
    objects.push_back(object);
    all.push_back({object, name.c_str()});
  }
  if (error == nullptr) {
    error = hf_link(daemon, all.data(), all.size(), options, made);
  }
  for (hf_object* object : objects) hf_object_free(object);
  return error;
}

// -> (Compilation, dict)
PyObject* Link(Use<hf_daemon>& daemon, const std::vector<LinkInput>& inputs,
               hf_format target, const std::string& arch,
               const std::vector<std::string>& words) {
  return ToResult(RunJob<hf_compilation>(
      &daemon,
      [d = daemon.get(), inputs, words, arch, target](hf_compilation** made) {
        const auto pointers = Pointers(words);
        hf_link_options all = HF_LINK_OPTIONS_INIT;
        all.target = target;
        all.arch = arch.c_str();
        all.options = pointers.data();
        all.option_count = pointers.size();
        return PutAndLink(d, inputs, &all, made);
      }));
}

// `symbols` are pairs of name and lowered name.
PyObject* Put(Use<hf_daemon>& daemon, const ByteString& code, hf_format format,
              const NamedBytes& symbols) {
  hf_object* const object = RunJob<hf_object>(
      &daemon, [d = daemon.get(), code, format, symbols](hf_object** made) {
        const auto names = Pointers(symbols);
        return hf_object_put(d, code.bytes.data(), code.bytes.size(), format,
                             names.data(), names.size(), made);
      });
  return object != nullptr ? Wrap(object) : nullptr;
}

using Linked = std::variant<hf_object*, hf_compilation*>;

const hf_object* ObjectOf(const Linked& linked) {
  return linked.index() == 0 ? std::get<0>(linked)
                             : hf_compilation_object(std::get<1>(linked));
}

// -> bytes
PyObject* Fetch(hf_daemon* daemon, const Linked& linked) {
  hf_text* text = nullptr;
  hf_error* error = nullptr;
  {
    const WithoutGil released;
    error = hf_object_fetch(daemon, ObjectOf(linked), &text);
  }
  if (error != nullptr) return Raise(error);
  PyObject* const bytes = PyBytes_FromStringAndSize(
      hf_text_data(text), static_cast<Py_ssize_t>(hf_text_size(text)));
  hf_text_free(text);
  return bytes;
}

hf_error* Load(hf_session* session, const Linked& linked, hf_module** module) {
  return hf_module_load(session, ObjectOf(linked), module);
}

PyMethodDef functions[] = {
    Function<"compile", Compile, "daemon", "source", "language", "target",
             "name", "arch", "options", "name_expressions", "headers",
             "extra_sources", "include_path", "pre_include", "progress">(),
    Function<"link", Link, "daemon", "inputs", "target", "arch", "options">(),
    Function<"put", Put, "daemon", "code", "format", "symbols">(),
    Function<"fetch", Fetch, "daemon", "object">(),
    Function<"load", kQuick<Load>, "session", "object">(),
    {},
};

}  // namespace

bool AddCompile(PyObject* module) {
  return AddClass<hf_object>(module, {"holdfast._native.Object"}) &&
         AddClass<hf_compilation>(module, {"holdfast._native.Compilation"}) &&
         AddClass<hf_module>(module, {"holdfast._native.Module"}) &&
         PyModule_AddFunctions(module, functions) == 0;
}

}  // namespace holdfast::python
