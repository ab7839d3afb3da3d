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
#include "server/compile/object_store.h"

namespace holdfast {

// From a request to compile or to link to an object in the store: checks, what
// is left out, the cache or a worker, the store. Thread-safe.
//
// The key of the cache names the compiler, too. A result of another one, after
// an update of the toolkit, is answered but not cached.
class ProgramCompiler {
 public:
  // The target of requests that name none.
  struct Defaults {
    v1::ObjectFormat target = v1::OBJECT_FORMAT_UNSPECIFIED;
    std::string arch;
    int driver_version = 0;  // as cuDriverGetVersion has it; 0: unknown
  };
  using DefaultsSource =
      std::function<absl::StatusOr<Defaults>(absl::Time deadline)>;

  // All must outlive the compiler. `defaults` is asked only when a request
  // needs it.
  ProgramCompiler(CompilerPool& pool, ObjectStore& store, CompileCache& cache,
                  DefaultsSource defaults)
      : pool_(pool),
        store_(store),
        cache_(cache),
        defaults_(std::move(defaults)) {}

  // A look into the memory for a request: the answer, if it was there, and the
  // key, so that Compile need not hash the request again.
  struct Lookup {
    std::optional<v1::CompileResponse> found;
    std::string key;  // empty: it was not looked up
    std::string identity;
    v1::ObjectFormat target = v1::OBJECT_FORMAT_UNSPECIFIED;
    std::string arch;
  };

  // Looks for what Compile would answer from memory; never blocks. A request
  // that is so long that hashing it takes its time is not looked up. REQUIRES:
  // its caller may compile.
  Lookup Find(const v1::CompileRequest& request);

  // As CompileService says. `lookup` is what Find said of this request.
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
  // Fills in what the request leaves to the device, as far as the compilers can
  // make it.
  template <typename Request>
  absl::Status FillIn(absl::Time deadline,
                      const internal::Installation& installed,
                      Request* request);

  // REQUIRES: target and architecture are set.
  Lookup FindComplete(const std::string& identity,
                      const v1::CompileRequest& request);

  // From the cache, else from a worker; either way it is in the store then.
  struct Making {
    std::string key;
    std::string identity;  // of the compiler that the key names
    internal::ToCompiler job;
    const LinkJob* link = nullptr;  // has what goes with the job of a link
  };
  absl::StatusOr<v1::CompileResponse> Make(const Making& making,
                                           const CompileCaller& caller);
  // Has a worker make it, and copies the object out of the worker's memory.
  absl::StatusOr<CompileCache::Outcome> CompileUncached(
      const Making& making, const CompileCaller& callers);
  // Also puts the object into the store, which may have dropped it since.
  v1::CompileResponse ToResponse(const CompileCache::Answer& answer);
  // Adds warnings about a program beside those of its compiler.
  void AddWarnings(const CompiledProgram& program,
                   v1::CompileResponse* response);

  CompilerPool& pool_;
  ObjectStore& store_;
  CompileCache& cache_;
  const DefaultsSource defaults_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_COMPILE_PROGRAM_COMPILER_H_
