// SPDX-License-Identifier: Apache-2.0
//
// The containers of PTX for a device that runs PTX itself.
#ifndef HOLDFAST_CORE_CUDA_CONTAINER_H_
#define HOLDFAST_CORE_CUDA_CONTAINER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "cuda.h"

namespace holdfast::cuda {

// Returns the PTX of an image: PTX text (terminated by zero); a fat binary (the
// decompressed PTX for the highest architecture up to `arch`, such as 90); or a
// linked image (all its modules). Refuses a cubin with
// CUDA_ERROR_NO_BINARY_FOR_GPU, and a log that names what to compile instead;
// an ELF file of the host with CUDA_ERROR_INVALID_IMAGE.
//
// `size` is the limit of the bytes to read; kUnknownSize if it is not known.
inline constexpr size_t kUnknownSize = SIZE_MAX;
CUresult ReadContainer(const void* image, size_t size, uint32_t arch,
                       std::vector<std::string>* modules, std::string* log);

// Returns the PTX of a linker's input. The input is an image as above, PTX text
// without a zero, or a host object, of which the PTX of each fat binary is
// taken. The toolkit's device runtime (libcudadevrt) is left out, since a
// device that runs PTX has its functions for grids itself.
// CUDA_ERROR_INVALID_IMAGE: the object has no code for a GPU.
CUresult ReadLinkInput(const std::string& input, uint32_t arch,
                       std::vector<std::string>* modules, std::string* log);

// Returns the image of cuLinkComplete. For one module it is the PTX with a
// zero, which programs may store and load with any driver. For several modules
// it is an image that only the software driver can load.
std::string WriteLinkedImage(const std::vector<std::string>& modules);

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_CONTAINER_H_
