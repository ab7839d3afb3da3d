// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/local/local_mapping.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/cpp/local/local_context.h"
#include "client/cpp/local/local_driver.h"
#include "core/base/descriptor_socket.h"
#include "core/base/status_macros.h"
#include "core/base/unique_fd.h"

namespace holdfast {
namespace {

constexpr size_t kMaxAnswerBytes = 512;

// The descriptor that comes in answer to the token.
absl::StatusOr<UniqueFd> Redeem(int socket, const LocalExport& memory) {
  if (send(socket, memory.token.data(), memory.token.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(memory.token.size())) {
    return absl::ErrnoToStatus(errno, memory.address);
  }
  char answer[kMaxAnswerBytes];
  iovec part = {answer, sizeof answer};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header = {};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  const ssize_t size = recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
  if (size < 0) return absl::ErrnoToStatus(errno, memory.address);
  const cmsghdr* const item = CMSG_FIRSTHDR(&header);
  if (item != nullptr && item->cmsg_type == SCM_RIGHTS) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(item), sizeof fd);
    return UniqueFd(fd);
  }
  if (size == 0) return absl::UnavailableError("the daemon has hung up");
  return absl::FailedPreconditionError(absl::StrCat(
      "the daemon at ", memory.address, " did not hand the memory over: ",
      absl::string_view(answer, static_cast<size_t>(size))));
}

}  // namespace

// In the order in which it is made; ~State takes it down in the other.
struct LocalMapping::State {
  ~State();
  // Has the daemon hand over what `memory` names, and maps it; at `base`, once
  // that is reserved.
  absl::Status Acquire();
  absl::Status Import(const UniqueFd& descriptor);
  absl::Status MapHandle();
  // Undoes Acquire(), but for the addresses.
  absl::Status Release();

  LocalExport memory;
  LocalMappingOptions options;
  LocalDriver driver;
  UniqueFd lease;  // the daemon counts the memory until this closes
  std::optional<LocalContext> context;
  CUmemGenericAllocationHandle handle = 0;
  bool imported = false;
  CUdeviceptr base = 0;
  bool mapped = false;
};

absl::Status LocalMapping::State::Acquire() {
  HOLDFAST_ASSIGN_OR_RETURN(
      lease, ConnectToDescriptorSocket(
                 std::string(absl::StripPrefix(memory.address, "unix:"))));
  HOLDFAST_ASSIGN_OR_RETURN(const UniqueFd descriptor,
                            Redeem(lease.get(), memory));
  return Import(descriptor);
}

absl::Status LocalMapping::State::Import(const UniqueFd& descriptor) {
  if (!context.has_value()) {
    HOLDFAST_ASSIGN_OR_RETURN(LocalContext retained,
                              LocalContext::Retain(driver, options.device));
    context.emplace(std::move(retained));
  }
  const ScopedLocalContext current(driver, *context);
  HOLDFAST_RETURN_IF_ERROR(current.status());
  HOLDFAST_RETURN_IF_ERROR(
      driver.CheckImport(driver.cuMemImportFromShareableHandle(
          &handle,
          reinterpret_cast<void*>(static_cast<intptr_t>(descriptor.get())),
          CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)));
  imported = true;
  if (base == 0) {
    HOLDFAST_RETURN_IF_ERROR(driver.Check(
        driver.cuMemAddressReserve(&base, memory.mapped_size, 0, 0, 0),
        "cuMemAddressReserve"));
  }
  return MapHandle();
}

absl::Status LocalMapping::State::MapHandle() {
  HOLDFAST_RETURN_IF_ERROR(driver.Check(
      driver.cuMemMap(base, memory.mapped_size, 0, handle, 0), "cuMemMap"));
  mapped = true;
  CUmemAccessDesc access = {};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.location.id = context->device();
  access.flags = memory.read_only ? CU_MEM_ACCESS_FLAGS_PROT_READ
                                  : CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return driver.Check(
      driver.cuMemSetAccess(base, memory.mapped_size, &access, 1),
      "cuMemSetAccess");
}

absl::Status LocalMapping::State::Release() {
  absl::Status status;
  if (context.has_value()) {
    const ScopedLocalContext current(driver, *context);
    HOLDFAST_RETURN_IF_ERROR(current.status());
    if (std::exchange(mapped, false)) {
      status.Update(driver.Check(driver.cuMemUnmap(base, memory.mapped_size),
                                 "cuMemUnmap"));
    }
    if (std::exchange(imported, false)) {
      status.Update(driver.Check(driver.cuMemRelease(handle), "cuMemRelease"));
    }
  }
  lease.Reset();
  return status;
}

LocalMapping::State::~State() {
  Release().IgnoreError();
  if (base == 0) return;
  const ScopedLocalContext current(driver, *context);
  driver.cuMemAddressFree(base, memory.mapped_size);
}

absl::StatusOr<std::unique_ptr<LocalMapping>> LocalMapping::Map(
    const LocalExport& memory, const LocalMappingOptions& options) {
  if (memory.offset > memory.mapped_size ||
      memory.size > memory.mapped_size - memory.offset) {
    return absl::InvalidArgumentError(
        absl::StrCat(memory.size, " bytes at ", memory.offset,
                     " of a mapping of ", memory.mapped_size));
  }
  auto state = std::make_unique<State>();
  state->memory = memory;
  state->options = options;
  HOLDFAST_ASSIGN_OR_RETURN(state->driver, LocalDriver::Load(options.driver));
  HOLDFAST_RETURN_IF_ERROR(state->Acquire());
  return std::unique_ptr<LocalMapping>(new LocalMapping(std::move(state)));
}

LocalMapping::LocalMapping(std::unique_ptr<State> state)
    : state_(std::move(state)) {}
LocalMapping::~LocalMapping() = default;

uint64_t LocalMapping::pointer() const {
  return state_->base + state_->memory.offset;
}
uint64_t LocalMapping::size() const { return state_->memory.size; }
bool LocalMapping::asleep() const { return !state_->mapped; }

absl::Status LocalMapping::Sleep() { return state_->Release(); }

absl::Status LocalMapping::Wake(const LocalExport& memory) {
  const LocalExport& old = state_->memory;
  if (!asleep()) {
    return absl::FailedPreconditionError("the mapping is awake");
  }
  if (memory.mapped_size != old.mapped_size || memory.offset != old.offset ||
      memory.size != old.size) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the memory has moved: ", memory.size, " bytes at ", memory.offset,
        " of ", memory.mapped_size, ", the mapping was of ", old.size,
        " bytes at ", old.offset, " of ", old.mapped_size, "; map it anew"));
  }
  state_->memory = memory;
  absl::Status status = state_->Acquire();
  if (!status.ok()) state_->Release().IgnoreError();
  return status;
}

}  // namespace holdfast
