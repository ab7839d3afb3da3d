// SPDX-License-Identifier: Apache-2.0
#include "core/cuda/box.h"

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/cuda/copy.h"
#include "core/cuda/result.h"
#include "core/cuda/scoped_context.h"

namespace holdfast::cuda {
namespace {

std::string Describe(const Box& box) {
  return absl::StrCat("a box of ", box.width, " bytes x ", box.height,
                      " rows x ", box.depth, " slices");
}

absl::Status Refuse(const Box& box, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(Describe(box), ": ", why));
}

// (count - 1) * pitch added to `*sum`; false: it overflows.
bool AddSteps(uint64_t count, uint64_t pitch, uint64_t* sum) {
  uint64_t steps = 0;
  return !__builtin_mul_overflow(count - 1, pitch, &steps) &&
         !__builtin_add_overflow(*sum, steps, sum);
}

// Do two boxes share rows, where the one begins `rows` rows after the other?
bool SharesRows(const Box& box, const Pitches& pitches, uint64_t rows) {
  const uint64_t rows_a_slice = pitches.slice / pitches.row;
  const uint64_t slices = rows / rows_a_slice;
  const uint64_t rest = rows % rows_a_slice;
  return (slices < box.depth && rest < box.height) ||
         (slices + 1 < box.depth && rows_a_slice - rest < box.height);
}

// Both boxes have these pitches; the one begins `distance` bytes after the
// other.
bool Interleaved(const Box& box, const Pitches& pitches, uint64_t distance) {
  const uint64_t rows = distance / pitches.row;
  const uint64_t rest = distance % pitches.row;
  if (rest < box.width && SharesRows(box, pitches, rows)) return false;
  return pitches.row - rest >= box.width || !SharesRows(box, pitches, rows + 1);
}

template <typename Copy>
Copy DescribeAs(const Box& box, const BoxPlace& destination,
                const BoxPlace& source) {
  Copy copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_UNIFIED;
  copy.srcDevice = source.address;
  copy.srcPitch = source.pitches.row;
  copy.srcHeight = source.pitches.slice / source.pitches.row;
  copy.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  copy.dstDevice = destination.address;
  copy.dstPitch = destination.pitches.row;
  copy.dstHeight = destination.pitches.slice / destination.pitches.row;
  copy.WidthInBytes = box.width;
  copy.Height = box.height;
  copy.Depth = box.depth;
  return copy;
}

}  // namespace

absl::StatusOr<Pitches> CompletePitches(const Box& box, Pitches pitches) {
  if (box.width == 0 || box.height == 0 || box.depth == 0) {
    return Refuse(box, "each has to be at least 1");
  }
  if (pitches.row == 0) pitches.row = box.width;
  if (pitches.row < box.width) {
    return Refuse(box, absl::StrCat("with a row pitch of ", pitches.row,
                                    " bytes its rows overlap"));
  }
  uint64_t slice = 0;
  if (__builtin_mul_overflow(box.height, pitches.row, &slice)) {
    return absl::OutOfRangeError(
        absl::StrCat(Describe(box), ", rows ", pitches.row,
                     " bytes apart: there are not as many addresses"));
  }
  if (pitches.slice == 0) pitches.slice = slice;
  if (pitches.slice < slice) {
    return Refuse(box, absl::StrCat("with a slice pitch of ", pitches.slice,
                                    " bytes its slices overlap"));
  }
  if (pitches.slice % pitches.row != 0) {
    return Refuse(box, absl::StrCat("a slice pitch of ", pitches.slice,
                                    " bytes is not a whole number of rows of ",
                                    pitches.row, " bytes"));
  }
  return pitches;
}

absl::StatusOr<uint64_t> BoxExtent(const Box& box, const Pitches& pitches) {
  uint64_t extent = box.width;
  if (AddSteps(box.height, pitches.row, &extent) &&
      AddSteps(box.depth, pitches.slice, &extent)) {
    return extent;
  }
  return absl::OutOfRangeError(absl::StrCat(
      Describe(box), ", rows ", pitches.row, " and slices ", pitches.slice,
      " bytes apart: there are not as many addresses"));
}

