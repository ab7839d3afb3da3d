// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_TESTS_KERNELS_LIBRARY_H_
#define HOLDFAST_TESTS_KERNELS_LIBRARY_H_

#include <string>

#include "tests/kernels/array.h"
#include "tests/kernels/machine.h"

namespace holdfast::kernels {

// The kernels of one source, for programs. Any failure ends the process with a
// message.
class Library {
 public:
  explicit Library(const std::string& name) {
    const std::string ptx = CompileToPtx(name);
    Cuda();
    Require(Cuda().cuLibraryLoadData(&library_, ptx.c_str(), nullptr, nullptr,
                                     0, nullptr, nullptr, 0),
            name.c_str());
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() { Cuda().cuLibraryUnload(library_); }

  template <typename... Args>
  void Enqueue(const char* entry, Dim grid, Dim block, unsigned shared,
               const Args&... args) const {
    void* values[] = {Argument(args)..., nullptr};
    CUkernel kernel;
    Require(Cuda().cuLibraryGetKernel(&kernel, library_, entry), entry);
    const CUlaunchConfig config{grid.x,  grid.y, grid.z,  block.x, block.y,
                                block.z, shared, nullptr, nullptr, 0};
    Require(Cuda().cuLaunchKernelEx(
                &config, reinterpret_cast<CUfunction>(kernel), values, nullptr),
            entry);
  }
  static void Synchronize() { Require(Cuda().cuCtxSynchronize(), "kernel"); }

  // Enqueues and waits.
  template <typename... Args>
  void Launch(const char* entry, Dim grid, Dim block, unsigned shared,
              const Args&... args) const {
    Enqueue(entry, grid, block, shared, args...);
    Synchronize();
  }

 private:
  CUlibrary library_ = nullptr;
};

}  // namespace holdfast::kernels

#endif  // HOLDFAST_TESTS_KERNELS_LIBRARY_H_
