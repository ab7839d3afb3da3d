// SPDX-License-Identifier: Apache-2.0
#include "server/compile/program_request.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/compile/compile_options.h"

namespace holdfast {
namespace {

absl::StatusOr<compile::Language> ToLanguage(v1::SourceLanguage language) {
  switch (language) {
    case v1::SOURCE_LANGUAGE_UNSPECIFIED:
    case v1::SOURCE_LANGUAGE_CUDA_CPP:
      return compile::Language::kCudaCpp;
    case v1::SOURCE_LANGUAGE_PTX:
      return compile::Language::kPtx;
    case v1::SOURCE_LANGUAGE_NVVM_IR:
      return compile::Language::kNvvmIr;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("no source language has the number ", language));
  }
}

// The arch, if it is given, must be one.
absl::Status CheckArch(v1::ObjectFormat target, const std::string& arch) {
  if (target == v1::OBJECT_FORMAT_UNSPECIFIED) return absl::OkStatus();
  HOLDFAST_ASSIGN_OR_RETURN(const compile::ObjectFormat format,
                            ToFormat(target));
  if (arch.empty()) return absl::OkStatus();
  return compile::ArchitectureName(arch, format).status();
}

absl::Status CheckSizes(const v1::CompileRequest& request) {
  size_t source_bytes = request.source().size();
  for (const v1::ExtraSource& extra : request.extra_sources()) {
    source_bytes += extra.source().size();
  }
  if (source_bytes > kMaxSourceBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the source has ", source_bytes, " bytes, the limit is ",
                     kMaxSourceBytes, " (10 MiB)"));
  }
  size_t header_bytes = 0;
  for (const auto& [name, text] : request.headers()) {
    header_bytes += name.size() + text.size();
  }
  if (header_bytes > kMaxHeaderBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the headers have ", header_bytes, " bytes, the limit is ",
                     kMaxHeaderBytes, " (32 MiB)"));
  }
  const auto names = static_cast<size_t>(request.name_expressions_size());
  if (names > kMaxNameExpressions) {
    return absl::InvalidArgumentError(absl::StrCat(
        names, " name expressions, the limit is ", kMaxNameExpressions));
  }
  return absl::OkStatus();
}

// NVRTC looks for headers beside the source; no name leads to a directory.
absl::Status CheckName(const std::string& name) {
  if (name.find('/') == std::string::npos) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the source's name \"", name, "\" has a directory"));
}

template <typename Request>
std::vector<std::string> Options(const Request& request) {
  return {request.options().begin(), request.options().end()};
}

}  // namespace

absl::Status CheckCompileRequest(const v1::CompileRequest& request) {
  HOLDFAST_RETURN_IF_ERROR(ToLanguage(request.language()).status());
  HOLDFAST_RETURN_IF_ERROR(CheckSizes(request));
  HOLDFAST_RETURN_IF_ERROR(CheckName(request.name()));
  HOLDFAST_RETURN_IF_ERROR(CheckArch(request.target(), request.arch()));
  return compile::ParseOptions(Options(request)).status();
}

absl::Status CheckLinkRequest(const v1::LinkRequest& request) {
  const auto inputs =
      static_cast<size_t>(request.inputs_size() + request.objects_size());
  if (inputs == 0 || inputs > kMaxLinkInputs) {
    return absl::InvalidArgumentError(absl::StrCat(
        inputs, " objects to link; it must be 1 to ", kMaxLinkInputs));
  }
  HOLDFAST_RETURN_IF_ERROR(CheckArch(request.target(), request.arch()));
  return compile::ParseOptions(Options(request)).status();
}

absl::StatusOr<compile::ProgramSource> ToProgramSource(
    const v1::CompileRequest& request) {
  compile::ProgramSource program;
  HOLDFAST_ASSIGN_OR_RETURN(program.language, ToLanguage(request.language()));
  HOLDFAST_ASSIGN_OR_RETURN(program.target, ToFormat(request.target()));
  program.arch = request.arch();
  if (!request.name().empty()) program.name = request.name();
  program.source = request.source();
  program.options = Options(request);
  program.headers = {request.headers().begin(), request.headers().end()};
  program.name_expressions = {request.name_expressions().begin(),
                              request.name_expressions().end()};
  for (const v1::ExtraSource& extra : request.extra_sources()) {
    program.extra_sources.push_back({extra.name(), extra.source()});
  }
  return program;
}

absl::StatusOr<compile::LinkSource> ToLinkSource(const internal::LinkJob& job,
                                                 absl::string_view bytes) {
  compile::LinkSource source;
  HOLDFAST_ASSIGN_OR_RETURN(source.target, ToFormat(job.target()));
  source.arch = job.arch();
  source.options = Options(job);
  for (const internal::LinkPart& part : job.parts()) {
    compile::LinkInput input;
    input.name = part.name();
    HOLDFAST_ASSIGN_OR_RETURN(input.format, ToFormat(part.format()));
    if (part.size() > bytes.size()) {
      return absl::InternalError("a link job announces more than it brings");
    }
    input.bytes = bytes.substr(0, part.size());
    bytes.remove_prefix(part.size());
    source.inputs.push_back(std::move(input));
  }
  return source;
}

std::string Describe(const internal::ToCompiler& job) {
  const auto format =
      ToFormat(job.has_link() ? job.link().target() : job.compile().target());
  const absl::string_view target =
      format.ok() ? compile::ObjectFormatName(*format) : "?";
  if (job.has_link()) {
    const int parts = job.link().parts_size();
    return absl::StrCat(
        "linking \"", parts > 0 ? job.link().parts(0).name() : "", "\"",
        parts > 1 ? absl::StrCat(" and ", parts - 1, " more") : "", " to ",
        target);
  }
  const auto language = ToLanguage(job.compile().language());
  return absl::StrCat("compiling \"", job.compile().name(), "\" (",
                      language.ok() ? compile::LanguageName(*language) : "?",
                      " to ", target, ")");
}

absl::StatusOr<compile::ObjectFormat> ToFormat(v1::ObjectFormat format) {
  switch (format) {
    case v1::OBJECT_FORMAT_PTX:
      return compile::ObjectFormat::kPtx;
    case v1::OBJECT_FORMAT_CUBIN:
      return compile::ObjectFormat::kCubin;
    case v1::OBJECT_FORMAT_LTOIR:
      return compile::ObjectFormat::kLtoir;
    case v1::OBJECT_FORMAT_FATBIN:
      return compile::ObjectFormat::kFatbin;
    case v1::OBJECT_FORMAT_OBJECT:
      return compile::ObjectFormat::kObject;
    case v1::OBJECT_FORMAT_LIBRARY:
      return compile::ObjectFormat::kLibrary;
    default:
      return absl::InvalidArgumentError(
          absl::StrCat("no object format has the number ", format));
  }
}

v1::ObjectFormat ToProto(compile::ObjectFormat format) {
  switch (format) {
    case compile::ObjectFormat::kPtx:
      return v1::OBJECT_FORMAT_PTX;
    case compile::ObjectFormat::kCubin:
      return v1::OBJECT_FORMAT_CUBIN;
    case compile::ObjectFormat::kLtoir:
      return v1::OBJECT_FORMAT_LTOIR;
    case compile::ObjectFormat::kFatbin:
      return v1::OBJECT_FORMAT_FATBIN;
    case compile::ObjectFormat::kObject:
      return v1::OBJECT_FORMAT_OBJECT;
    case compile::ObjectFormat::kLibrary:
      return v1::OBJECT_FORMAT_LIBRARY;
  }
  return v1::OBJECT_FORMAT_UNSPECIFIED;
}

}  // namespace holdfast
