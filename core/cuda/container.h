// SPDX-License-Identifier: Apache-2.0
//
// The containers of PTX for a device that runs PTX itself.
#ifndef HOLDFAST_CORE_CUDA_CONTAINER_H_
#define HOLDFAST_CORE_CUDA_CONTAINER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "cuda.h"

namespace holdfast::cuda {

// Returns the PTX of an image: PTX text (terminated by zero); a fat binary (the
// decompressed PTX for the highest architecture up to `arch`, such as 90); or a
// linked image (all its modules). CUDA_ERROR_NO_BINARY_FOR_GPU: the image is a
// cubin; *log then names what to compile instead.
// CUDA_ERROR_INVALID_IMAGE: the image is an ELF file of the host.
//
// `size` is the limit of the bytes to read; kUnknownSize if it is not known.
inline constexpr size_t kUnknownSize = SIZE_MAX;
CUresult ReadContainer(const void* image, size_t size, uint32_t arch,
                       std::vector<std::string>* modules, std::string* log);

// The most bytes of all parts of a fat binary, decompressed.
inline constexpr size_t kMaxFatbinBytes = size_t{4} << 30;

// The state in which VisitFatbinParts has found a fat binary.
enum class FatbinState {
  kWhole,
  kDamaged,   // a part cannot be read, or is no part
  kTooLarge,  // for the limits below
};

// Calls `visit` with each part of a fat binary, decompressed: PTX, and cubins.
// Visits no part if one has more than kMaxDecompressed bytes or all together
// have more than kMaxFatbinBytes, and none after a damaged one.
FatbinState VisitFatbinParts(
    absl::string_view fatbin,
    absl::FunctionRef<void(absl::string_view part)> visit);

// Returns the PTX of a linker's input. The input is an image as above, PTX text
// without a zero, or a host object. From a host object, takes the PTX of each
// fat binary. Leaves out the toolkit's device runtime (libcudadevrt), since a
// device that runs PTX itself has that library's functions for grids.
// CUDA_ERROR_INVALID_IMAGE: the object has no code for a GPU.
CUresult ReadLinkInput(const std::string& input, uint32_t arch,
                       std::vector<std::string>* modules, std::string* log);

// Returns the image of cuLinkComplete. For one module it is the PTX with a
// zero, which programs may store and load with any driver. For several modules
// it is an image that only the software driver can load.
std::string WriteLinkedImage(const std::vector<std::string>& modules);

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_CONTAINER_H_
