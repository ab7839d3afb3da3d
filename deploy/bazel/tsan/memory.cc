// SPDX-License-Identifier: Apache-2.0
#include <cstring>

extern "C" {

void __tsan_read_range(void* address, unsigned long bytes);
void __tsan_write_range(void* address, unsigned long bytes);

void* holdfast_tsan_memcpy(void* to, const void* from, size_t bytes) {
  __tsan_read_range(const_cast<void*>(from), bytes);
  __tsan_write_range(to, bytes);
  return std::memcpy(to, from, bytes);
}

void* holdfast_tsan_memmove(void* to, const void* from, size_t bytes) {
  __tsan_read_range(const_cast<void*>(from), bytes);
  __tsan_write_range(to, bytes);
  return std::memmove(to, from, bytes);
}

}  // extern "C"
