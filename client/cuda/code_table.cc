// SPDX-License-Identifier: Apache-2.0
#include "client/cuda/code_table.h"

#include <utility>

namespace holdfast::libcuda {

CUmodule CodeTable::Add(std::shared_ptr<Module> module) {
  return modules_.Add(std::move(module));
}

CUlibrary CodeTable::Add(RefusedLibrary library) {
  return refused_.Add(
      std::make_shared<const RefusedLibrary>(std::move(library)));
}

std::shared_ptr<Module> CodeTable::Find(CUmodule handle) const {
  return modules_.Find(handle);
}

std::shared_ptr<const RefusedLibrary> CodeTable::FindRefused(
    CUlibrary handle) const {
  return refused_.Find(handle);
}

std::shared_ptr<Function> CodeTable::FindFunction(CUfunction handle) const {
  return functions_.Find(handle);
}

CUmodule CodeTable::HandleOf(const Module* module) const {
  return modules_.HandleOf(module);
}

absl::StatusOr<CUfunction> CodeTable::GetFunction(Module& module,
                                                  const std::string& name) {
  return module.GetFunction(name, functions_);
}

std::shared_ptr<Module> CodeTable::Remove(CUmodule handle) {
  std::shared_ptr<Module> module = modules_.Remove(handle);
  if (module == nullptr) return nullptr;
  functions_.RemoveIf(
      [&](const Function& function) { return function.module() == module; });
  return module;
}

bool CodeTable::RemoveRefused(CUlibrary handle) {
  return refused_.Remove(handle) != nullptr;
}

void CodeTable::EndContext(uint64_t context_id) {
  modules_.RemoveIf([context_id](const Module& module) {
    return module.context_id() == context_id;
  });
  functions_.RemoveIf(
      [](const Function& function) { return function.module() == nullptr; });
  // The modules and functions that remain belong to libraries or other
  // contexts.
  for (const auto& function : functions_.All())
    function->EndContext(context_id);
  for (const auto& module : modules_.All()) module->EndContext(context_id);
}

}  // namespace holdfast::libcuda
