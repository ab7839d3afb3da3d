// SPDX-License-Identifier: Apache-2.0
//
// Functions of the C++ library above GLIBCXX_3.4.28, for libraries that are
// linked with the shared C++ library. They are weak: if the static C++ library
// is linked in, its definitions come first.
#include <new>

#include "deploy/bazel/glibc/hidden.h"

namespace std {

// GLIBCXX_3.4.29.
HOLDFAST_OLDER __attribute__((weak)) void __throw_bad_array_new_length() {
  throw bad_array_new_length();
}

}  // namespace std

extern "C" {

// GLIBCXX_3.4.29: std::string::reserve(), a request to give memory back that
// a string is free to refuse.
HOLDFAST_OLDER __attribute__((weak)) void holdfast_older_reserve(void*) __asm__(
    "_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE7reserveEv");
void holdfast_older_reserve(void*) {}

}  // extern "C"
