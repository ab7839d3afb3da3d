// SPDX-License-Identifier: Apache-2.0
#include "server/compile/program_compiler.h"

#include <errno.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/error_detail.h"
#include "core/base/status_macros.h"
#include "server/compile/compile_key.h"
#include "server/compile/program_request.h"
#include "server/compile/ptx_version.h"

namespace holdfast {
namespace {

// The longest request that is looked up where nothing may take long: this much
// is hashed in less than a millisecond.
constexpr size_t kMaxFoundBytes = size_t{256} << 10;

template <typename Request>
bool IsComplete(const Request& request) {
  return request.target() != v1::OBJECT_FORMAT_UNSPECIFIED &&
         !request.arch().empty();
}

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

// For people: "a.cu", "a.ltoir and 2 more".
std::string NameOf(const internal::ToCompiler& job) {
  if (!job.has_link()) return job.compile().name();
  const auto& parts = job.link().parts();
  const std::string& first = parts.Get(0).name();
  return parts.size() == 1
             ? first
             : absl::StrCat(first, " and ", parts.size() - 1, " more");
}

// Empty files: it is not known.
bool LacksNvJitLink(const internal::Installation& installed) {
  const auto is_nvjitlink = [](const std::string& file) {
    return absl::StrContains(file, "nvJitLink");
  };
  return !installed.files().empty() &&
         std::none_of(installed.files().begin(), installed.files().end(),
                      is_nvjitlink);
}

// Where it is to become a cubin. PTX is as good: the driver makes one of it.
bool TakesNvJitLink(const v1::CompileRequest& request) {
  return request.language() > v1::SOURCE_LANGUAGE_CUDA_CPP;
}

bool TakesNvJitLink(const v1::LinkRequest& /*request*/) { return true; }

// Adds line information for faults, which costs nothing where PTX is what
// runs: on the software device.
void AskForLines(v1::CompileRequest* request) {
  if (request->language() == v1::SOURCE_LANGUAGE_PTX) return;
  for (const std::string& option : request->options()) {
    for (const absl::string_view word :
         {"-lineinfo", "line-info", "device-debug"}) {
      if (absl::StrContains(option, word)) return;
    }
    if (option == "-G" || option == "-g") return;
  }
  request->add_options("--generate-line-info");
}

void AskForLines(v1::LinkRequest* /*request*/) {}

v1::LinkResponse ToLinkResponse(v1::CompileResponse made) {
  v1::LinkResponse response;
  *response.mutable_object() = std::move(*made.mutable_object());
  response.set_log(std::move(*made.mutable_log()));
  *response.mutable_warnings() = std::move(*made.mutable_warnings());
  response.set_backend(made.backend());
  response.set_backend_version(made.backend_version());
  response.set_cache_hit(made.cache_hit());
  response.set_cache_tier(made.cache_tier());
  response.set_arch(made.arch());
  *response.mutable_kernels() = std::move(*made.mutable_kernels());
  if (made.has_compile_time()) {
    *response.mutable_link_time() = made.compile_time();
  }
  return response;
}

}  // namespace

// A request that was compiled before need not be checked again.
ProgramCompiler::Lookup ProgramCompiler::Find(
    const v1::CompileRequest& request) {
  if (request.ByteSizeLong() > kMaxFoundBytes) return {};
  const CompilerPool::Installed installed = pool_.KnownInstallation();
  if (installed->identity().empty()) return {};
  if (IsComplete(request)) return FindComplete(installed->identity(), request);
  v1::CompileRequest complete = request;
  if (!FillIn(absl::InfinitePast(), *installed, &complete).ok()) return {};
  return FindComplete(installed->identity(), complete);
}

ProgramCompiler::Lookup ProgramCompiler::FindComplete(
    const std::string& identity, const v1::CompileRequest& request) {
  Lookup lookup;
  lookup.key = CompileKey(identity, request);
  lookup.identity = identity;
  lookup.target = request.target();
  lookup.arch = request.arch();
  CompileCache::Program program = cache_.Find(lookup.key);
  if (program != nullptr) {
    lookup.found =
        ToResponse({std::move(program), CompileCache::Tier::kMemory});
  }
  return lookup;
}

absl::StatusOr<v1::CompileResponse> ProgramCompiler::Compile(
    v1::CompileRequest request, const CompileCaller& caller,
    const Lookup& lookup) {
  HOLDFAST_RETURN_IF_ERROR(CheckCompileRequest(request));
  HOLDFAST_ASSIGN_OR_RETURN(const CompilerPool::Installed installed,
                            pool_.Installation());
  HOLDFAST_RETURN_IF_ERROR(FillIn(caller.deadline, *installed, &request));
  Making making;
  making.identity = installed->identity();
  // What was left to the device may be another thing by now.
  const bool same = !lookup.key.empty() && lookup.identity == making.identity &&
                    lookup.target == request.target() &&
                    lookup.arch == request.arch();
  making.key = same ? lookup.key : CompileKey(making.identity, request);
  *making.job.mutable_compile() = std::move(request);
  return Make(making, caller);
}

absl::StatusOr<v1::LinkResponse> ProgramCompiler::Link(
    v1::LinkRequest request, const CompileCaller& caller) {
  HOLDFAST_RETURN_IF_ERROR(CheckLinkRequest(request));
  HOLDFAST_ASSIGN_OR_RETURN(const CompilerPool::Installed installed,
                            pool_.Installation());
  HOLDFAST_RETURN_IF_ERROR(FillIn(caller.deadline, *installed, &request));
  HOLDFAST_ASSIGN_OR_RETURN(const LinkJob job,
                            LinkJob::Create(std::move(request), store_));
  Making making;
  making.identity = installed->identity();
  making.key = LinkKey(making.identity, job.request());
  making.job = job.Message();
  making.link = &job;
  HOLDFAST_ASSIGN_OR_RETURN(v1::CompileResponse made, Make(making, caller));
  return ToLinkResponse(std::move(made));
}

absl::StatusOr<v1::CompileResponse> ProgramCompiler::Make(
    const Making& making, const CompileCaller& caller) {
  HOLDFAST_ASSIGN_OR_RETURN(
      const CompileCache::Answer answer,
      cache_.Get(making.key, caller,
                 [this, &making](const CompileCaller& callers) {
                   return CompileUncached(making, callers);
                 }));
  return ToResponse(answer);
}

v1::CompileResponse ProgramCompiler::ToResponse(
    const CompileCache::Answer& answer) {
  // Also for a hit: the store may have dropped the object since.
  store_.Put(answer.program->object, ObjectStore::Origin::kCompiler);
  v1::CompileResponse response = answer.program->response;
  AddWarnings(*answer.program, &response);
  if (answer.tier == CompileCache::Tier::kNone) return response;
  response.set_cache_hit(true);
  response.set_cache_tier(answer.tier == CompileCache::Tier::kDisk
                              ? v1::CACHE_TIER_DISK
                              : v1::CACHE_TIER_MEMORY);
  response.clear_compile_time();
  return response;
}

void ProgramCompiler::AddWarnings(const CompiledProgram& program,
                                  v1::CompileResponse* response) {
  if (program.ptx_version == 0) return;
  // Not worth waiting for.
  const absl::StatusOr<Defaults> defaults = defaults_(absl::InfinitePast());
  if (!defaults.ok()) return;
  std::string warning =
      PtxVersionWarning(program.ptx_version, defaults->driver_version);
  if (!warning.empty()) response->add_warnings(std::move(warning));
}

// A result of another compiler than the key names, one of before an update of
// the toolkit, is right for who asked now, but not to be found again.
absl::StatusOr<CompileCache::Outcome> ProgramCompiler::CompileUncached(
    const Making& making, const CompileCaller& callers) {
  CompilerPool::Parts parts;
  if (making.link != nullptr) {
    parts = [&making] { return making.link->Parts(); };
  }
  HOLDFAST_ASSIGN_OR_RETURN(CompilerWorker::Result result,
                            pool_.Run(callers, making.job, parts));
  auto program = std::make_shared<CompiledProgram>();
  program->name = NameOf(making.job);
  program->owner = callers.owner;
  HOLDFAST_ASSIGN_OR_RETURN(program->object, CopyObject(result));
  program->ptx_version = PtxVersionOf(*program->object);
  program->response = std::move(result.response);
  *program->response.mutable_object() = program->object->header;
  const bool keep =
      !making.identity.empty() && result.identity == making.identity;
  return CompileCache::Outcome{std::move(program), keep};
}

template <typename Request>
absl::Status ProgramCompiler::FillIn(absl::Time deadline,
                                     const internal::Installation& installed,
                                     Request* request) {
  if (IsComplete(*request)) return absl::OkStatus();
  const absl::StatusOr<Defaults> defaults = defaults_(deadline);
  if (!defaults.ok()) {
    return WithPrefix(
        "the request leaves target or arch to the device, and there is none",
        defaults.status());
  }
  if (request->target() == v1::OBJECT_FORMAT_UNSPECIFIED) {
    const bool to_ptx = LacksNvJitLink(installed) && TakesNvJitLink(*request);
    request->set_target(to_ptx ? v1::OBJECT_FORMAT_PTX : defaults->target);
    if (defaults->target == v1::OBJECT_FORMAT_PTX) AskForLines(request);
  }
  if (request->arch().empty()) request->set_arch(defaults->arch);
  return absl::OkStatus();
}

}  // namespace holdfast
