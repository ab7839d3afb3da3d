// SPDX-License-Identifier: Apache-2.0
//
// Entry points: linking.
#include <fstream>
#include <iterator>
#include <string>

#include "client/cuda/api/call.h"

using namespace holdfast::libcuda;

namespace {

template <typename Body>
CUresult WithLinker(CUlinkState handle, Body body) {
  return WithObjects([&](Process& process) -> CUresult {
    const auto state = process.links.Find(handle);
    return state == nullptr
               ? CUDA_ERROR_INVALID_HANDLE
               : Answer(body(process.connection().session().daemon(), *state));
  });
}

}  // namespace

extern "C" {

CUresult cuLinkCreate_v2(unsigned count, CUjit_option* options, void** values,
                         CUlinkState* state) {
  return WithContext([&](Process& process, Context&) {
    if (state == nullptr) return CUDA_ERROR_INVALID_VALUE;
    JitOptions jit;
    const CUresult result = JitOptions::Parse(count, options, values, &jit);
    if (result != CUDA_SUCCESS) return result;
    *state = process.links.Add(
        std::make_shared<LinkState>(jit, process.connection().is_software()));
    return CUDA_SUCCESS;
  });
}

CUresult cuLinkAddData_v2(CUlinkState handle, CUjitInputType type, void* data,
                          size_t size, const char* name, unsigned count,
                          CUjit_option* options, void** values) {
  return WithLinker(handle, [&](holdfast::Daemon& daemon, LinkState& state) {
    if (data == nullptr || size == 0) return CUDA_ERROR_INVALID_VALUE;
    JitOptions jit;
    const CUresult result = JitOptions::Parse(count, options, values, &jit);
    if (result != CUDA_SUCCESS) return result;
    return Answer(state.Add(daemon, type,
                            {static_cast<const char*>(data), size},
                            name == nullptr ? "" : name, jit));
  });
}

CUresult cuLinkAddFile_v2(CUlinkState handle, CUjitInputType type,
                          const char* path, unsigned count,
                          CUjit_option* options, void** values) {
  return WithLinker(handle, [&](holdfast::Daemon& daemon, LinkState& state) {
    if (path == nullptr) return CUDA_ERROR_INVALID_VALUE;
    JitOptions jit;
    const CUresult result = JitOptions::Parse(count, options, values, &jit);
    if (result != CUDA_SUCCESS) return result;
    std::ifstream file(path, std::ios::binary);
    if (!file) return CUDA_ERROR_FILE_NOT_FOUND;
    const std::string content(std::istreambuf_iterator<char>(file), {});
    return Answer(state.Add(daemon, type, content, path, jit));
  });
}

CUresult cuLinkComplete(CUlinkState handle, void** image, size_t* size) {
  return WithLinker(
      handle, [&](holdfast::Daemon& daemon, LinkState& state) -> CUresult {
        if (image == nullptr) return CUDA_ERROR_INVALID_VALUE;
        HOLDFAST_ANSWER_OR_ASSIGN(const absl::string_view linked,
                                  state.Complete(daemon));
        *image = const_cast<char*>(linked.data());
        if (size != nullptr) *size = linked.size();
        return CUDA_SUCCESS;
      });
}

CUresult cuLinkDestroy(CUlinkState state) {
  return WithObjects([&](Process& process) {
    return process.links.Remove(state) == nullptr ? CUDA_ERROR_INVALID_HANDLE
                                                  : CUDA_SUCCESS;
  });
}

}  // extern "C"
