// SPDX-License-Identifier: Apache-2.0
#include "client/cudart/channel_format.h"

namespace holdfast::libcudart {
namespace {

struct Format {
  CUarray_format format;
  cudaChannelFormatKind kind;
  int bits;
};

constexpr Format kFormats[] = {
    {CU_AD_FORMAT_UNSIGNED_INT8, cudaChannelFormatKindUnsigned, 8},
    {CU_AD_FORMAT_UNSIGNED_INT16, cudaChannelFormatKindUnsigned, 16},
    {CU_AD_FORMAT_UNSIGNED_INT32, cudaChannelFormatKindUnsigned, 32},
    {CU_AD_FORMAT_SIGNED_INT8, cudaChannelFormatKindSigned, 8},
    {CU_AD_FORMAT_SIGNED_INT16, cudaChannelFormatKindSigned, 16},
    {CU_AD_FORMAT_SIGNED_INT32, cudaChannelFormatKindSigned, 32},
    {CU_AD_FORMAT_HALF, cudaChannelFormatKindFloat, 16},
    {CU_AD_FORMAT_FLOAT, cudaChannelFormatKindFloat, 32},
};

}  // namespace

bool ToArrayFormat(const cudaChannelFormatDesc& description,
                   CUarray_format* format, unsigned* channels) {
  const int bits[] = {description.x, description.y, description.z,
                      description.w};
  *channels = 0;
  for (const int channel : bits) {
    if (channel == 0) break;
    if (channel != description.x) return false;
    ++*channels;
  }
  for (const Format& known : kFormats) {
    if (known.kind == description.f && known.bits == description.x) {
      *format = known.format;
      return *channels == 1 || *channels == 2 || *channels == 4;
    }
  }
  return false;
}

cudaChannelFormatDesc FromArrayFormat(CUarray_format format,
                                      unsigned channels) {
  for (const Format& known : kFormats) {
    if (known.format == format) {
      return {known.bits, channels > 1 ? known.bits : 0,
              channels > 2 ? known.bits : 0, channels > 3 ? known.bits : 0,
              known.kind};
    }
  }
  return {0, 0, 0, 0, cudaChannelFormatKindNone};
}

size_t BytesOf(CUarray_format format) {
  const int bits = FromArrayFormat(format, 1).x;
  return bits == 0 ? 1 : static_cast<size_t>(bits) / 8;
}

}  // namespace holdfast::libcudart
