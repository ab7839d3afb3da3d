// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_SHARING_EXPORT_H_
#define HOLDFAST_CLIENT_CPP_SHARING_EXPORT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/cpp/state/resource.h"

namespace holdfast {

// The access that an importer gets; the device enforces it.
enum class Rights { kRead, kReadWrite };

// The options of an export. The daemon checks them during the export.
struct ExportOptions {
  Rights rights = Rights::kRead;
  // The range of a buffer that importers get, in bytes; size 0: to the end. The
  // range protects nothing: kernels of importers can access the whole buffer.
  uint64_t offset = 0;
  uint64_t size = 0;
  // The session that may redeem the token ("s-7"); empty: any session.
  std::string session_id = {};
  // The tenant whose sessions may redeem the token ("team-a", "uid 1000");
  // empty: any tenant.
  std::string tenant = {};
  // The time for which the token can be redeemed; at most 24 hours.
  absl::Duration lifetime = absl::Seconds(60);
  // The number of times that the token may be redeemed.
  uint32_t max_imports = 1;
  // Allows the export of a buffer that was not made by Device::AllocateShared.
  // Such a buffer is a part of a larger piece of device memory. Kernels of
  // importers can access the whole piece, with other buffers of this session.
  bool with_neighbours = false;
};

// Makes a token of 16 bytes with which another session imports the resource.
// Waits. The token alone gives access: treat it as a secret.
// FAILED_PRECONDITION: the resource cannot be exported. OUT_OF_RANGE: the range
// is beyond the end of the buffer.
absl::StatusOr<std::string> ExportResource(const Resource& resource,
                                           const ExportOptions& options);

// An exported buffer or semaphore, for a process on the daemon's machine with
// its own CUDA context: see LocalMapping. Valid for one mapping. Treat it as a
// secret, because it contains the token.
struct LocalExport {
  std::string token;    // 16 bytes
  std::string address;  // "unix:/path" of the daemon's descriptor socket
  // The exported range in the mapping, in bytes.
  uint64_t offset = 0;
  uint64_t size = 0;
  // Bytes of the whole mapping; the exported range lies within it.
  uint64_t mapped_size = 0;
  bool read_only = true;
};

// A buffer that a process outside Holdfast opens with cuIpcOpenMemHandle.
struct IpcExport {
  std::string handle;  // 64 bytes
  // The range in the memory that the handle opens, in bytes.
  uint64_t offset = 0;
  uint64_t size = 0;
  uint64_t mapped_size = 0;
};

// Exports a buffer or a semaphore to a process of the daemon's machine. Waits.
// REQUIRES: `options.session_id` and `options.tenant` are empty.
absl::StatusOr<LocalExport> ExportLocally(const Resource& resource,
                                          const ExportOptions& options);

// An export whose token is revoked, without waiting, when this object is
// destroyed. Thread-safe.
class ScopedExport {
 public:
  // Exports the resource, and fails, as ExportResource does.
  static absl::StatusOr<std::unique_ptr<ScopedExport>> Create(
      const Resource& resource, const ExportOptions& options);
  ~ScopedExport();
  ScopedExport(const ScopedExport&) = delete;
  ScopedExport& operator=(const ScopedExport&) = delete;

  const std::string& token() const { return token_; }

 private:
  ScopedExport(std::shared_ptr<SessionState> session, std::string token)
      : session_(std::move(session)), token_(std::move(token)) {}

  const std::shared_ptr<SessionState> session_;
  const std::string token_;
};

// Revokes a token of this session, so that it cannot be redeemed any more.
// Present imports stay. Waits.
absl::Status RevokeExport(SessionState& session, absl::string_view token);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_SHARING_EXPORT_H_
