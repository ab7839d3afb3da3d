// SPDX-License-Identifier: Apache-2.0
//
// Stands for glibc 2.34's __libc_start_main, which a program's first
// instructions call and which runs the program's constructors itself. The older
// version calls a function of the program for that. Every later glibc offers
// the older version, too, and calls the function.
#include "deploy/bazel/glibc/hidden.h"

using Main = int (*)(int, char**, char**);
using Constructor = void (*)(int, char**, char**);

__asm__(".symver older_libc_start_main, __libc_start_main@GLIBC_2.2.5");

extern "C" {

int older_libc_start_main(Main main, int argc, char** argv, Constructor begin,
                          void (*end)(), void (*end_of_loader)(), void* stack);

// Defined by crti.o and by the linker.
__attribute__((visibility("hidden"))) void _init();
extern __attribute__((visibility("hidden")))
const Constructor __init_array_start[];
extern __attribute__((visibility("hidden")))
const Constructor __init_array_end[];

// The loader runs destructors, for programs of either glibc.
HOLDFAST_OLDER int __libc_start_main(Main main, int argc, char** argv,
                                     Constructor, void (*)(),
                                     void (*end_of_loader)(), void* stack) {
  const Constructor construct = [](int argc, char** argv, char** environment) {
    _init();
    for (const Constructor* next = __init_array_start; next != __init_array_end;
         ++next) {
      (*next)(argc, argv, environment);
    }
  };
  return older_libc_start_main(main, argc, argv, construct, nullptr,
                               end_of_loader, stack);
}

}  // extern "C"
