// SPDX-License-Identifier: Apache-2.0
//
// Sessions as the supervisor sees them, and what they share: the test sends the
// messages of their executors, honest and not.
//
//   maker_->Make(1, Memory(kSize));                 // s-1 has chunk 1
//   const auto token = maker_->Export(1);
//   const auto answer = reader_->Import(*token);    // by s-2
#ifndef HOLDFAST_TESTS_SERVER_HOLDINGS_SESSION_MEMORY_FIXTURE_H_
#define HOLDFAST_TESTS_SERVER_HOLDINGS_SESSION_MEMORY_FIXTURE_H_

#include <fcntl.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/unique_fd.h"
#include "gtest/gtest.h"
#include "holdfast/internal/executor.pb.h"
#include "holdfast/v1/sharing_commands.pb.h"
#include "server/collections/collection_table.h"
#include "server/holdings/session_memory.h"
#include "server/memory/device_memory.h"
#include "server/memory/memory_ledger.h"
#include "server/sharing/export_registry.h"
#include "server/tenants/tenant.h"

namespace holdfast::testing {

inline constexpr uint64_t kMiB = uint64_t{1} << 20;
inline constexpr uint64_t kSize = 2 * kMiB;  // of a chunk

// The place of memory on device 0.
internal::MemoryPlace Device0();

// Memory of a chunk: on the software device, a memfd that cannot shrink.
UniqueFd Memory(uint64_t size, int seals = F_SEAL_SHRINK);

// One session, with the calls of its executor.
struct TestSession {
  TestSession(MemoryLedger& ledger, ExportRegistry& exports,
              collections::CollectionTable& collections, DeviceMemory& memory,
              const std::string& id, const std::string& tenant);

  // Reserves a chunk, and hands its memory over.
  void Make(uint64_t chunk, UniqueFd fd, uint64_t size = kSize);
  // As an executor frees a chunk of kSize.
  void Free(uint64_t chunk);
  // As the supervisor does when the process is gone.
  void End();

  // Tokens and imports.
  absl::StatusOr<std::string> Export(uint64_t chunk, uint64_t offset = 0,
                                     uint64_t size = kSize,
                                     v1::Rights rights = v1::RIGHTS_READ);
  SessionMemory::Answer Import(const std::string& token,
                               v1::HandleKind kind = v1::HANDLE_KIND_BUFFER);
  // A token with which a process outside Holdfast maps what was imported.
  absl::StatusOr<std::string> ExportImport(
      uint64_t import, uint64_t offset = 0, uint64_t size = kSize,
      v1::ForeignHandle foreign = v1::FOREIGN_HANDLE_POSIX_DESCRIPTOR);

  // Collections. Commits chunks of kSize, and imports.
  absl::Status Commit(uint64_t chunk, const std::string& name);
  absl::Status Commit(const std::vector<uint64_t>& chunks,
                      const std::vector<uint64_t>& imports,
                      const std::string& name);
  // Returns the import's number; 0: it was refused.
  uint64_t OpenCollection(const std::string& name, uint32_t buffer = 0);
  // As an executor that has mapped all buffers of the version.
  void Read(uint64_t import);
  SessionMemory::Answer Sleep(uint64_t import);
  SessionMemory::Answer Wake(uint64_t import, const std::string& name,
                             uint64_t version = 0);

  // Events. The page of one, its words, or the error.
  absl::StatusOr<UniqueFd> EventPage(uint64_t chunk);
  absl::StatusOr<UniqueFd> ImportedEventPage(uint64_t import);
  absl::StatusOr<UniqueFd> AbandonedEvent(uint64_t import);
  absl::StatusOr<std::string> ExportEvent(uint64_t chunk,
                                          v1::Rights rights = v1::RIGHTS_READ);

  MemoryGrants grants;
  SessionMemory held;
  std::shared_ptr<Tenant> payer;

 private:
  absl::StatusOr<std::string> AskToken(const internal::SharingRequest& request);
  absl::StatusOr<UniqueFd> AskFd(const internal::SharingRequest& request);
};

// Two sessions of one tenant on a device of 256 MiB.
class SessionMemoryTest : public ::testing::Test {
 protected:
  SessionMemoryTest();
  std::unique_ptr<TestSession> Open(const std::string& id,
                                    const std::string& tenant = "uid 1000");

  // Bytes that the ledger has reserved; those of them whose owner has ended.
  uint64_t Reserved() const;
  uint64_t Orphaned() const;

  // Versions go with their last readers.
  void UntilUnreferenced(const std::string& name);
  // The readers of the only version.
  std::vector<std::string> Readers() const;
  // The record of the reader's import, as the next daemon would find it.
  static bool IsKeptAsleep(uint64_t import);
  // Takes the version's only chunk off its device and brings it back.
  void SuspendAndResume(const std::string& name);

  MemoryLedger ledger_{0};
  DeviceMemory memory_;
  collections::CollectionTable collections_;
  ExportRegistry exports_;
  std::unique_ptr<TestSession> maker_ = Open("s-1"), reader_ = Open("s-2");
};

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_SERVER_HOLDINGS_SESSION_MEMORY_FIXTURE_H_
