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
#include "server/compile/link_job.h"
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

v1::LinkResponse ToLinkResponse(v1::CompileResponse made) {
  v1::LinkResponse response;
  *response.mutable_object() = std::move(*made.mutable_object());
  response.set_log(std::move(*made.mutable_log()));
  *response.mutable_warnings() = std::move(*made.mutable_warnings());
  response.set_backend(made.backend());
  response.set_backend_version(made.backend_version());
  response.set_cache_hit(made.cache_hit());
  response.set_arch(made.arch());
  if (made.has_compile_time()) {
    *response.mutable_link_time() = made.compile_time();
  }
  return response;
}

}  // namespace

absl::StatusOr<v1::CompileResponse> ProgramCompiler::Compile(
    v1::CompileRequest request, absl::Time deadline) {
  HOLDFAST_RETURN_IF_ERROR(CheckCompileRequest(request));
  HOLDFAST_RETURN_IF_ERROR(FillIn(deadline, &request));
  HOLDFAST_ASSIGN_OR_RETURN(const std::string identity, pool_.Identity());
  const std::string key = CompileKey(identity, request);
  internal::ToCompiler job;
  *job.mutable_compile() = std::move(request);
  return Make(identity, key, job, /*fd=*/-1, deadline);
}

absl::StatusOr<v1::LinkResponse> ProgramCompiler::Link(v1::LinkRequest request,
                                                       absl::Time deadline) {
  HOLDFAST_RETURN_IF_ERROR(CheckLinkRequest(request));
  HOLDFAST_RETURN_IF_ERROR(FillIn(deadline, &request));
  HOLDFAST_ASSIGN_OR_RETURN(const LinkJob job,
                            LinkJob::Create(std::move(request), store_));
  HOLDFAST_ASSIGN_OR_RETURN(const std::string identity, pool_.Identity());
  HOLDFAST_ASSIGN_OR_RETURN(const UniqueFd parts, job.Parts());
  HOLDFAST_ASSIGN_OR_RETURN(v1::CompileResponse made,
                            Make(identity, LinkKey(identity, job.request()),
                                 job.Message(), parts.get(), deadline));
  return ToLinkResponse(std::move(made));
}

absl::StatusOr<v1::CompileResponse> ProgramCompiler::Make(
    const std::string& identity, const std::string& key,
    const internal::ToCompiler& job, int fd, absl::Time deadline) {
  HOLDFAST_ASSIGN_OR_RETURN(
      const CompileCache::Answer answer,
      cache_.Get(key, deadline, [&] { return MakeAnew(job, fd, identity); }));
  // Also for a hit: the store may have dropped the object since.
  store_.Put(answer.program->object, ObjectStore::Origin::kCompiler);
  v1::CompileResponse response = answer.program->response;
  response.set_cache_hit(answer.hit);
  if (answer.hit) response.clear_compile_time();
  return response;
}

// A result of another compiler than the key names, one of before an update of
// the toolkit, is right for who asked now, but not to be found again.
absl::StatusOr<CompileCache::Outcome> ProgramCompiler::MakeAnew(
    const internal::ToCompiler& job, int fd, const std::string& identity) {
  HOLDFAST_ASSIGN_OR_RETURN(CompilerWorker::Result result, pool_.Run(job, fd));
  auto program = std::make_shared<CompiledProgram>();
  HOLDFAST_ASSIGN_OR_RETURN(program->object, CopyObject(result));
  program->response = std::move(result.response);
  *program->response.mutable_object() = program->object->header;
  const bool keep = !identity.empty() && result.identity == identity;
  return CompileCache::Outcome{std::move(program), keep};
}

template <typename Request>
absl::Status ProgramCompiler::FillIn(absl::Time deadline, Request* request) {
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
