// SPDX-License-Identifier: Apache-2.0
//
// Stands in for the runtime where it is not linked: everything works but
// loading code.
#include <sys/mman.h>

#include "core/software/runtime/executable.h"

namespace holdfast::software {

__attribute__((weak)) CUresult Executable::Load(absl::string_view,
                                                std::unique_ptr<Executable>*,
                                                std::string* log) {
  *log = "this build of the software driver runs no kernels";
  return CUDA_ERROR_NOT_SUPPORTED;
}

__attribute__((weak)) const DeviceWindow& GetDeviceWindow() {
  static const DeviceWindow window = [] {
    constexpr size_t kSize = size_t{1} << 40;
    void* base =
        mmap(reinterpret_cast<void*>(0x7e8000000000), kSize, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
             -1, 0);
    if (base == MAP_FAILED) {
      base = mmap(nullptr, kSize, PROT_NONE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    }
    return base == MAP_FAILED
               ? DeviceWindow{}
               : DeviceWindow{reinterpret_cast<uintptr_t>(base), kSize};
  }();
  return window;
}

}  // namespace holdfast::software
