// SPDX-License-Identifier: Apache-2.0
//
// Compilations, links, and the objects that they make.
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_join.h"
#include "client/c/error.h"
#include "client/c/handles.h"
#include "client/c/holdfast.h"
#include "client/cpp/compile/compilation.h"
#include "client/cpp/compile/linker.h"
#include "client/cpp/compile/program.h"
#include "core/base/status_macros.h"
#include "holdfast/v1/compile.pb.h"

using holdfast::c::Complete;
using holdfast::c::Give;
using holdfast::c::Guard;

struct hf_compilation {
  struct Kernel {
    std::string name;
    std::vector<hf_parameter_kind> kinds;
  };

  hf_object object;
  std::string log;
  std::string warnings;
  std::string compiler;
  std::string arch;
  bool cache_hit;
  double seconds;
  std::vector<Kernel> kernels;
};

namespace holdfast::c {
namespace {

// A later daemon may tell kinds that this library does not know.
hf_parameter_kind KindOf(v1::ParameterKind kind) {
  return kind == v1::PARAMETER_KIND_INTEGER ? HF_INTEGER_PARAMETER
         : kind == v1::PARAMETER_KIND_FLOAT ? HF_FLOAT_PARAMETER
                                            : HF_OTHER_PARAMETER;
}

std::vector<hf_compilation::Kernel> Kernels(const Compilation& from) {
  std::vector<hf_compilation::Kernel> kernels;
  for (const auto& [name, parameters] : from.kernels) {
    kernels.push_back({name, {}});
    for (const v1::ParameterKind kind : parameters) {
      kernels.back().kinds.push_back(KindOf(kind));
    }
  }
  return kernels;
}

void GiveCompilation(Compilation from, hf_compilation** out) {
  std::vector<hf_compilation::Kernel> kernels = Kernels(from);
  *out = new hf_compilation{{std::move(from.object)},
                            std::move(from.log),
                            absl::StrJoin(from.warnings, "\n"),
                            std::move(from.compiler),
                            std::move(from.arch),
                            from.cache_hit,
                            absl::ToDoubleSeconds(from.time),
                            std::move(kernels)};
}

absl::StatusOr<std::vector<std::string>> Words(const char* const* words,
                                               size_t count) {
  if (count > 0) HF_REQUIRE(words);
  std::vector<std::string> all;
  for (size_t i = 0; i < count; ++i) {
    HF_REQUIRE(words[i]);
    all.emplace_back(words[i]);
  }
  return all;
}

absl::StatusOr<std::map<std::string, std::string>> ByName(
    const hf_named_bytes* entries, size_t count) {
  if (count > 0) HF_REQUIRE(entries);
  std::map<std::string, std::string> all;
  for (size_t i = 0; i < count; ++i) {
    HF_REQUIRE(entries[i].name);
    if (entries[i].size > 0) HF_REQUIRE(entries[i].data);
    all.emplace(entries[i].name,
                std::string(static_cast<const char*>(entries[i].data),
                            entries[i].size));
  }
  return all;
}

absl::StatusOr<ProgramOptions> ToOptions(const hf_compile_options& given) {
  ProgramOptions options;
  if (given.name != nullptr) options.name = given.name;
  options.arch = Text(given.arch);
  options.language = static_cast<v1::SourceLanguage>(given.language);
  HOLDFAST_ASSIGN_OR_RETURN(options.options,
                            Words(given.options, given.option_count));
  HOLDFAST_ASSIGN_OR_RETURN(options.headers,
                            ByName(given.headers, given.header_count));
  HOLDFAST_ASSIGN_OR_RETURN(
      options.include_path,
      Words(given.include_path, given.include_path_count));
  HOLDFAST_ASSIGN_OR_RETURN(options.pre_include,
                            Words(given.pre_include, given.pre_include_count));
  HOLDFAST_ASSIGN_OR_RETURN(
      options.extra_sources,
      ByName(given.extra_sources, given.extra_source_count));
  return options;
}

absl::StatusOr<Linker> ToLinker(const hf_link_options& given,
                                const hf_link_input* inputs, size_t count) {
  LinkerOptions options;
  options.arch = Text(given.arch);
  HOLDFAST_ASSIGN_OR_RETURN(options.options,
                            Words(given.options, given.option_count));
  Linker linker(std::move(options));
  if (count > 0) HF_REQUIRE(inputs);
  for (size_t i = 0; i < count; ++i) {
    HF_REQUIRE(inputs[i].object);
    linker.Add(inputs[i].object->object, Text(inputs[i].name));
  }
  return linker;
}

// The caller's function, if there is one, for the C++ library.
CompileProgressCallback ToCallback(hf_compile_progress_function function,
                                   void* user) {
  if (function == nullptr) return nullptr;
  return [function, user](const v1::CompileProgress& from) {
    const hf_compile_progress progress = {
        from.stage() == v1::CompileProgress::STAGE_QUEUED,
        from.queue_position(), from.queue_length()};
    function(user, &progress);
  };
}

}  // namespace
}  // namespace holdfast::c

