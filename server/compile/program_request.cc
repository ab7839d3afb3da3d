// SPDX-License-Identifier: Apache-2.0
#include "server/compile/program_request.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/compile/compile_options.h"

namespace holdfast {
namespace {

absl::StatusOr<compile::ObjectFormat> ToTarget(v1::ObjectFormat format) {
  switch (format) {
    case v1::OBJECT_FORMAT_PTX:
      return compile::ObjectFormat::kPtx;
    case v1::OBJECT_FORMAT_CUBIN:
      return compile::ObjectFormat::kCubin;
    case v1::OBJECT_FORMAT_LTOIR:
      return compile::ObjectFormat::kLtoir;
    default:
      return absl::InvalidArgumentError(absl::StrCat(
          "CUDA C++ cannot be compiled to ", v1::ObjectFormat_Name(format),
          "; targets are PTX, CUBIN and LTOIR"));
  }
}

absl::Status CheckLanguage(v1::SourceLanguage language) {
  if (language == v1::SOURCE_LANGUAGE_UNSPECIFIED ||
      language == v1::SOURCE_LANGUAGE_CUDA_CPP) {
    return absl::OkStatus();
  }
  return absl::UnimplementedError(
      absl::StrCat("compiling ", v1::SourceLanguage_Name(language),
                   " is not served; only CUDA C++ is"));
}

absl::Status CheckSizes(const v1::CompileRequest& request) {
  if (request.source().size() > kMaxSourceBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the source has ", request.source().size(),
                     " bytes, the limit is ", kMaxSourceBytes, " (10 MiB)"));
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

std::vector<std::string> Options(const v1::CompileRequest& request) {
  return {request.options().begin(), request.options().end()};
}

}  // namespace

absl::Status CheckCompileRequest(const v1::CompileRequest& request) {
  HOLDFAST_RETURN_IF_ERROR(CheckLanguage(request.language()));
  HOLDFAST_RETURN_IF_ERROR(CheckSizes(request));
  if (request.target() != v1::OBJECT_FORMAT_UNSPECIFIED) {
    HOLDFAST_ASSIGN_OR_RETURN(const compile::ObjectFormat target,
                              ToTarget(request.target()));
    if (!request.arch().empty()) {
      HOLDFAST_RETURN_IF_ERROR(
          compile::ArchitectureName(request.arch(), target).status());
    }
  }
  return compile::CheckOptions(Options(request));
}

absl::StatusOr<compile::ProgramSource> ToProgramSource(
    const v1::CompileRequest& request) {
  compile::ProgramSource program;
  HOLDFAST_ASSIGN_OR_RETURN(program.target, ToTarget(request.target()));
  program.arch = request.arch();
  if (!request.name().empty()) program.name = request.name();
  program.source = request.source();
  program.options = Options(request);
  program.headers = {request.headers().begin(), request.headers().end()};
  program.name_expressions = {request.name_expressions().begin(),
                              request.name_expressions().end()};
  return program;
}

v1::ObjectFormat ToProto(compile::ObjectFormat format) {
  switch (format) {
    case compile::ObjectFormat::kPtx:
      return v1::OBJECT_FORMAT_PTX;
    case compile::ObjectFormat::kCubin:
      return v1::OBJECT_FORMAT_CUBIN;
    case compile::ObjectFormat::kLtoir:
      return v1::OBJECT_FORMAT_LTOIR;
  }
  return v1::OBJECT_FORMAT_UNSPECIFIED;
}

}  // namespace holdfast
