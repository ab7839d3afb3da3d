// SPDX-License-Identifier: Apache-2.0
//
// Has the distribution's archives, which were compiled for the newest versions
// of these functions, call the older ones: each jumps to what the loader finds.
// A jump leaves no frame, so that dlopen and dlsym see who calls them.
// Hidden, as in older.cc.

#define MOVED(name, version)                  \
  .symver older_##name, name@version;         \
  .section .text.older_##name, "ax", @progbits; \
  .globl name;                                \
  .hidden name;                               \
  .type name, @function;                      \
  name:                                       \
  jmp *older_##name@GOTPCREL(%rip);           \
  .size name, . - name;
#include "deploy/bazel/glibc/moved.inc"
#undef MOVED

  .section .note.GNU-stack, "", @progbits
