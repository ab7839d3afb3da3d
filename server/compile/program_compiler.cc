// SPDX-License-Identifier: Apache-2.0
#include "server/compile/program_compiler.h"

#include <errno.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "core/base/error_detail.h"
#include "core/base/status_macros.h"
#include "server/compile/compile_key.h"
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
  HOLDFAST_ASSIGN_OR_RETURN(const std::string identity, pool_.Identity());
  HOLDFAST_ASSIGN_OR_RETURN(
      const CompileCache::Answer answer,
      cache_.Get(CompileKey(identity, request), deadline,
                 [&] { return CompileAnew(request, identity); }));
  // Also for a hit: the store may have dropped the object since.
  store_.Put(answer.program->object, ObjectStore::Origin::kCompiler);
  v1::CompileResponse response = answer.program->response;
  response.set_cache_hit(answer.hit);
  if (answer.hit) response.clear_compile_time();
  return response;
}

// A result of another compiler than the key names, one of before an update of
// the toolkit, is right for who asked now, but not to be found again.
absl::StatusOr<CompileCache::Outcome> ProgramCompiler::CompileAnew(
    const v1::CompileRequest& request, const std::string& identity) {
  internal::ToCompiler job;
  *job.mutable_compile() = request;
  HOLDFAST_ASSIGN_OR_RETURN(CompilerWorker::Result result, pool_.Run(job));
  auto program = std::make_shared<CompiledProgram>();
  HOLDFAST_ASSIGN_OR_RETURN(program->object, CopyObject(result));
  program->response = std::move(result.response);
  *program->response.mutable_object() = program->object->header;
  const bool keep = !identity.empty() && result.identity == identity;
  return CompileCache::Outcome{std::move(program), keep};
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
