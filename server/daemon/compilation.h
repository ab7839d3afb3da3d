// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_DAEMON_COMPILATION_H_
#define HOLDFAST_SERVER_DAEMON_COMPILATION_H_

#include "server/compile/compile_cache.h"
#include "server/compile/compiler_pool.h"
#include "server/compile/disk_cache.h"
#include "server/compile/program_compiler.h"
#include "server/config/config.h"
#include "server/objects/object_store.h"
#include "server/process/spawner.h"

namespace holdfast::server {

// The path of a compile request, built from the configuration:
//
//   program ─▶ cache (memory ─▶ disk_cache) ─▶ compilers ─▶ the object store
//
// The first worker takes a second to load its compilers, and the cache's keys
// contain the compilers' versions. So that a restarted daemon can answer from
// the disk at once, the cache's directory also has a file that describes the
// compilers of the last worker (server/compile/installation.h).
struct Compilation {
  // Starts no worker. All arguments must outlive this object.
  Compilation(const Config& config, Spawner& spawner, ObjectStore& store,
              ProgramCompiler::DefaultsSource defaults);

  // Starts the first worker before a request needs it, and blocks until it is
  // ready. Logs its compilers, or the error.
  void Prestart();

  CompilerPool compilers;
  DiskCache disk_cache;
  CompileCache cache;
  ProgramCompiler program;
};

}  // namespace holdfast::server

#endif  // HOLDFAST_SERVER_DAEMON_COMPILATION_H_
