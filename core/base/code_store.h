// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_BASE_CODE_STORE_H_
#define HOLDFAST_CORE_BASE_CODE_STORE_H_

#include <cstddef>

namespace holdfast {

// Functions by which a program stores the machine code that the software driver
// generates, in place of the driver's own folder: an executor cannot open
// files, and its supervisor stores the code of each owner separately. They use
// C types, because the program and the driver share no others.
struct CodeStore {
  void* context = nullptr;
  // Calls append(sink, bytes, size) once with the object stored under `key`, 64
  // hexadecimal digits. Does not call it if there is no object.
  void (*load)(void* context, const char* key,
               void (*append)(void* sink, const char* bytes, size_t size),
               void* sink) = nullptr;
  void (*store)(void* context, const char* key, const char* bytes,
                size_t size) = nullptr;
};

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_CODE_STORE_H_
