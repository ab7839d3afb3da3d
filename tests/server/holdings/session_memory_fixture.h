// SPDX-License-Identifier: Apache-2.0
//
// Sessions on the supervisor's side, with the memory that they share. The test
// takes the part of the executors: it sends their messages, valid and hostile.
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

// Returns the place of memory on device 0.
internal::MemoryPlace Device0();

// Returns the memory of a chunk as the software device makes it: a memfd that
// cannot shrink.
UniqueFd Memory(uint64_t size, int seals = F_SEAL_SHRINK);

// One session. The methods make the requests of its executor.
struct TestSession {
  TestSession(MemoryLedger& ledger, ExportRegistry& exports,
              collections::CollectionTable& collections, DeviceMemory& memory,
              const std::string& id, const std::string& tenant);

  // Reserves a chunk and passes its memory to the supervisor.
  void Make(uint64_t chunk, UniqueFd fd, uint64_t size = kSize);
  // Frees a chunk of kSize, as an executor does.
  void Free(uint64_t chunk);
  // Ends the session, as the supervisor does after the executor's end.
  void End();

  // Tokens and imports.
  absl::StatusOr<std::string> Export(uint64_t chunk, uint64_t offset = 0,
                                     uint64_t size = kSize,
                                     v1::Rights rights = v1::RIGHTS_READ);
  SessionMemory::Answer Import(const std::string& token,
                               v1::HandleKind kind = v1::HANDLE_KIND_BUFFER);
  // Returns a token with which a process outside of Holdfast maps the import.
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
  // Reports that the executor has mapped all buffers of the version.
  void Read(uint64_t import);
  // Sleep reports that the import is not mapped any more. Wake requests its
  // memory again.
  SessionMemory::Answer Sleep(uint64_t import);
  SessionMemory::Answer Wake(uint64_t import, const std::string& name,
                             uint64_t version = 0);

  // Events. Return the page of an event; AbandonedEvent returns the chunk of an
  // imported event whose session has ended.
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

  // Return the bytes that the ledger has reserved, and the part of them whose
  // session has ended.
  uint64_t Reserved() const;
  uint64_t Orphaned() const;

  // Configures the collection so that a version ends with its last reader.
  void UntilUnreferenced(const std::string& name);
  // Returns the readers of the only version of the only collection.
  std::vector<std::string> Readers() const;
  // Returns true if the stored record of reader_'s import, from which the next
  // daemon restores it, marks the import as asleep.
  static bool IsKeptAsleep(uint64_t import);
  // Moves the only chunk of the latest version off its device and back.
  void SuspendAndResume(const std::string& name);

  MemoryLedger ledger_{0};
  DeviceMemory memory_;
  collections::CollectionTable collections_;
  ExportRegistry exports_;
  std::unique_ptr<TestSession> maker_ = Open("s-1"), reader_ = Open("s-2");
};

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_SERVER_HOLDINGS_SESSION_MEMORY_FIXTURE_H_
