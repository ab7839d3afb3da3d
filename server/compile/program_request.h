// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_COMPILE_PROGRAM_REQUEST_H_
#define HOLDFAST_SERVER_COMPILE_PROGRAM_REQUEST_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/compile/program.h"
#include "holdfast/internal/executor.pb.h"
#include "holdfast/v1/compile.pb.h"

namespace holdfast {

inline constexpr size_t kMaxSourceBytes = size_t{10} << 20;  // of all sources
inline constexpr size_t kMaxHeaderBytes = size_t{32} << 20;  // of all headers
inline constexpr size_t kMaxNameExpressions = 1024;
inline constexpr size_t kMaxLinkInputs = 1024;
inline constexpr size_t kMaxLinkBytes = size_t{256} << 20;  // of all inputs

// Makes all checks that need no compiler, with the codes of CompileService. The
// daemon checks before it takes a worker, and the worker checks again.
//
// RESOURCE_EXHAUSTED: the sources or the headers are over their limit.
// INVALID_ARGUMENT: too many names or inputs, no inputs, an unknown language,
// target, arch or option, or a name with a directory.
absl::Status CheckCompileRequest(const v1::CompileRequest& request);
absl::Status CheckLinkRequest(const v1::LinkRequest& request);

// Converts the request to core's type. REQUIRES: CheckCompileRequest is OK;
// target and arch are set.
absl::StatusOr<compile::ProgramSource> ToProgramSource(
    const v1::CompileRequest& request);

// Converts the job to core's type. Its inputs are in `bytes`, which is
// borrowed.
absl::StatusOr<compile::LinkSource> ToLinkSource(const internal::LinkJob& job,
                                                 absl::string_view bytes);

// Describes the job for messages, such as 'compiling "a.cu" (CUDA C++ to PTX)'
// or 'linking "a.ptx" and 2 more to a cubin'.
std::string Describe(const internal::ToCompiler& job);

// INVALID_ARGUMENT: unspecified or unknown.
absl::StatusOr<compile::ObjectFormat> ToFormat(v1::ObjectFormat format);
v1::ObjectFormat ToProto(compile::ObjectFormat format);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_COMPILE_PROGRAM_REQUEST_H_
