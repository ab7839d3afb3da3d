// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_COMPILE_COMPILED_PROGRAM_H_
#define HOLDFAST_SERVER_COMPILE_COMPILED_PROGRAM_H_

#include <memory>
#include <string>

#include "holdfast/v1/compile.pb.h"
#include "server/objects/object_store.h"

namespace holdfast {

// The outcome of one compilation or link. Immutable: the compile cache and its
// callers share it.
struct CompiledProgram {
  std::string name;  // of the source, for display
  // The caller for whom it was made: CompileCaller.owner.
  std::string owner;
  v1::CompileResponse response;  // symbols, log, back end
  std::shared_ptr<const StoredObject> object;
  int ptx_version = 0;  // PtxVersionOf(*object)
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_COMPILE_COMPILED_PROGRAM_H_
