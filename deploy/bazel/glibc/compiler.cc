// SPDX-License-Identifier: Apache-2.0
//
// Two functions of glibc 2.35 and 2.36 that the distribution's static libgcc
// and libstdc++ call.
#include <dlfcn.h>
#include <link.h>
#include <sys/random.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "deploy/bazel/glibc/hidden.h"

namespace {

// The object that has an address, as dl_iterate_phdr finds it.
struct Search {
  uintptr_t address;
  dl_find_object* result;
};

// Returns 1, which ends the search, for the object that has the address and a
// header of its exception tables.
int Visit(dl_phdr_info* info, size_t, void* data) {
  const Search& search = *static_cast<const Search*>(data);
  bool found = false;
  void* eh_frame = nullptr;
  for (size_t i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    const uintptr_t begin = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_GNU_EH_FRAME) {
      eh_frame = reinterpret_cast<void*>(begin);
    } else if (segment.p_type == PT_LOAD && search.address >= begin &&
               search.address - begin < segment.p_memsz) {
      found = true;
    }
  }
  if (!found || eh_frame == nullptr) return 0;
  search.result->dlfo_eh_frame = eh_frame;
  return 1;
}

}  // namespace

extern "C" {

// Stands for glibc 2.35's. Called by libgcc for each frame that an exception
// unwinds; libgcc reads dlfo_eh_frame alone on x86-64.
HOLDFAST_OLDER int _dl_find_object(void* address,
                                   dl_find_object* result) noexcept {
  Search search = {reinterpret_cast<uintptr_t>(address), result};
  return dl_iterate_phdr(&Visit, &search) == 1 ? 0 : -1;
}

// Stands for glibc 2.36's. Called by std::random_device.
HOLDFAST_OLDER uint32_t arc4random() noexcept {
  uint32_t number = 0;
  while (getrandom(&number, sizeof number, 0) !=
         static_cast<ssize_t>(sizeof number)) {
    if (errno != EINTR) std::abort();
  }
  return number;
}

}  // extern "C"
