// SPDX-License-Identifier: Apache-2.0
//
// Copies and fills between any two addresses of a program.
#ifndef HOLDFAST_CLIENT_CUDA_COPY_H_
#define HOLDFAST_CLIENT_CUDA_COPY_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/cuda/context.h"
#include "client/cuda/memory_map.h"

namespace holdfast::libcuda {

// One end of a copy: the memory that begins at an address. The memory is memory
// of the session, or ordinary memory of this process. A value type, which keeps
// the session's allocation alive.
class Operand {
 public:
  // Returns the session's memory at the address; ordinary memory if the session
  // has none there.
  static Operand At(const MemoryMap& memory, uint64_t address);
  // Accepts device memory and pinned memory. INVALID_ARGUMENT: the session has
  // neither at the address.
  static absl::StatusOr<Operand> OnDevice(const MemoryMap& memory,
                                          uint64_t address);

  bool is_ordinary() const {
    return allocation_ == nullptr || !allocation_->has_place();
  }
  bool is_device() const {
    return allocation_ != nullptr && !allocation_->is_host();
  }
  // REQUIRES: !is_ordinary().
  Place place() const {
    return allocation_->At(address_ - allocation_->address);
  }
  // REQUIRES: is_device().
  const Buffer& buffer() const { return *allocation_->buffer; }
  uint64_t offset() const { return address_ - allocation_->address; }
  Operand Plus(uint64_t bytes) const {
    return Operand(allocation_, address_ + bytes);
  }
  // REQUIRES: !is_device().
  char* data() const { return reinterpret_cast<char*>(address_); }

 private:
  Operand(std::shared_ptr<Allocation> allocation, uint64_t address)
      : allocation_(std::move(allocation)), address_(address) {}

  std::shared_ptr<Allocation> allocation_;
  uint64_t address_;
};

// Copies in the stream's order. With ordinary memory, blocks until the source
// may be reused, or the destination is filled. Does not wait if both ends are
// memory of the session.
absl::Status CopyBytes(const Operand& destination, const Operand& source,
                       uint64_t size, const holdfast::Stream& stream);

// The distances in bytes from one row, and from one slice, to the next.
struct Pitches {
  uint64_t row = 0;
  uint64_t slice = 0;
};
// The shape of a copy of three dimensions: `width` bytes in a row, `height`
// rows in a slice, `depth` slices, and the distances at both ends.
struct BoxCopy {
  uint64_t width = 0;
  uint64_t height = 1;
  uint64_t depth = 1;
  Pitches destination = {};
  Pitches source = {};
};
// Returns the same box as one row, if neither end has gaps between its rows and
// slices; otherwise returns `box`.
BoxCopy Merged(BoxCopy box);
// Copies a box, as CopyBytes does.
absl::Status CopyBoxes(const BoxCopy& box, const Operand& destination,
                       const Operand& source, const holdfast::Stream& stream);

}  // namespace holdfast::libcuda

#endif  // HOLDFAST_CLIENT_CUDA_COPY_H_
