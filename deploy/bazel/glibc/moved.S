// SPDX-License-Identifier: Apache-2.0
//
// The distribution's archives were compiled for the newest versions of these
// functions. Here each name is a jump to the older version, whose address the
// loader finds. A jump leaves no frame, so dlopen and dlsym see their real
// caller. The names are hidden, as hidden.h says.

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