extern "C" {

hf_error* hf_compile(hf_daemon* daemon, const void* source, size_t size,
                     const hf_compile_options* options,
                     hf_compilation** compilation) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(daemon, compilation);
    if (size > 0) HF_REQUIRE(source);
    HOLDFAST_ASSIGN_OR_RETURN(
        const auto all,
        Complete<hf_compile_options>(options, HF_COMPILE_OPTIONS_INIT));
    HOLDFAST_ASSIGN_OR_RETURN(auto wanted, holdfast::c::ToOptions(all));
    HOLDFAST_ASSIGN_OR_RETURN(
        auto names,
        holdfast::c::Words(all.name_expressions, all.name_expression_count));
    const holdfast::Program program(
        std::string(static_cast<const char*>(source), size), std::move(wanted));
    HOLDFAST_ASSIGN_OR_RETURN(
        auto made,
        program.Compile(
            *daemon->daemon, std::move(names),
            static_cast<holdfast::v1::ObjectFormat>(all.target),
            holdfast::c::ToCallback(all.progress, all.progress_user)));
    holdfast::c::GiveCompilation(std::move(made), compilation);
    return absl::OkStatus();
  });
}

hf_error* hf_link(hf_daemon* daemon, const hf_link_input* inputs, size_t count,
                  const hf_link_options* options,
                  hf_compilation** compilation) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(daemon, compilation);
    HOLDFAST_ASSIGN_OR_RETURN(
        const auto all,
        Complete<hf_link_options>(options, HF_LINK_OPTIONS_INIT));
    HOLDFAST_ASSIGN_OR_RETURN(const auto linker,
                              holdfast::c::ToLinker(all, inputs, count));
    HOLDFAST_ASSIGN_OR_RETURN(
        auto made,
        linker.Link(*daemon->daemon,
                    static_cast<holdfast::v1::ObjectFormat>(all.target),
                    holdfast::c::ToCallback(all.progress, all.progress_user)));
    holdfast::c::GiveCompilation(std::move(made), compilation);
    return absl::OkStatus();
  });
}

void hf_compilation_free(hf_compilation* compilation) { delete compilation; }

const hf_object* hf_compilation_object(const hf_compilation* compilation) {
  return &compilation->object;
}

const char* hf_compilation_log(const hf_compilation* compilation) {
  return compilation->log.c_str();
}

const char* hf_compilation_warnings(const hf_compilation* compilation) {
  return compilation->warnings.c_str();
}

const char* hf_compilation_compiler(const hf_compilation* compilation) {
  return compilation->compiler.c_str();
}

const char* hf_compilation_arch(const hf_compilation* compilation) {
  return compilation->arch.c_str();
}

bool hf_compilation_cache_hit(const hf_compilation* compilation) {
  return compilation->cache_hit;
}

double hf_compilation_seconds(const hf_compilation* compilation) {
  return compilation->seconds;
}

size_t hf_compilation_kernel_count(const hf_compilation* compilation) {
  return compilation->kernels.size();
}

const char* hf_compilation_kernel_at(const hf_compilation* compilation,
                                     size_t index,
                                     const hf_parameter_kind** kinds,
                                     size_t* count) {
  const hf_compilation::Kernel& kernel = compilation->kernels[index];
  *kinds = kernel.kinds.data();
  *count = kernel.kinds.size();
  return kernel.name.c_str();
}

hf_error* hf_object_put(hf_daemon* daemon, const void* data, size_t size,
                        hf_format format, const hf_named_bytes* symbols,
                        size_t symbol_count, hf_object** object) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(daemon, object);
    if (size > 0) HF_REQUIRE(data);
    HOLDFAST_ASSIGN_OR_RETURN(auto names,
                              holdfast::c::ByName(symbols, symbol_count));
    HOLDFAST_ASSIGN_OR_RETURN(
        auto stored,
        holdfast::ObjectCode::Put(
            *daemon->daemon, {static_cast<const char*>(data), size},
            static_cast<holdfast::v1::ObjectFormat>(format), std::move(names)));
    return Give(std::move(stored), object);
  });
}

void hf_object_free(hf_object* object) { delete object; }

hf_format hf_object_format(const hf_object* object) {
  return static_cast<hf_format>(object->object.format);
}

uint64_t hf_object_size(const hf_object* object) { return object->object.size; }

const uint8_t* hf_object_sha256(const hf_object* object) {
  return reinterpret_cast<const uint8_t*>(object->object.sha256.data());
}

size_t hf_object_symbol_count(const hf_object* object) {
  return object->object.symbols.size();
}

const char* hf_object_symbol_at(const hf_object* object, size_t index,
                                const char** lowered) {
  const auto symbol = std::next(object->object.symbols.begin(),
                                static_cast<std::ptrdiff_t>(index));
  *lowered = symbol->second.c_str();
  return symbol->first.c_str();
}

hf_error* hf_object_fetch(hf_daemon* daemon, const hf_object* object,
                          hf_text** bytes) {
  return Guard([&]() -> absl::Status {
    HF_REQUIRE(daemon, object, bytes);
    HOLDFAST_ASSIGN_OR_RETURN(auto fetched,
                              object->object.Fetch(*daemon->daemon));
    return Give(std::move(fetched), bytes);
  });
}

}  // extern "C"
