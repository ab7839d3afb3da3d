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

// Has accesses of `function` described in the line table of its object.
void DescribeAccesses(llvm::Function* function);

// `instruction` makes the access that `site` describes.
void Describe(llvm::Instruction* instruction, const AccessSite& site);

// Machine code, with the accesses that have been described; null with the
// reason in *error.
std::unique_ptr<llvm::MemoryBuffer> WriteObject(llvm::Module* module,
                                                llvm::TargetMachine* machine,
                                                std::string* error);

}  // namespace holdfast::software::jit

#endif  // HOLDFAST_CORE_SOFTWARE_JIT_OBJECT_WRITER_H_
