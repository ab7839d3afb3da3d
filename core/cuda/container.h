// SPDX-License-Identifier: Apache-2.0
//
// Reads and writes the containers of PTX, for a device that runs PTX itself.
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

// Sets *modules to the PTX modules of an image. The image is one of:
// - PTX text, which a zero or `size` ends
// - a fat binary, of which the result is the decompressed PTX for the highest
//   architecture up to `arch`, such as 90
// - a linked image of WriteLinkedImage, of which the result is all its modules.
//
// At most `size` bytes of the image are read; kUnknownSize: the headers of the
// image are trusted. On failure, *log has the reason.
// CUDA_ERROR_NO_BINARY_FOR_GPU: the image is a cubin or a fat binary without
// PTX (*log then says how to compile it), or a damaged fat binary.
// CUDA_ERROR_INVALID_IMAGE: the image is an ELF file of the host, a damaged
// linked image, or, if `size` is known, a wrapper that points to a fat binary.
inline constexpr size_t kUnknownSize = SIZE_MAX;
CUresult ReadContainer(const void* image, size_t size, uint32_t arch,
                       std::vector<std::string>* modules, std::string* log);

// The maximum of the decompressed bytes of all parts of a fat binary.
inline constexpr size_t kMaxFatbinBytes = size_t{4} << 30;

// The result of VisitFatbinParts.
enum class FatbinState {
  kWhole,
  kDamaged,   // a header is wrong, or a part cannot be decompressed
  kTooLarge,  // a part or the whole exceeds a limit
};

// Calls `visit` with each part of a fat binary, decompressed: PTX and cubins.
// Visits no part if a compressed part has more than kMaxDecompressed bytes, if
// all parts together have more than kMaxFatbinBytes, or if a header is wrong.
// Stops before a part that cannot be decompressed. The fat binary is untrusted.
FatbinState VisitFatbinParts(
    absl::string_view fatbin,
    absl::FunctionRef<void(absl::string_view part)> visit);

// Sets *modules to the PTX modules of a linker's input: an image as above, PTX
// text without a zero, or a host object. From a host object, takes the PTX of
// each fat binary. Leaves out the toolkit's device runtime (libcudadevrt),
// since a device that runs PTX itself has that library's functions for grids.
// Fails as ReadContainer does. CUDA_ERROR_INVALID_IMAGE also: a host object has
// no code for a GPU.
CUresult ReadLinkInput(const std::string& input, uint32_t arch,
                       std::vector<std::string>* modules, std::string* log);

// Returns the image of cuLinkComplete. For one module, the image is the PTX and
// a zero, which programs may store and load with any driver. For several
// modules, it is a linked image, which only the software driver can load.
std::string WriteLinkedImage(const std::vector<std::string>& modules);

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_CONTAINER_H_
