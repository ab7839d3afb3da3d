// SPDX-License-Identifier: Apache-2.0
//
// Formats of the elements of arrays and textures.
#ifndef HOLDFAST_CLIENT_CUDART_CHANNEL_FORMAT_H_
#define HOLDFAST_CLIENT_CUDART_CHANNEL_FORMAT_H_

#include <cstddef>

#include "cuda.h"
#include "driver_types.h"

namespace holdfast::libcudart {

// Converts a channel description to the driver's form, for formats whose
// channels are integers or floats of one size. Returns false for other formats.
bool ToArrayFormat(const cudaChannelFormatDesc& description,
                   CUarray_format* format, unsigned* channels);

// Converts the driver's form to a channel description. Its kind is
// cudaChannelFormatKindNone if ToArrayFormat never returns this format.
cudaChannelFormatDesc FromArrayFormat(CUarray_format format, unsigned channels);

// Returns the bytes of one channel; 1 if ToArrayFormat never returns this
// format.
size_t BytesOf(CUarray_format format);

}  // namespace holdfast::libcudart

#endif  // HOLDFAST_CLIENT_CUDART_CHANNEL_FORMAT_H_
