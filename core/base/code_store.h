// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_BASE_CODE_STORE_H_
#define HOLDFAST_CORE_BASE_CODE_STORE_H_

#include <cstddef>

namespace holdfast {

// Functions of a program that keeps the machine code that the software driver
// generates, instead of a folder of the driver's: an executor may open no file,
// and its supervisor keeps apart what different clients made. C types, since
// the program and the driver share no others.
struct CodeStore {
  void* context = nullptr;
  // Calls append(sink, bytes, size) once with the object kept under `key`, 64
  // hexadecimal digits; or does not, if there is none.
  void (*load)(void* context, const char* key,
               void (*append)(void* sink, const char* bytes, size_t size),
               void* sink) = nullptr;
  void (*store)(void* context, const char* key, const char* bytes,
                size_t size) = nullptr;
};

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_CODE_STORE_H_
