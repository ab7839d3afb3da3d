// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_COMPILE_PROGRAM_COMPILER_H_
#define HOLDFAST_SERVER_COMPILE_PROGRAM_COMPILER_H_

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "holdfast/v1/compile.pb.h"
#include "server/compile/compile_cache.h"
#include "server/compile/compiler_pool.h"
#include "server/compile/link_job.h"
#include "server/objects/object_store.h"

namespace holdfast {

// Handles requests to compile or to link: checks the request, fills in
// defaults, uses the cache or a worker, and puts the object into the store.
// Thread-safe.
//
// The cache's key includes the compiler's identity. If a worker of another
// compiler has made the result, because the toolkit was updated meanwhile, the
// result is returned but not cached.
class ProgramCompiler {
 public:
  // The defaults of requests without a target or an arch.
  struct Defaults {
    v1::ObjectFormat target = v1::OBJECT_FORMAT_UNSPECIFIED;
    std::string arch;
    int driver_version = 0;  // of cuDriverGetVersion; 0: unknown
  };
  // Returns the defaults that the device has. Blocks until they are known, or
  // the deadline; with an infinite past, does not block.
  using DefaultsSource =
      std::function<absl::StatusOr<Defaults>(absl::Time deadline)>;

  // REQUIRES: all arguments passed by reference outlive this object. `defaults`
  // is called by any thread, for requests that lack a target or arch and for
  // warnings.
  ProgramCompiler(CompilerPool& pool, ObjectStore& store, CompileCache& cache,
                  DefaultsSource defaults)
      : pool_(pool),
        store_(store),
        cache_(cache),
        defaults_(std::move(defaults)) {}

  // The result of a lookup in memory: the answer, if it was there, and the key
  // with the values that it was made of, so that Compile need not hash the
  // request again.
  struct Lookup {
    std::optional<v1::CompileResponse> found;
    std::string key;  // empty: not looked up
    std::string identity;
    v1::ObjectFormat target = v1::OBJECT_FORMAT_UNSPECIFIED;
    std::string arch;
  };

  // Looks up Compile's answer in memory; never blocks. Ignores requests over
  // 256 KiB, because they take long to hash. REQUIRES: the caller may compile.
  Lookup Find(const v1::CompileRequest& request);

  // Carry out the calls of CompileService, and block until the result is there.
  // Fail as CheckCompileRequest or CheckLinkRequest, LinkJob::Create,
  // CompilerPool::Run and CompileCache::Get. `lookup` is the result of Find for
  // this request.
  absl::StatusOr<v1::CompileResponse> Compile(v1::CompileRequest request,
                                              const CompileCaller& caller,
                                              const Lookup& lookup);
  absl::StatusOr<v1::CompileResponse> Compile(v1::CompileRequest request,
                                              const CompileCaller& caller) {
    return Compile(std::move(request), caller, Lookup());
  }
  absl::StatusOr<v1::LinkResponse> Link(v1::LinkRequest request,
                                        const CompileCaller& caller);

 private:
  // Fills in target and arch if the request leaves them to the device. The
  // target becomes PTX if the device's target would need nvJitLink, and that is
  // not installed.
  template <typename Request>
  absl::Status FillIn(absl::Time deadline,
                      const internal::Installation& installed,
                      Request* request);

  // Looks up a request in memory. REQUIRES: target and architecture are set.
  Lookup FindComplete(const std::string& identity,
                      const v1::CompileRequest& request);

  // One request to make an object.
  struct Making {
    std::string key;
    std::string identity;  // of the compiler that the key names
    internal::ToCompiler job;
    const LinkJob* link = nullptr;  // the inputs of a link
  };
  // Takes the object from the cache, or makes it in a worker. Puts it into the
  // store, and returns the response.
  absl::StatusOr<v1::CompileResponse> Make(const Making& making,
                                           const CompileCaller& caller);
  // Makes the object in a worker, and copies it out of the worker's memory.
  absl::StatusOr<CompileCache::Outcome> CompileUncached(
      const Making& making, const CompileCaller& callers);
  // Returns the response. Puts the object into the store first, because the
  // store may have dropped it since it was cached.
  v1::CompileResponse ToResponse(const CompileCache::Answer& answer);
  // Adds PtxVersionWarning to the compiler's warnings, if the driver is known.
  void AddWarnings(const CompiledProgram& program,
                   v1::CompileResponse* response);

  CompilerPool& pool_;
  ObjectStore& store_;
  CompileCache& cache_;
  const DefaultsSource defaults_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_COMPILE_PROGRAM_COMPILER_H_
