// SPDX-License-Identifier: Apache-2.0
//
// No object of this library is destroyed when the process exits. Threads of
// streams run until the process has ended, and one that compiles a kernel then
// read options of LLVM that the exit had destroyed: one in 30 programs that
// ended without waiting for a new kernel crashed.
//
// Calls of this library, LLVM among it, register destructors of global objects,
// and functions of atexit, by this function instead of the C library's, which
// has the same name. It is not exported, so that the program's own objects are
// destroyed as always. The library is never unloaded (-z nodelete), and the
// memory goes with the process.
extern "C" int __cxa_atexit(void (* /*destroy*/)(void*), void* /*object*/,
                            void* /*library*/) noexcept {
  return 0;
}
