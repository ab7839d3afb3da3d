// SPDX-License-Identifier: Apache-2.0
//
// Code that a program hands to the driver by a pointer without a length.
#ifndef HOLDFAST_CLIENT_CUDA_IMAGE_H_
#define HOLDFAST_CLIENT_CUDA_IMAGE_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "holdfast/v1/objects.pb.h"

namespace holdfast::libcuda {

// Borrowed bytes and their format.
struct Image {
  absl::string_view bytes;
  v1::ObjectFormat format = v1::OBJECT_FORMAT_UNSPECIFIED;
};

// Reads the length out of the image: PTX ends with a zero byte; a cubin and a
// fat binary, also in the wrapper that nvcc puts around it, tell their size in
// their headers. INVALID_ARGUMENT:
// null. CUDA_ERROR_INVALID_IMAGE: text that is no PTX, or an ELF file that
// is no cubin.
absl::StatusOr<Image> ImageOf(const void* image);

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_IMAGE_H_
