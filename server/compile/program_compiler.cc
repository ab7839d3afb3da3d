// SPDX-License-Identifier: Apache-2.0
#include "server/compile/program_compiler.h"

#include <errno.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "core/base/error_detail.h"
#include "core/base/status_macros.h"
#include "server/compile/program_request.h"

namespace holdfast {
namespace {

// Reads the worker's memfd rather than keep it: the worker has run a client's
// source through a compiler and is not believed.
absl::StatusOr<std::shared_ptr<const StoredObject>> CopyObject(
    const CompilerWorker::Result& result) {
  const v1::ObjectHeader& header = result.response.object();
  HOLDFAST_ASSIGN_OR_RETURN(auto writer, ObjectWriter::Create(header.size()));
  std::string part(std::min<uint64_t>(header.size(), 1 << 20), '\0');
  off_t done = 0;
  while (true) {
    const ssize_t n =
        pread(result.object.get(), part.data(), part.size(), done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return absl::ErrnoToStatus(errno, "read the compiled object");
    if (n == 0) break;
    HOLDFAST_RETURN_IF_ERROR(
        writer->Append({part.data(), static_cast<size_t>(n)}));
    done += n;
  }
  return writer->Finish(header.format(), header.symbols());
}

}  // namespace

absl::StatusOr<v1::CompileResponse> ProgramCompiler::Compile(
    v1::CompileRequest request, absl::Time deadline) {
  HOLDFAST_RETURN_IF_ERROR(CheckCompileRequest(request));
  HOLDFAST_RETURN_IF_ERROR(FillIn(deadline, &request));
  HOLDFAST_ASSIGN_OR_RETURN(CompilerWorker::Result result,
                            pool_.Compile(request));
  HOLDFAST_ASSIGN_OR_RETURN(const auto object, CopyObject(result));
  store_.Put(object, ObjectStore::Origin::kCompiler);
  *result.response.mutable_object() = object->header;
  return std::move(result.response);
}

absl::Status ProgramCompiler::FillIn(absl::Time deadline,
                                     v1::CompileRequest* request) {
  const bool target = request->target() == v1::OBJECT_FORMAT_UNSPECIFIED;
  const bool arch = request->arch().empty();
  if (!target && !arch) return absl::OkStatus();
  const absl::StatusOr<Defaults> defaults = defaults_(deadline);
  if (!defaults.ok()) {
    return WithPrefix(
        "the request leaves target or arch to the device, and there is none",
        defaults.status());
  }
  if (target) request->set_target(defaults->target);
  if (arch) request->set_arch(defaults->arch);
  return absl::OkStatus();
}

}  // namespace holdfast
