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

// Make all checks that need no compiler, and return the error for the client.
// The daemon checks a request before it takes a worker, and the worker checks
// the request again.
//
// RESOURCE_EXHAUSTED: the sources or the headers are over their limit.
// INVALID_ARGUMENT: there are too many name expressions, too many inputs or no
// inputs; the language, target, arch or an option is unknown; or the source's
// name has a directory.
absl::Status CheckCompileRequest(const v1::CompileRequest& request);
absl::Status CheckLinkRequest(const v1::LinkRequest& request);

// Converts the request to core's type. REQUIRES: CheckCompileRequest is OK;
// target and arch are set.
absl::StatusOr<compile::ProgramSource> ToProgramSource(
    const v1::CompileRequest& request);

// Converts the job to core's type. `bytes` has the bytes of all inputs; it must
// outlive the result. INTERNAL: `bytes` is shorter than the inputs.
absl::StatusOr<compile::LinkSource> ToLinkSource(const internal::LinkJob& job,
                                                 absl::string_view bytes);

// Describes the job for messages, such as 'compiling "a.cu" (CUDA C++ to PTX)'
// or 'linking "a.ptx" and 2 more to a cubin'.
std::string Describe(const internal::ToCompiler& job);

// Convert between the protocol's and core's object formats. INVALID_ARGUMENT:
// the format is unspecified or unknown.
absl::StatusOr<compile::ObjectFormat> ToFormat(v1::ObjectFormat format);
v1::ObjectFormat ToProto(compile::ObjectFormat format);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_COMPILE_PROGRAM_REQUEST_H_
