// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_SOFTWARE_JIT_OBJECT_WRITER_H_
#define HOLDFAST_CORE_SOFTWARE_JIT_OBJECT_WRITER_H_

#include <memory>
#include <string>

#include "core/software/jit/access_site.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Target/TargetMachine.h"

namespace holdfast::software::jit {

// Adds debug information to `function`, so that the line table of its object
// can describe memory accesses. Must be called before Describe for an
// instruction of the function.
void DescribeAccesses(llvm::Function* function);

// Records in the metadata of `instruction` that it makes the memory access
// `site`.
void Describe(llvm::Instruction* instruction, const AccessSite& site);

// Generates machine code for `module`. Returns an object file whose line table
// has the described accesses. Returns null, and the reason in *error, if LLVM
// cannot write objects for this CPU. Changes `module` and may lower the
// optimisation level of `machine`.
std::unique_ptr<llvm::MemoryBuffer> WriteObject(llvm::Module* module,
                                                llvm::TargetMachine* machine,
                                                std::string* error);

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_OBJECT_WRITER_H_