absl::Status CheckApart(const Box& box, CUdeviceptr a, const Pitches& a_pitches,
                        CUdeviceptr b, const Pitches& b_pitches) {
  if (a > b) return CheckApart(box, b, b_pitches, a, a_pitches);
  HOLDFAST_ASSIGN_OR_RETURN(const uint64_t extent, BoxExtent(box, a_pitches));
  const uint64_t distance = b - a;
  if (distance >= extent) return absl::OkStatus();
  if (a_pitches.row != b_pitches.row || a_pitches.slice != b_pitches.slice) {
    return Refuse(box,
                  "source and destination lie in each other and have "
                  "different pitches");
  }
  if (Interleaved(box, a_pitches, distance)) return absl::OkStatus();
  return Refuse(box, "source and destination overlap");
}

CUDA_MEMCPY3D DescribeCopy(const Box& box, const BoxPlace& destination,
                           const BoxPlace& source) {
  return DescribeAs<CUDA_MEMCPY3D>(box, destination, source);
}

absl::Status CheckFill(const Box& box, CUdeviceptr destination,
                       const Pitches& pitches, uint32_t pattern,
                       uint32_t pattern_bytes) {
  const bool one_row = box.height == 1 || pitches.row == box.width;
  HOLDFAST_RETURN_IF_ERROR(
      CheckPattern(destination, pattern, pattern_bytes,
                   one_row ? box.width * box.height : box.width));
  if (one_row || pitches.row % pattern_bytes == 0) return absl::OkStatus();
  return Refuse(box, absl::StrCat("a row pitch of ", pitches.row,
                                  " bytes is not a multiple of the pattern's ",
                                  pattern_bytes));
}

absl::Status CopyBoxAsync(const Stream& stream, const Box& box,
                          const BoxPlace& destination, const BoxPlace& source) {
  const DriverApi& api = stream.context().api();
  ScopedContext current(stream.context());
  HOLDFAST_RETURN_IF_ERROR(current.status());
  if (destination.context == source.context) {
    HOLDFAST_CUDA_REQUIRE(api, cuMemcpy3DAsync);
    const auto copy = DescribeCopy(box, destination, source);
    HOLDFAST_CUDA_RETURN_IF_ERROR(api, cuMemcpy3DAsync(&copy, stream.handle()));
    return absl::OkStatus();
  }
  HOLDFAST_CUDA_REQUIRE(api, cuMemcpy3DPeerAsync);
  auto copy = DescribeAs<CUDA_MEMCPY3D_PEER>(box, destination, source);
  copy.srcContext = source.context->handle();
  copy.dstContext = destination.context->handle();
  HOLDFAST_CUDA_RETURN_IF_ERROR(api,
                                cuMemcpy3DPeerAsync(&copy, stream.handle()));
  return absl::OkStatus();
}

absl::Status FillBoxAsync(const Stream& stream, const Box& box,
                          CUdeviceptr destination, const Pitches& pitches,
                          uint32_t pattern, uint32_t pattern_bytes) {
  // One row, or rows without gaps, are a plain fill.
  if (box.height == 1 || pitches.row == box.width) {
    return FillAsync(stream, destination, pattern, pattern_bytes,
                     box.width * box.height);
  }
  HOLDFAST_RETURN_IF_ERROR(
      CheckFill(box, destination, pitches, pattern, pattern_bytes));
  const DriverApi& api = stream.context().api();
  ScopedContext current(stream.context());
  HOLDFAST_RETURN_IF_ERROR(current.status());
  const uint64_t elements = box.width / pattern_bytes;
  switch (pattern_bytes) {
    case 1:
      HOLDFAST_CUDA_REQUIRE(api, cuMemsetD2D8Async);
      HOLDFAST_CUDA_RETURN_IF_ERROR(
          api, cuMemsetD2D8Async(destination, pitches.row,
                                 static_cast<uint8_t>(pattern), elements,
                                 box.height, stream.handle()));
      break;
    case 2:
      HOLDFAST_CUDA_REQUIRE(api, cuMemsetD2D16Async);
      HOLDFAST_CUDA_RETURN_IF_ERROR(
          api, cuMemsetD2D16Async(destination, pitches.row,
                                  static_cast<uint16_t>(pattern), elements,
                                  box.height, stream.handle()));
      break;
    default:
      HOLDFAST_CUDA_REQUIRE(api, cuMemsetD2D32Async);
      HOLDFAST_CUDA_RETURN_IF_ERROR(
          api, cuMemsetD2D32Async(destination, pitches.row, pattern, elements,
                                  box.height, stream.handle()));
  }
  return absl::OkStatus();
}

}  // namespace holdfast::cuda
