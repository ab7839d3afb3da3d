// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_COMPILE_PROGRAM_REQUEST_H_
#define HOLDFAST_SERVER_COMPILE_PROGRAM_REQUEST_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/compile/program.h"
#include "holdfast/v1/compile.pb.h"

namespace holdfast {

inline constexpr size_t kMaxSourceBytes = size_t{10} << 20;
inline constexpr size_t kMaxHeaderBytes = size_t{32} << 20;  // of all headers
inline constexpr size_t kMaxNameExpressions = 1024;

// Everything that can be refused without a compiler, with the codes of
// CompileService.Compile. The daemon checks before it takes a worker, the
// worker checks again.
absl::Status CheckCompileRequest(const v1::CompileRequest& request);

// The request in core's terms. REQUIRES: CheckCompileRequest is OK, target and
// arch are set.
absl::StatusOr<compile::ProgramSource> ToProgramSource(
    const v1::CompileRequest& request);

v1::ObjectFormat ToProto(compile::ObjectFormat format);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_COMPILE_PROGRAM_REQUEST_H_
