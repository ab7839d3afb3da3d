// SPDX-License-Identifier: Apache-2.0
//
// Handles of memory and events that other processes of the same user can open.
// A handle names a process and one of its memfds. The opening process opens the
// memfd through the named process's /proc folder, if the kernel permits it.
// Handles are untrusted, so every field is checked.
//
// An application sends the 64 bytes of a handle to another process, which calls
// cuIpcOpenMemHandle or cuIpcOpenEventHandle to map the memory.
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
// CUmemPoolPtrExportData (with neither process nor descriptor).
struct IpcHandle {
  // The type of the object; a handle of memory opens no event.
  enum class Kind : uint32_t { kMemory = 1, kEvent = 2, kPoolPointer = 3 };
  uint32_t magic = 0;
  Kind kind = Kind::kMemory;
  // The process id, and the number of the memfd in that process.
  int32_t process = 0;
  int32_t descriptor = 0;
  // In bytes. `offset` and `pages` are multiples of the page size.
  uint64_t offset = 0;  // of the pages in the memfd
  uint64_t pages = 0;   // the size of the pages
  uint64_t start = 0;   // of the allocation in its pages
  uint64_t size = 0;    // of the allocation
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

// Opens memfd `descriptor` of `process` through /proc, which the kernel allows
// to the same user. Returns an invalid UniqueFd if that fails, or if IsMemfd
// returns false for the memfd.
UniqueFd OpenMemfd(int process, int descriptor, const char* name, size_t size);

// Returns true if `fd` is a memfd with this name that cannot shrink and has at
// least `size` bytes. Does not check the name if /proc is not available.
bool IsMemfd(int fd, const char* name, size_t size);

// The progress of an event, in memory that several processes share: the number
// of its recordings, and the number of the last recording whose work is done.
// Safe for concurrent use by all threads of all these processes.
class SharedProgress {
 public:
  // Returns null if the system has no memory or descriptor for it.
  static std::shared_ptr<SharedProgress> Create();
  // Maps the progress that a handle names. Returns null if the handle does not
  // name the progress of an event.
  static std::shared_ptr<SharedProgress> Open(const IpcHandle& handle);
  ~SharedProgress();

  // Returns a handle for other processes, valid as long as this object.
  IpcHandle handle() const;

  uint64_t Record();  // counts a recording; returns its number, from 1
  // Notes that the work of this recording, and of all earlier ones, is done.
  void Reach(uint64_t recording);
  uint64_t recorded() const { return page_->recorded.load(); }
  bool Reached(uint64_t recording) const {
    return page_->reached.load() >= recording;
  }
  // Blocks until the recording is reached; polls. Also returns if a kernel of
  // this process has faulted, or if the process that recorded last has ended,
  // because the recording would never be reached.
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
