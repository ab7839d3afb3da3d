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
#include "client/cpp/resource.h"

namespace holdfast {

// The access that an importer gets; the device enforces it.
enum class Rights { kRead, kReadWrite };

// Checked by the daemon: its errors come from the call that exports.
struct ExportOptions {
  Rights rights = Rights::kRead;
  // The range of a buffer that importers get, in bytes; size 0: to the end.
  uint64_t offset = 0;
  uint64_t size = 0;
  // Session that may redeem it ("s-7"); empty: any session of the daemon.
  std::string session_id = {};
  // Tenant whose sessions may redeem it ("team-a", "uid 1000"); empty: any.
  std::string tenant = {};
  // At most 24 hours.
  absl::Duration lifetime = absl::Seconds(60);
  // How often it may be redeemed.
  uint32_t max_imports = 1;
  // Allows a buffer that was not made by Device::AllocateShared: kernels of
  // importers then reach its chunk, with other buffers of this session.
  bool with_neighbours = false;
};

// Makes a token of 16 bytes with which another session imports the resource.
// Blocks until it is made. The token alone gives access: pass it on as a
// secret. FAILED_PRECONDITION: the resource is not of a kind that can be
// exported. OUT_OF_RANGE: the range is not in it.
absl::StatusOr<std::string> ExportResource(const Resource& resource,
                                           const ExportOptions& options);

// Exported memory or a semaphore of a session, named for a process of the
// daemon's machine that has a CUDA context of its own: see LocalMapping. Good
// for one mapping; a secret, as the token is.
struct LocalExport {
  std::string token;    // 16 bytes
  std::string address;  // "unix:/path", where the descriptor is taken
  // The exported range in what is mapped, in bytes.
  uint64_t offset = 0;
  uint64_t size = 0;
  // Bytes of the whole mapping; the exported range lies within it.
  uint64_t mapped_size = 0;
  bool read_only = true;
};

// A resource that a process outside Holdfast opens with cuIpcOpenMemHandle.
struct IpcExport {
  std::string handle;  // 64 bytes
  // The bytes in what the handle opens.
  uint64_t offset = 0;
  uint64_t size = 0;
  uint64_t mapped_size = 0;
};

// Waits. `options.session_id` and `options.tenant` have to be empty.
absl::StatusOr<LocalExport> ExportLocally(const Resource& resource,
                                          const ExportOptions& options);

// An export that ends with this object: its token is then revoked, without
// waiting. Thread-safe.
class ScopedExport {
 public:
  // As ExportResource.
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

// From now on the token cannot be redeemed; what was imported stays. Waits.
absl::Status RevokeExport(SessionState& session, absl::string_view token);

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_SHARING_EXPORT_H_
