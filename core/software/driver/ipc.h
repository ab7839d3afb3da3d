// SPDX-License-Identifier: Apache-2.0
//
// Handles that other processes of the user can open. A handle names a process
// and one of its memfds; /proc hands the memfd over to whoever may look into
// that process, and everything in a handle is checked, since it may come from
// anywhere.
//
// An application sends the 64 bytes to another process by any way it likes;
// cuIpcOpenMemHandle or cuIpcOpenEventHandle turns them into a mapping there.
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
  // Tells what may be opened with it; a memory's handle opens no event.
  enum class Kind : uint32_t { kMemory = 1, kEvent = 2, kPoolPointer = 3 };
  uint32_t magic = 0;
  Kind kind = Kind::kMemory;
  // The process id, and the number of the memfd in that process.
  int32_t process = 0;
  int32_t descriptor = 0;
  uint64_t offset = 0;  // of the pages in the memfd
  uint64_t pages = 0;   // bytes, whole pages
  uint64_t start = 0;   // of the allocation in its pages
  uint64_t size = 0;
  uint64_t unused[2] = {0, 0};

  // With the magic number and this process; the caller fills in the rest.
  static IpcHandle Make(Kind kind);
  // False unless it is a handle of this kind with sizes that fit together.
  bool Valid(Kind expected) const;
};
static_assert(sizeof(IpcHandle) == sizeof(CUipcMemHandle));
static_assert(sizeof(IpcHandle) == sizeof(CUipcEventHandle));
static_assert(sizeof(IpcHandle) == sizeof(CUmemPoolPtrExportData));

// The memfd that a handle names, if it has `name`, cannot shrink and is of at
// least `size` bytes; an invalid one otherwise. Opens the link in /proc, which
// the kernel allows to the same user.
UniqueFd OpenMemfd(int process, int descriptor, const char* name, size_t size);

// The same checks for a descriptor that came by another way. Where /proc is not
// to be had, its seals alone tell.
bool IsMemfd(int fd, const char* name, size_t size);

// The progress of an event that several processes see: how often it was
// recorded, and up to which of these recordings work is done. Thread-safe, and
// across processes.
class SharedProgress {
 public:
  // Null: the system has no memory for it.
  static std::shared_ptr<SharedProgress> Create();
  // Null unless the handle names the progress of an event.
  static std::shared_ptr<SharedProgress> Open(const IpcHandle& handle);
  ~SharedProgress();

  // For a process that may look into this one; valid as long as this object.
  IpcHandle handle() const;

  uint64_t Record();  // the number of this recording
  // Never goes back: a later recording reaches all before it.
  void Reach(uint64_t recording);
  uint64_t recorded() const { return page_->recorded.load(); }
  bool Reached(uint64_t recording) const {
    return page_->reached.load() >= recording;
  }
  // Polls. Returns as well when a kernel has faulted, or the process that
  // recorded last is gone: it would never be reached.
  void Wait(uint64_t recording) const;

 private:
  struct Page {
    std::atomic<uint64_t> recorded;
    std::atomic<uint64_t> reached;
    std::atomic<int32_t> recorder;  // process
  };

  SharedProgress(UniqueFd fd, Page* page) : fd_(std::move(fd)), page_(page) {}
  static std::shared_ptr<SharedProgress> Map(UniqueFd fd);

  const UniqueFd fd_;
  Page* const page_;
};

}  // namespace holdfast::software

#endif  // HOLDFAST_CORE_SOFTWARE_DRIVER_IPC_H_
