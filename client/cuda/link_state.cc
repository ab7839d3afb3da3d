// SPDX-License-Identifier: Apache-2.0
#include "client/cuda/link_state.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/cpp/compile/compilation.h"
#include "client/cpp/compile/object_code.h"
#include "client/cuda/answer.h"
#include "core/base/status_macros.h"
#include "holdfast/v1/objects.pb.h"

namespace holdfast::libcuda {
namespace {

absl::StatusOr<v1::ObjectFormat> FormatOf(CUjitInputType type) {
  switch (type) {
    case CU_JIT_INPUT_PTX:
      return v1::OBJECT_FORMAT_PTX;
    case CU_JIT_INPUT_CUBIN:
      return v1::OBJECT_FORMAT_CUBIN;
    case CU_JIT_INPUT_FATBINARY:
      return v1::OBJECT_FORMAT_FATBIN;
    case CU_JIT_INPUT_OBJECT:
      return v1::OBJECT_FORMAT_OBJECT;
    case CU_JIT_INPUT_LIBRARY:
      return v1::OBJECT_FORMAT_LIBRARY;
    default:
      return absl::UnimplementedError(
          absl::StrCat("no linker for inputs of CUjitInputType ", type));
  }
}

}  // namespace

absl::Status LinkState::Add(Daemon& daemon, CUjitInputType type,
                            absl::string_view bytes, absl::string_view name,
                            const JitOptions& options) {
  if (is_software_ && type == CU_JIT_INPUT_LIBRARY &&
      absl::EndsWith(name, "libcudadevrt.a")) {
    return absl::OkStatus();
  }
  HOLDFAST_ASSIGN_OR_RETURN(const v1::ObjectFormat format, FormatOf(type));
  std::string limited;
  // The length of a text may count its zero byte.
  if (format == v1::OBJECT_FORMAT_PTX) {
    cuda::KernelLimits limits = options_.limits();
    limits.Replace(options.limits());
    limited =
        limits.Apply(absl::StripSuffix(bytes, absl::string_view("\0", 1)));
    bytes = limited;
  }
  HOLDFAST_ASSIGN_OR_RETURN(const ObjectCode object,
                            ObjectCode::Put(daemon, bytes, format));
  absl::MutexLock lock(&mutex_);
  linker_.Add(object, std::string(name));
  return absl::OkStatus();
}

absl::Status LinkState::Link(Daemon& daemon) {
  HOLDFAST_ASSIGN_OR_RETURN(const Compilation linked, linker_.Link(daemon));
  HOLDFAST_ASSIGN_OR_RETURN(linked_, linked.object.Fetch(daemon));
  if (linked.object.format == v1::OBJECT_FORMAT_PTX) linked_.push_back('\0');
  options_.Report(absl::OkStatus(), linked.log);
  return absl::OkStatus();
}

absl::StatusOr<absl::string_view> LinkState::Complete(Daemon& daemon) {
  absl::MutexLock lock(&mutex_);
  const absl::Status status = Link(daemon);
  if (!status.ok()) {
    options_.Report(status);
    if (!options_.has_error_log()) SayCodeIsRefused(Answer(status), status);
    return status;
  }
  return linked_;
}

}  // namespace holdfast::libcuda
