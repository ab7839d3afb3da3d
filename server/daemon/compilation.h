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

// The path of a request to compile, put together from the configuration:
//
//   program ─▶ cache (memory ─▶ disk_cache) ─▶ compilers ─▶ the object store
//
// The first worker takes a second to load its compilers. So that a daemon that
// begins anew answers from the disk before that, the cache's directory also has
// a file that says which compilers the last worker had: keys of the cache
// contain their versions.
struct Compilation {
  // Starts no worker. All arguments must outlive it.
  Compilation(const Config& config, Spawner& spawner, ObjectStore& store,
              ProgramCompiler::DefaultsSource defaults);

  // Starts the first worker before a request needs it, and logs what it has.
  // Blocks until it is there.
  void Prestart();

  CompilerPool compilers;
  DiskCache disk_cache;
  CompileCache cache;
  ProgramCompiler program;
};

}  // namespace holdfast::server

#endif  // HOLDFAST_SERVER_DAEMON_COMPILATION_H_
