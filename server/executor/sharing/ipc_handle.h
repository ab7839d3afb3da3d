// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_EXECUTOR_SHARING_IPC_HANDLE_H_
#define HOLDFAST_SERVER_EXECUTOR_SHARING_IPC_HANDLE_H_

#include <unistd.h>

#include <optional>

#include "core/base/memfd.h"

namespace holdfast::executor {

// Returns the bytes of an IPC handle (CUipcMemHandle, CUipcEventHandle) if
// `descriptor` is a sealed memfd with nothing else in it. A handle is sent in a
// descriptor because only a process on this machine can send one.
template <typename Handle>
std::optional<Handle> ReadIpcHandle(int descriptor) {
  Handle handle;
  char more = 0;
  if (!IsSealed(descriptor) ||
      pread(descriptor, &handle, sizeof handle, 0) != sizeof handle ||
      pread(descriptor, &more, 1, sizeof handle) != 0) {
    return std::nullopt;
  }
  return handle;
}

}  // namespace holdfast::executor

#endif  // HOLDFAST_SERVER_EXECUTOR_SHARING_IPC_HANDLE_H_
