// SPDX-License-Identifier: Apache-2.0
//
// Entry points: linking.
#include <fstream>
#include <iterator>
#include <string>

#include "core/software/driver/call.h"
#include "core/software/driver/linker.h"

using namespace holdfast::software;

namespace {

template <typename Body>
CUresult WithLinker(CUlinkState state, Body body) {
  return WithObjects([&](Driver& driver) -> CUresult {
    const std::shared_ptr<Linker> linker = driver.linkers.Find(state);
    return linker == nullptr ? CUDA_ERROR_INVALID_HANDLE : body(*linker);
  });
}

}  // namespace

extern "C" {

CUresult cuLinkCreate_v2(unsigned count, CUjit_option* options, void** values,
                         CUlinkState* state) {
  return WithContext([&](Driver& driver, Context&) {
    if (state == nullptr) return CUDA_ERROR_INVALID_VALUE;
    JitOptions jit;
    const CUresult result = JitOptions::Parse(count, options, values, &jit);
    if (result != CUDA_SUCCESS) return result;
    *state = driver.linkers.Add(std::make_shared<Linker>(jit));
    return CUDA_SUCCESS;
  });
}

CUresult cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void* data,
                          size_t size, const char* name, unsigned count,
                          CUjit_option* options, void** values) {
  return WithLinker(state, [&](Linker& linker) {
    JitOptions jit;
    const CUresult result = JitOptions::Parse(count, options, values, &jit);
    if (result != CUDA_SUCCESS) return result;
    return linker.Add(type, data, size, name == nullptr ? "" : name,
                      jit.limits());
  });
}

CUresult cuLinkAddFile_v2(CUlinkState state, CUjitInputType type,
                          const char* path, unsigned count,
                          CUjit_option* options, void** values) {
  return WithLinker(state, [&](Linker& linker) {
    if (path == nullptr) return CUDA_ERROR_INVALID_VALUE;
    JitOptions jit;
    const CUresult result = JitOptions::Parse(count, options, values, &jit);
    if (result != CUDA_SUCCESS) return result;
    std::ifstream file(path, std::ios::binary);
    if (!file) return CUDA_ERROR_FILE_NOT_FOUND;
    const std::string content(std::istreambuf_iterator<char>(file), {});
    return linker.Add(type, content.data(), content.size(), path, jit.limits());
  });
}

CUresult cuLinkComplete(CUlinkState state, void** image, size_t* size) {
  return WithLinker(state, [&](Linker& linker) {
    return image == nullptr ? CUDA_ERROR_INVALID_VALUE
                            : linker.Complete(image, size);
  });
}

CUresult cuLinkDestroy(CUlinkState state) {
  return WithObjects([&](Driver& driver) {
    return driver.linkers.Remove(state) == nullptr ? CUDA_ERROR_INVALID_HANDLE
                                                   : CUDA_SUCCESS;
  });
}

}  // extern "C"
