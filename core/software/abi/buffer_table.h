// SPDX-License-Identifier: Apache-2.0
//
// The buffers that kernels may access in memcheck mode, in which the software
// driver checks each byte that a kernel accesses. The mode is off unless
// Enable() was called. If it is off, there is no table, and generated code
// checks only that accesses lie in the window (window.h).
#ifndef HOLDFAST_CORE_SOFTWARE_ABI_BUFFER_TABLE_H_
#define HOLDFAST_CORE_SOFTWARE_ABI_BUFFER_TABLE_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "core/software/abi/abi.h"
#include "core/software/base/mutex.h"

namespace holdfast::software {

// The buffers, and the areas in which they lie. Every byte of an area either
// belongs to a buffer or must not be accessed. Addresses outside of all areas
// are not checked: local and shared memory, parameters, the heap of device
// code, and arenas. Thread-safe.
class BufferTable {
 public:
  // Starts the mode for the process, and makes the device window an area.
  // REQUIRES: no kernel was compiled and no device memory allocated before.
  static void Enable();
  // Returns the table, which lives as long as the process; null: the mode is
  // off.
  static BufferTable* Get();

  // Adds an area without buffers.
  void AddArea(uint64_t begin, uint64_t size);
  // Removes the area that begins at `begin`, and the buffers in it.
  void ForgetArea(uint64_t begin);

  // Adds a buffer; if `name` is not empty, it is a variable with this name.
  // Removes older buffers in the same bytes, which were freed. Returns the
  // buffer's id.
  uint64_t Add(uint64_t begin, uint64_t size, std::string name);
  // Marks a buffer as freed; the report of a later access names it. Does
  // nothing if the id is not that of the buffer that begins there.
  void Remove(uint64_t begin, uint64_t id);

  // Add or remove a part, which is a buffer that the program has cut out of
  // another buffer. After the first AddPart for a buffer, only its parts may be
  // accessed. RemovePart does nothing if no part begins at `begin`.
  void AddPart(uint64_t begin, uint64_t size);
  void RemovePart(uint64_t begin);

  // Returns the range around `address` that may be accessed: a buffer, a part,
  // or memory outside of all areas. Returns nullopt if `address` must not be
  // accessed.
  std::optional<BufferSpan> Find(uint64_t address) const;

  // Returns the end of a message about an access of `bytes` bytes at `address`.
  // It says where the access lies: ", 4 bytes behind the end of the buffer of
  // 16 bytes at 0x...".
  std::string Describe(uint64_t address, uint64_t bytes) const;

 private:
  struct Buffer {
    uint64_t size = 0;
    uint64_t id = 0;
    std::string name;
    bool freed = false;
    bool divided = false;  // into parts
  };
  using Buffers = std::map<uint64_t, Buffer>;  // by the first byte

  struct Freed {
    bool part;
    uint64_t begin;
    uint64_t id;
  };
  struct Neighbours {
    const Buffers::value_type* before = nullptr;
    const Buffers::value_type* after = nullptr;
  };

  static void Forget(Buffers& buffers, uint64_t begin, uint64_t size);
  static std::string NameOf(const Buffers::value_type& buffer);
  static Neighbours NeighboursOf(const Buffers& buffers, uint64_t address);
  static const Buffers::value_type* Containing(const Buffers& buffers,
                                               uint64_t address);
  static std::string DescribeInside(const Buffers& buffers, uint64_t address,
                                    uint64_t bytes);
  std::string DescribeNearest(uint64_t address) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  // Records that a buffer or a part was freed. If there are too many, removes
  // the oldest.
  void NoteFreed(bool part, uint64_t begin, uint64_t id)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool InArea(uint64_t address) const ABSL_SHARED_LOCKS_REQUIRED(mutex_);
  BufferSpan BetweenAreas(uint64_t address) const
      ABSL_SHARED_LOCKS_REQUIRED(mutex_);

  mutable SharedMutex mutex_;
  std::map<uint64_t, uint64_t> areas_ ABSL_GUARDED_BY(mutex_);
  Buffers buffers_ ABSL_GUARDED_BY(mutex_);
  Buffers parts_ ABSL_GUARDED_BY(mutex_);
  std::deque<Freed> freed_ ABSL_GUARDED_BY(mutex_);
  uint64_t last_id_ ABSL_GUARDED_BY(mutex_) = 0;
};

// A buffer's entry in the table. The destructor marks the buffer as freed.
class BufferEntry {
 public:
  // Adds the buffer to the table. Returns null if the mode is off, or if
  // `begin` is not in the device window.
  static std::shared_ptr<const BufferEntry> Make(uint64_t begin, uint64_t size);
  ~BufferEntry();
  BufferEntry(const BufferEntry&) = delete;
  BufferEntry& operator=(const BufferEntry&) = delete;

 private:
  BufferEntry(uint64_t begin, uint64_t id) : begin_(begin), id_(id) {}

  const uint64_t begin_;
  const uint64_t id_;
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_ABI_BUFFER_TABLE_H_
