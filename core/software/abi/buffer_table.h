// SPDX-License-Identifier: Apache-2.0
//
// The buffers that kernels may access in memcheck mode, byte by byte. The mode
// is off unless Enable() was called: then there is no table, and generated code
// checks the window alone (window.h).
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

// The buffers, and the areas that they lie in. Addresses outside of all areas
// are not checked: local and shared memory, parameters, the heap of device
// code, and arenas. Thread-safe.
class BufferTable {
 public:
  // Starts the mode for the process: the device window becomes an area.
  // REQUIRES: no kernel was compiled and no device memory handed out before.
  static void Enable();
  // Returns the table, which lives as long as the process; null: the mode is
  // off.
  static BufferTable* Get();

  // Every byte of an area belongs to a buffer, or must not be accessed.
  void AddArea(uint64_t begin, uint64_t size);
  // Ends an area, and forgets the buffers in it.
  void ForgetArea(uint64_t begin);

  // Adds a buffer, or a variable if `name` is not empty. Older buffers in the
  // same bytes have been freed. Returns its id.
  uint64_t Add(uint64_t begin, uint64_t size, std::string name);
  // Marks a buffer as freed; the report of a later access names it. Does
  // nothing if the id is not that of the buffer that begins there.
  void Remove(uint64_t begin, uint64_t id);

  // Do the same as Add and Remove for a part that the program has cut out of a
  // buffer. From the first part on, only parts of the buffer may be accessed.
  // RemovePart does nothing if no part begins there.
  void AddPart(uint64_t begin, uint64_t size);
  void RemovePart(uint64_t begin);

  // Returns the buffer, part or memory outside of all areas that contains
  // `address`; nullopt: the address must not be accessed.
  std::optional<BufferSpan> Find(uint64_t address) const;

  // Returns text that says where an access of `bytes` bytes lies, and follows
  // its address: ", 4 bytes behind the end of the buffer of 16 bytes at 0x...".
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
  // Forgets the oldest freed buffer when there are many.
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

// A buffer's entry in the table, which ends with this object.
class BufferEntry {
 public:
  // Returns null if the mode is off, or if the bytes lie in no area of device
  // memory.
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
