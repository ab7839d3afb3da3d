// SPDX-License-Identifier: Apache-2.0
//
// Two functions of std::exception_ptr that libstdc++ 11 has made public
// (CXXABI_1.3.13). They call the copy constructor and the destructor, which
// every version offers. They are weak, as in library.cc: the static C++ library
// defines all four in one object.
#include "deploy/bazel/glibc/hidden.h"

extern "C" {

void holdfast_older_copy(void* copy, const void* original) __asm__(
    "_ZNSt15__exception_ptr13exception_ptrC1ERKS0_");
void holdfast_older_destroy(void* pointer) __asm__(
    "_ZNSt15__exception_ptr13exception_ptrD1Ev");

HOLDFAST_OLDER __attribute__((weak)) void holdfast_older_addref(
    void* pointer) __asm__("_ZNSt15__exception_ptr13exception_ptr9_M_addrefEv");
HOLDFAST_OLDER __attribute__((weak)) void
holdfast_older_release(void* pointer) __asm__(
    "_ZNSt15__exception_ptr13exception_ptr10_M_"
    "releaseEv");

// The copy is not destroyed: its reference stays.
void holdfast_older_addref(void* pointer) {
  void* copy = nullptr;
  holdfast_older_copy(&copy, pointer);
}

// Leaves null in the pointer, as _M_release does.
void holdfast_older_release(void* pointer) { holdfast_older_destroy(pointer); }

}  // extern "C"
