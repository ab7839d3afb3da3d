// SPDX-License-Identifier: Apache-2.0
#include "client/cuda/copy.h"

#include <cstring>
#include <string>
#include <utility>

#include "client/cpp/box_copy.h"
#include "client/cpp/device.h"
#include "client/cpp/place.h"
#include "core/base/status_macros.h"

namespace holdfast::libcuda {
namespace {

Box SizeOf(const BoxCopy& box) {
  return {.width = box.width, .height = box.height, .depth = box.depth};
}

// Copies the box between `rows`, its rows with gaps in this process, and a
// string without gaps.
void Gather(const BoxCopy& box, const char* rows, const Pitches& pitches,
            std::string& dense) {
  for (uint64_t z = 0; z < box.depth; ++z) {
    for (uint64_t y = 0; y < box.height; ++y) {
      dense.append(rows + z * pitches.slice + y * pitches.row, box.width);
    }
  }
}
void Scatter(const BoxCopy& box, const std::string& dense,
             const Pitches& pitches, char* rows) {
  const char* from = dense.data();
  for (uint64_t z = 0; z < box.depth; ++z) {
    for (uint64_t y = 0; y < box.height; ++y, from += box.width) {
      std::memcpy(rows + z * pitches.slice + y * pitches.row, from, box.width);
    }
  }
}

// Between a device and ordinary memory: the rows travel together, and the
// device puts them in their places, or takes them from there.
absl::Status Upload(const BoxCopy& box, const Operand& destination,
                    const char* rows, const holdfast::Stream& stream) {
  std::string dense;
  Gather(box, rows, box.source, dense);
  HOLDFAST_ASSIGN_OR_RETURN(
      const Buffer staged,
      Device(stream.session(), stream.device()).Allocate(dense.size(), stream));
  HOLDFAST_RETURN_IF_ERROR(staged.Upload(dense, stream));
  return CopyBox(SizeOf(box),
                 {destination.buffer(), destination.offset(),
                  box.destination.row, box.destination.slice},
                 {staged}, stream);
}
absl::Status Download(const BoxCopy& box, char* rows, const Operand& source,
                      const holdfast::Stream& stream) {
  std::string dense(box.width * box.height * box.depth, '\0');
  HOLDFAST_ASSIGN_OR_RETURN(
      const Buffer staged,
      Device(stream.session(), stream.device()).Allocate(dense.size(), stream));
  HOLDFAST_RETURN_IF_ERROR(CopyBox(
      SizeOf(box), {staged},
      {source.buffer(), source.offset(), box.source.row, box.source.slice},
      stream));
  HOLDFAST_RETURN_IF_ERROR(staged.Download(dense, stream));
  Scatter(box, dense, box.destination, rows);
  return absl::OkStatus();
}

}  // namespace

BoxCopy Merged(BoxCopy box) {
  const auto dense = [&](const Pitches& pitches) {
    return pitches.row == box.width || box.height == 1;
  };
  if (!dense(box.destination) || !dense(box.source)) return box;
  const uint64_t slice = box.width * box.height;
  if (box.depth > 1 &&
      (box.destination.slice != slice || box.source.slice != slice)) {
    return box;
  }
  box.width = slice * box.depth;
  box.height = box.depth = 1;
  return box;
}

Operand Operand::At(const MemoryMap& memory, uint64_t address) {
  return Operand(memory.Find(address), address);
}

absl::StatusOr<Operand> Operand::OnDevice(const MemoryMap& memory,
                                          uint64_t address) {
  std::shared_ptr<Allocation> found = memory.Find(address);
  if (found == nullptr || !found->has_place()) {
    return absl::InvalidArgumentError("no memory of a device at the address");
  }
  return Operand(std::move(found), address);
}

absl::Status CopyBytes(const Operand& destination, const Operand& source,
                       uint64_t size, const holdfast::Stream& stream) {
  if (size == 0) return absl::OkStatus();
  if (!destination.is_ordinary() && !source.is_ordinary()) {
    return Copy(destination.place(), source.place(), size, stream);
  }
  if (destination.is_device()) {
    return destination.buffer().Upload(source.data(), size, stream,
                                       destination.offset());
  }
  if (source.is_device()) {
    return source.buffer().Download(destination.data(), size, stream,
                                    source.offset());
  }
  // Both are memory of this process.
  HOLDFAST_RETURN_IF_ERROR(stream.Synchronize());
  std::memmove(destination.data(), source.data(), size);
  return absl::OkStatus();
}

absl::Status CopyBoxes(const BoxCopy& given, const Operand& destination,
                       const Operand& source, const holdfast::Stream& stream) {
  const BoxCopy box = Merged(given);
  if (box.height == 1 && box.depth == 1) {
    return CopyBytes(destination, source, box.width, stream);
  }
  if (destination.is_device() && source.is_device()) {
    return CopyBox(
        SizeOf(box),
        {destination.buffer(), destination.offset(), box.destination.row,
         box.destination.slice},
        {source.buffer(), source.offset(), box.source.row, box.source.slice},
        stream);
  }
  if (destination.is_device() && source.is_ordinary()) {
    return Upload(box, destination, source.data(), stream);
  }
  if (destination.is_ordinary() && source.is_device()) {
    return Download(box, destination.data(), source, stream);
  }
  // With pinned memory a row is a command, for which nothing waits.
  for (uint64_t z = 0; z < box.depth; ++z) {
    for (uint64_t y = 0; y < box.height; ++y) {
      HOLDFAST_RETURN_IF_ERROR(CopyBytes(
          destination.Plus(z * box.destination.slice + y * box.destination.row),
          source.Plus(z * box.source.slice + y * box.source.row), box.width,
          stream));
    }
  }
  return absl::OkStatus();
}

}  // namespace holdfast::libcuda
