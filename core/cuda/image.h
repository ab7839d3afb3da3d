// SPDX-License-Identifier: Apache-2.0
//
// cuLibraryLoadData takes a pointer without a length and reads as far as the
// image's own headers say. Images come from clients, so their headers are
// checked against the bytes that are really there, first.
#ifndef HOLDFAST_CORE_CUDA_IMAGE_H_
#define HOLDFAST_CORE_CUDA_IMAGE_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace holdfast::cuda {

enum class ImageFormat { kPtx, kCubin, kFatbin };

// INVALID_ARGUMENT with CUDA_ERROR_INVALID_IMAGE: neither, or truncated.
absl::StatusOr<ImageFormat> CheckImage(absl::string_view image);

// May a kernel of the image call printf? Never false for one that does, if the
// image is one that CheckImage takes.
bool MayPrint(absl::string_view image);

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_IMAGE_H_
