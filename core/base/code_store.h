// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_BASE_CODE_STORE_H_
#define HOLDFAST_CORE_BASE_CODE_STORE_H_

#include <cstddef>

namespace holdfast {

// Functions by which a program stores the machine code that the software driver
// generates. The driver calls them instead of writing files to a folder of its
// own: an executor cannot open files, and its supervisor stores the code of
// each session's owner separately. The functions use C types, because the
// program and the driver share no other types. Any thread may call them,
// several at a time.
struct CodeStore {
  void* context = nullptr;  // the first argument of both functions
  // Calls append(sink, bytes, size) once with the object stored under `key`,
  // which has 64 hexadecimal digits and ends with a zero. Does not call it if
  // there is no object.
  void (*load)(void* context, const char* key,
               void (*append)(void* sink, const char* bytes, size_t size),
               void* sink) = nullptr;
  // Stores the object of `size` bytes under `key`. Reports no error.
  void (*store)(void* context, const char* key, const char* bytes,
                size_t size) = nullptr;
};

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_CODE_STORE_H_
