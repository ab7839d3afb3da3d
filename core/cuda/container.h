// SPDX-License-Identifier: Apache-2.0
//
// The forms in which PTX reaches a device that runs PTX itself.
#ifndef HOLDFAST_CORE_CUDA_CONTAINER_H_
#define HOLDFAST_CORE_CUDA_CONTAINER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "cuda.h"

namespace holdfast::cuda {

// Takes the PTX out of an image: PTX text (terminated by zero), a fat binary
// (of its entries the PTX of the highest architecture up to `arch`, such as 90,
// decompressed), or a linked image (all its modules). A cubin is refused with
// CUDA_ERROR_NO_BINARY_FOR_GPU and a log that says what to compile instead.
//
// `size` bounds what is read, for callers that know it; kUnknownSize otherwise.
inline constexpr size_t kUnknownSize = SIZE_MAX;
CUresult ReadContainer(const void* image, size_t size, uint32_t arch,
                       std::vector<std::string>* modules, std::string* log);

// Takes the PTX out of an input of a linker, which is one of these, its text
// without a zero, or an object of the host: of that, the PTX of each fat binary
// that has some. CUDA_ERROR_INVALID_IMAGE: the object has no code for a GPU.
CUresult ReadLinkInput(const std::string& input, uint32_t arch,
                       std::vector<std::string>* modules, std::string* log);

// Returns the image that cuLinkComplete hands out: of one module its PTX with
// the zero, which programs may keep in a file and load with any other driver;
// of several an image that the software driver alone knows.
std::string WriteLinkedImage(const std::vector<std::string>& modules);

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_CONTAINER_H_
