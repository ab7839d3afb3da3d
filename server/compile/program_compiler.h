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
// The cache's key includes the compiler. A result of another compiler, after an
// update of the toolkit, is returned but not cached.
class ProgramCompiler {
 public:
  // The defaults of requests without a target.
  struct Defaults {
    v1::ObjectFormat target = v1::OBJECT_FORMAT_UNSPECIFIED;
    std::string arch;
    int driver_version = 0;  // of cuDriverGetVersion; 0: unknown
  };
  using DefaultsSource =
      std::function<absl::StatusOr<Defaults>(absl::Time deadline)>;

  // REQUIRES: all outlive the compiler. `defaults` is called only if a request
  // needs it.
  ProgramCompiler(CompilerPool& pool, ObjectStore& store, CompileCache& cache,
                  DefaultsSource defaults)
      : pool_(pool),
        store_(store),
        cache_(cache),
        defaults_(std::move(defaults)) {}

  // The result of a lookup in memory: the answer, if it was there, and the key,
  // so that Compile need not hash the request again.
  struct Lookup {
    std::optional<v1::CompileResponse> found;
    std::string key;  // empty: not looked up
    std::string identity;
    v1::ObjectFormat target = v1::OBJECT_FORMAT_UNSPECIFIED;
    std::string arch;
  };

  // Looks up Compile's answer in memory; never blocks. Requests that take long
  // to hash are not looked up. REQUIRES: the caller may compile.
  Lookup Find(const v1::CompileRequest& request);

  // See CompileService. `lookup` is the result of Find for this request.
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
  // Fills in the fields that the request leaves to the device, as far as the
  // compilers support its values.
  template <typename Request>
  absl::Status FillIn(absl::Time deadline,
                      const internal::Installation& installed,
                      Request* request);

  // REQUIRES: target and architecture are set.
  Lookup FindComplete(const std::string& identity,
                      const v1::CompileRequest& request);

  // One request to make an object.
  struct Making {
    std::string key;
    std::string identity;  // of the compiler that the key names
    internal::ToCompiler job;
    const LinkJob* link = nullptr;  // the inputs of a link
  };
  // Takes the object from the cache, or makes it in a worker, and puts it into
  // the store.
  absl::StatusOr<v1::CompileResponse> Make(const Making& making,
                                           const CompileCaller& caller);
  // Makes the object in a worker, and copies it out of the worker's memory.
  absl::StatusOr<CompileCache::Outcome> CompileUncached(
      const Making& making, const CompileCaller& callers);
  // Returns the response, after putting the object into the store, which may
  // have dropped it since it was cached.
  v1::CompileResponse ToResponse(const CompileCache::Answer& answer);
  // Adds warnings to those of the compiler.
  void AddWarnings(const CompiledProgram& program,
                   v1::CompileResponse* response);

  CompilerPool& pool_;
  ObjectStore& store_;
  CompileCache& cache_;
  const DefaultsSource defaults_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_COMPILE_PROGRAM_COMPILER_H_
