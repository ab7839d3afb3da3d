// SPDX-License-Identifier: Apache-2.0
#include "core/software/driver/code_table.h"

#include <utility>
#include <vector>

namespace holdfast::software {

CUmodule CodeTable::AddModule(std::shared_ptr<Library> module) {
  MutexLock lock(&mutex_);
  AddKernels(*module);
  return modules_.Add(std::move(module));
}

CUlibrary CodeTable::AddLibrary(std::shared_ptr<Library> library) {
  MutexLock lock(&mutex_);
  AddKernels(*library);
  return libraries_.Add(std::move(library));
}

std::shared_ptr<Library> CodeTable::FindModule(CUmodule handle) const {
  return modules_.Find(handle);
}

std::shared_ptr<Library> CodeTable::FindLibrary(CUlibrary handle) const {
  return libraries_.Find(handle);
}

std::shared_ptr<Kernel> CodeTable::FindKernel(CUfunction handle) const {
  return kernels_.Find(handle);
}

CUmodule CodeTable::ModuleWith(CUfunction kernel) const {
  return modules_.HandleOf(
      [kernel](const Library& module) { return module.Owns(kernel); });
}

CUlibrary CodeTable::LibraryWith(CUfunction kernel) const {
  return libraries_.HandleOf(
      [kernel](const Library& library) { return library.Owns(kernel); });
}

CUmodule CodeTable::ModuleOf(CUlibrary library) {
  MutexLock lock(&mutex_);
  std::shared_ptr<Library> found = libraries_.Find(library);
  if (found == nullptr) return nullptr;
  const auto module = reinterpret_cast<CUmodule>(library);
  modules_.AddAs(module, std::move(found));
  return module;
}

std::shared_ptr<Library> CodeTable::RemoveModule(CUmodule handle) {
  MutexLock lock(&mutex_);
  std::shared_ptr<Library> module = modules_.Remove(handle);
  if (module != nullptr) RemoveKernels(*module);
  return module;
}

std::shared_ptr<Library> CodeTable::RemoveLibrary(CUlibrary handle) {
  MutexLock lock(&mutex_);
  std::shared_ptr<Library> library = libraries_.Remove(handle);
  if (library == nullptr) return nullptr;
  modules_.Remove(reinterpret_cast<CUmodule>(handle));
  RemoveKernels(*library);
  return library;
}

void CodeTable::EndContext(uint64_t context_id) {
  std::vector<std::shared_ptr<Library>> ended;
  {
    MutexLock lock(&mutex_);
    ended = modules_.RemoveIf([context_id](const Library& module) {
      return module.context_id() == context_id;
    });
    for (const auto& module : ended) RemoveKernels(*module);
  }
  for (const auto& library : libraries_.All()) library->EndContext(context_id);
}

void CodeTable::AddKernels(Library& library) {
  for (Library::Entry& entry : library.kernels()) {
    entry.handle = kernels_.Add(entry.kernel);
  }
}

void CodeTable::RemoveKernels(Library& library) {
  for (const Library::Entry& entry : library.kernels()) {
    kernels_.Remove(entry.handle);
  }
}

}  // namespace holdfast::software
