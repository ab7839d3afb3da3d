// SPDX-License-Identifier: Apache-2.0
//
// Checks images of device code. cuLibraryLoadData gets a pointer without a
// length, and reads as many bytes as the image's headers claim. Images come
// from clients, so their headers are first checked against their actual size.
#ifndef HOLDFAST_CORE_CUDA_IMAGE_H_
#define HOLDFAST_CORE_CUDA_IMAGE_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace holdfast::cuda {

enum class ImageFormat { kPtx, kCubin, kFatbin };

// Returns the format of an image. INVALID_ARGUMENT, with the result
// CUDA_ERROR_INVALID_IMAGE in the ErrorDetail: the image has another format, or
// is truncated.
absl::StatusOr<ImageFormat> CheckImage(absl::string_view image);

// Returns true if a kernel of the image may call printf. Never returns false
// for an image with such a kernel. REQUIRES: CheckImage accepts the image.
bool MayPrint(absl::string_view image);

}  // namespace holdfast::cuda

#endif  // HOLDFAST_CORE_CUDA_IMAGE_H_
