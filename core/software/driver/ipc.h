// SPDX-License-Identifier: Apache-2.0
//
// Handles of memory and events that other processes of the same user can open.
// A handle names a process and one memfd of the process. Another process opens
// the memfd through /proc/PROCESS/fd, if the kernel permits it. Handles are
// untrusted, so every field is checked.
//
// An application sends the 64 bytes of a handle to another process. The other
// process calls cuIpcOpenMemHandle or cuIpcOpenEventHandle, which maps the
// memory.
#ifndef HOLDFAST_CORE_SOFTWARE_DRIVER_IPC_H_
#define HOLDFAST_CORE_SOFTWARE_DRIVER_IPC_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/base/unique_fd.h"
#include "cuda.h"

namespace holdfast::software {

// The content of the 64 bytes of CUipcMemHandle, CUipcEventHandle and
// CUmemPoolPtrExportData. CUmemPoolPtrExportData does not use `process` and
// `descriptor`.
struct IpcHandle {
  // The type of the object.
  enum class Kind : uint32_t { kMemory = 1, kEvent = 2, kPoolPointer = 3 };
  uint32_t magic = 0;
  Kind kind = Kind::kMemory;
  // The process id, and the number of the memfd in that process.
  int32_t process = 0;
  int32_t descriptor = 0;
  // Numbers of bytes. `offset` and `pages` are multiples of the page size.
  uint64_t offset = 0;  // the offset of the pages in the memfd
  uint64_t pages = 0;   // the size of the pages
  uint64_t start = 0;   // the offset of the allocation in the pages
  uint64_t size = 0;    // the size of the allocation
  uint64_t unused[2] = {0, 0};

  // Returns a handle with the magic number and this process's id. The caller
  // sets the other fields.
  static IpcHandle Make(Kind kind);
  // Returns true if this is a handle of the kind `expected` with consistent
  // sizes.
  bool Valid(Kind expected) const;
};
static_assert(sizeof(IpcHandle) == sizeof(CUipcMemHandle));
static_assert(sizeof(IpcHandle) == sizeof(CUipcEventHandle));
static_assert(sizeof(IpcHandle) == sizeof(CUmemPoolPtrExportData));

// Opens the memfd `descriptor` of `process` through /proc, for reading and
// writing. Returns an invalid UniqueFd if that fails, or if IsMemfd returns
// false for the memfd.
UniqueFd OpenMemfd(int process, int descriptor, const char* name, size_t size);

// Returns true if `fd` is a memfd with this name that cannot shrink and has at
// least `size` bytes. Does not check the name if /proc is not available.
bool IsMemfd(int fd, const char* name, size_t size);

// The progress of an event, in memory that several processes share: the number
// of its recordings, and the number of the last recording whose work is done.
// All threads of all sharing processes may use it concurrently.
class SharedProgress {
 public:
  // Makes the progress of a new event, with no recordings. Returns null if the
  // system has no memory or no descriptor for it.
  static std::shared_ptr<SharedProgress> Create();
  // Maps the progress that a handle names. Returns null if the handle does not
  // name the progress of an event.
  static std::shared_ptr<SharedProgress> Open(const IpcHandle& handle);
  ~SharedProgress();

  // Returns a handle for other processes. It is valid as long as this object.
  IpcHandle handle() const;

  // Counts a recording, and returns its number, which is at least 1.
  uint64_t Record();
  // Records that the work of the recording, and of all earlier recordings, is
  // done.
  void Reach(uint64_t recording);
  uint64_t recorded() const { return page_->recorded.load(); }
  bool Reached(uint64_t recording) const {
    return page_->reached.load() >= recording;
  }
  // Blocks until the recording is reached: polls, with pauses of up to about a
  // millisecond. Also returns if a kernel of this process has faulted, or if
  // the process that made the last recording has ended, because the recording
  // would then never be reached.
  void Wait(uint64_t recording) const;

 private:
  struct Page {
    std::atomic<uint64_t> recorded;
    std::atomic<uint64_t> reached;
    std::atomic<int32_t> recorder;  // process id
  };

  SharedProgress(UniqueFd fd, Page* page) : fd_(std::move(fd)), page_(page) {}
  static std::shared_ptr<SharedProgress> Map(UniqueFd fd);

  const UniqueFd fd_;
  Page* const page_;
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_IPC_H_
