// SPDX-License-Identifier: Apache-2.0
#include "server/daemon/compilation.h"

#include <utility>

#include "absl/status/status.h"
#include "core/base/log.h"
#include "holdfast/internal/executor.pb.h"
#include "server/compile/installation.h"
#include "server/config/child_arguments.h"
#include "server/process/sandbox/policy.h"

namespace holdfast::server {
namespace {

bool KeepsOnDisk(const Config& config) {
  return config.cache_disk > 0 && !config.cache_directory.empty();
}

internal::Installation KnownCompilers(const Config& config) {
  if (!KeepsOnDisk(config)) return {};
  return ReadInstallation(config.cache_directory);
}

// Where that fails, the next daemon waits for its first compiler.
void RememberCompilers(const Config& config,
                       const internal::Installation& installation) {
  if (!KeepsOnDisk(config)) return;
  const absl::Status written =
      WriteInstallation(config.cache_directory, installation);
  if (!written.ok()) LogDebug("not remembered: ", written.message());
}

}  // namespace

Compilation::Compilation(const Config& config, Spawner& spawner,
                         ObjectStore& store,
                         ProgramCompiler::DefaultsSource defaults)
    : compilers({.start =
                     [&spawner, arguments = CompilerArguments(config)] {
                       return spawner.Spawn(arguments, Namespaces::kAll);
                     },
                 .workers = config.compiler_workers,
                 .max_queue = config.compile_queue,
                 .time_limit = config.compile_timeout,
                 .installation = KnownCompilers(config),
                 .on_start =
                     [&config](const internal::Installation& installation) {
                       RememberCompilers(config, installation);
                     }}),
      disk_cache(config.cache_directory, config.cache_disk),
      cache(config.cache_memory, &disk_cache, store.max_objects()),
      program(compilers, store, cache, std::move(defaults)) {}

void Compilation::Prestart() {
  const absl::Status status = compilers.Prestart();
  if (status.ok()) {
    return LogInfo("compiler: ", compilers.backend(), "; ",
                   compilers.confinement());
  }
  LogWarning("no compiler: ", status.message());
}

}  // namespace holdfast::server
