// SPDX-License-Identifier: Apache-2.0
//
// Code that a program passes to the driver by a pointer without a length.
#ifndef HOLDFAST_CLIENT_CUDA_IMAGE_H_
#define HOLDFAST_CLIENT_CUDA_IMAGE_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "holdfast/v1/objects.pb.h"

namespace holdfast::libcuda {

// The bytes of an image, which the program owns, and their format.
struct Image {
  absl::string_view bytes;
  v1::ObjectFormat format = v1::OBJECT_FORMAT_UNSPECIFIED;
};

// Finds the format and the length of an image. PTX ends with a zero byte. The
// headers of a cubin and of a fat binary, with or without nvcc's wrapper, have
// the size. Returns the fat binary without the wrapper. INVALID_ARGUMENT: the
// pointer is null. CUDA_ERROR_INVALID_IMAGE: the image is text but not PTX, or
// ELF but not a cubin.
absl::StatusOr<Image> ImageOf(const void* image);

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_IMAGE_H_
