// SPDX-License-Identifier: Apache-2.0
//
// Exports of buffers, events and semaphores, by tokens.
#ifndef HOLDFAST_CLIENT_PYTHON_NATIVE_SHARING_H_
#define HOLDFAST_CLIENT_PYTHON_NATIVE_SHARING_H_

#include "client/python/native/argument.h"
#include "client/python/native/native.h"

namespace holdfast::python {

// Implements a Python method with the arguments writable, offset, size,
// session, lifetime, imports and tenant, which returns the token.
template <typename H,
          hf_error* (*kExport)(const H*, const hf_export_options*, uint8_t*)>
hf_error* Export(const H* resource, bool writable, uint64_t offset,
                 uint64_t size, const char* session, double lifetime,
                 uint32_t imports, const char* tenant, Token* token) {
  hf_export_options options = HF_EXPORT_OPTIONS_INIT;
  options.writable = writable;
  options.offset = offset;
  options.size = size;
  options.session_id = session;
  options.lifetime = lifetime;
  options.max_imports = imports;
  options.tenant = tenant;
  return kExport(resource, &options, token->bytes);
}

}  // namespace holdfast::python

#endif  // HOLDFAST_CLIENT_PYTHON_NATIVE_SHARING_H_
