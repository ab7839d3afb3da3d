// SPDX-License-Identifier: Apache-2.0
#include "core/software/driver/ipc.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/software/abi/address_space.h"
#include "core/software/driver/fault.h"

namespace holdfast::software {
namespace {

constexpr uint32_t kMagic = 0x63706948;  // "Hipc"
constexpr char kEventName[] = "holdfast-event";

}  // namespace

IpcHandle IpcHandle::Make(Kind kind) {
  IpcHandle handle;
  handle.magic = kMagic;
  handle.kind = kind;
  handle.process = getpid();
  return handle;
}

bool IpcHandle::Valid(Kind expected) const {
  return magic == kMagic && kind == expected && offset % kPageSize == 0 &&
         pages % kPageSize == 0 && pages > 0 && offset <= SIZE_MAX - pages &&
         start <= pages && size <= pages - start;
}

bool IsMemfd(int fd, const char* name, size_t size) {
  char link[256];
  const std::string path = absl::StrCat("/proc/self/fd/", fd);
  const ssize_t length = readlink(path.c_str(), link, sizeof(link));
  // A confined process has no /proc; there, seals alone tell what it is.
  const absl::string_view target(
      link, length > 0 ? static_cast<size_t>(length) : size_t{0});
  const bool named =
      length > 0 ? absl::StartsWith(target, absl::StrCat("/memfd:", name, " "))
                 : errno == ENOENT || errno == EACCES || errno == EPERM;
  struct stat status;
  const int seals = fcntl(fd, F_GET_SEALS);
  // A file that its owner can shrink would turn our reads into SIGBUS.
  return named && seals >= 0 && (seals & F_SEAL_SHRINK) != 0 &&
         fstat(fd, &status) == 0 &&
         static_cast<uint64_t>(status.st_size) >= size;
}

UniqueFd OpenMemfd(int process, int descriptor, const char* name, size_t size) {
  const std::string path = absl::StrCat("/proc/", process, "/fd/", descriptor);
  // Not blocking: the link may lead to a pipe or a terminal.
  UniqueFd fd(open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd.valid() || !IsMemfd(fd.get(), name, size)) return UniqueFd();
  return fd;
}

std::shared_ptr<SharedProgress> SharedProgress::Map(UniqueFd fd) {
  void* page =
      mmap(nullptr, kPageSize, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (page == MAP_FAILED) return nullptr;
  return std::shared_ptr<SharedProgress>(
      new SharedProgress(std::move(fd), static_cast<Page*>(page)));
}

std::shared_ptr<SharedProgress> SharedProgress::Create() {
  UniqueFd fd(memfd_create(kEventName, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid() || ftruncate(fd.get(), kPageSize) != 0 ||
      fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) !=
          0) {
    return nullptr;
  }
  return Map(std::move(fd));
}

std::shared_ptr<SharedProgress> SharedProgress::Open(const IpcHandle& handle) {
  if (!handle.Valid(IpcHandle::Kind::kEvent)) return nullptr;
  UniqueFd fd =
      OpenMemfd(handle.process, handle.descriptor, kEventName, kPageSize);
  return fd.valid() ? Map(std::move(fd)) : nullptr;
}

SharedProgress::~SharedProgress() { munmap(page_, kPageSize); }

IpcHandle SharedProgress::handle() const {
  IpcHandle handle = IpcHandle::Make(IpcHandle::Kind::kEvent);
  handle.descriptor = fd_.get();
  handle.pages = handle.size = kPageSize;
  return handle;
}

uint64_t SharedProgress::Record() {
  page_->recorder = getpid();
  return ++page_->recorded;
}

void SharedProgress::Reach(uint64_t recording) {
  uint64_t reached = page_->reached;
  while (reached < recording &&
         !page_->reached.compare_exchange_weak(reached, recording)) {
  }
}

void SharedProgress::Wait(uint64_t recording) const {
  std::chrono::microseconds pause{2};
  while (!Reached(recording) && LastFault() == CUDA_SUCCESS) {
    const int recorder = page_->recorder;
    if (kill(recorder, 0) != 0 && errno == ESRCH) return;
    std::this_thread::sleep_for(pause);
    if (pause < std::chrono::milliseconds(1)) pause *= 2;
  }
}

}  // namespace holdfast::software
