// SPDX-License-Identifier: Apache-2.0
//
// Tokens for memory, and who may use them: executors ask for them, honest and
// not, and a session exports only chunks of its own.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "server/holdings/session_memory.h"
#include "server/rpc/status_conversion.h"
#include "tests/server/holdings/session_memory_fixture.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::testing {
namespace {

using absl::StatusCode;

TEST_F(SessionMemoryTest, AReadersDescriptorCannotBeMappedForWriting) {
  maker_->Make(1, Memory(kSize));
  const SessionMemory::Answer reading = reader_->Import(*maker_->Export(1));
  const SessionMemory::Answer writing =
      reader_->Import(*maker_->Export(1, 0, kSize, v1::RIGHTS_READ_WRITE));
  const auto map = [](const SessionMemory::Answer& answer, int protection) {
    void* at = mmap(nullptr, kSize, protection, MAP_SHARED,
                    answer.descriptor.get(), 0);
    if (at != MAP_FAILED) munmap(at, kSize);
    return at != MAP_FAILED;
  };
  EXPECT_TRUE(map(reading, PROT_READ));
  EXPECT_FALSE(map(reading, PROT_READ | PROT_WRITE));
  EXPECT_TRUE(map(writing, PROT_READ | PROT_WRITE));
}

// Whether a process of another user, which gets the descriptor, opens its file
// for writing; nullopt: this process cannot become another user.
std::optional<bool> AnotherUserReopens(int fd) {
  constexpr uid_t kNobody = 65534;
  const pid_t child = fork();
  if (child == 0) {
    if (setgid(kNobody) != 0 || setuid(kNobody) != 0) _exit(2);
    // A process that has changed its user may not look at itself.
    prctl(PR_SET_DUMPABLE, 1);
    const std::string path = "/proc/self/fd/" + std::to_string(fd);
    _exit(open(path.c_str(), O_RDWR) >= 0 ? 0 : errno == EACCES ? 1 : 2);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 2) return std::nullopt;
  return WEXITSTATUS(status) == 0;
}

TEST_F(SessionMemoryTest, AReadersDescriptorCannotBeOpenedAnewForWriting) {
  const UniqueFd plain = Memory(kSize);
  const std::optional<bool> reopened = AnotherUserReopens(plain.get());
  if (!reopened.has_value()) {
    GTEST_SKIP() << "this process cannot become another user";
  }
  ASSERT_TRUE(*reopened);
  maker_->Make(1, Memory(kSize));
  const auto token = maker_->Export(1);
  ASSERT_OK(token);
  const SessionMemory::Answer answer = reader_->Import(*token);
  ASSERT_TRUE(answer.descriptor.valid());
  EXPECT_EQ(AnotherUserReopens(answer.descriptor.get()), false);
}

TEST_F(SessionMemoryTest, ASessionExportsOnlyWhatItHas) {
  maker_->Make(1, Memory(kSize));
  reader_->Make(7, Memory(kSize));
  EXPECT_THAT(maker_->Export(7).status(),
              StatusIs(StatusCode::kNotFound, "no such chunk"));
  EXPECT_THAT(maker_->Export(1, 1, kSize).status(),
              StatusIs(StatusCode::kOutOfRange, ""));
  EXPECT_THAT(maker_->Export(1, UINT64_MAX, 2).status(),
              StatusIs(StatusCode::kOutOfRange, ""));
  EXPECT_THAT(maker_->Export(1, 0, 8, static_cast<v1::Rights>(77)).status(),
              StatusIs(StatusCode::kInvalidArgument, "rights 77"));
  maker_->End();
  EXPECT_FALSE(maker_->Export(1).ok());
}

TEST_F(SessionMemoryTest, DescriptorsThatAreNoDeviceMemoryAreNotShared) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd other(ends[1]);
  maker_->Make(1, UniqueFd(ends[0]));
  maker_->Make(2, UniqueFd(open("/", O_RDONLY | O_CLOEXEC)));
  maker_->Make(3, UniqueFd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)));
  maker_->Make(4, Memory(kSize, /*seals=*/0));
  maker_->Make(5, Memory(kSize - 4096));
  maker_->Make(6, UniqueFd());
  for (uint64_t chunk = 1; chunk <= 6; ++chunk) {
    EXPECT_THAT(maker_->Export(chunk).status(),
                StatusIs(StatusCode::kInvalidArgument, "chunk"))
        << chunk;
  }
}

TEST_F(SessionMemoryTest, MemoryThatWasNotReservedIsNotShared) {
  internal::ChunkCreated created;
  created.set_chunk(1);
  created.set_size(kSize);
  ASSERT_OK(maker_->held.Hold(created, Memory(kSize)));
  EXPECT_THAT(maker_->Export(1).status(), StatusIs(StatusCode::kInvalidArgument,
                                                   "of which 0 were granted"));
}

TEST_F(SessionMemoryTest, TokensOfASessionAreBounded) {
  maker_->Make(1, Memory(kSize));
  for (size_t i = 0; i < ExportRegistry::kMaxOfSession; ++i) {
    ASSERT_OK(maker_->Export(1));
  }
  EXPECT_THAT(maker_->Export(1).status(),
              StatusIs(StatusCode::kResourceExhausted, "1024"));
  // Another session's are its own.
  reader_->Make(1, Memory(kSize));
  EXPECT_OK(reader_->Export(1));
  maker_->End();
  EXPECT_EQ(exports_.CountOf("s-1"), 0u);
}

TEST_F(SessionMemoryTest, AnotherKindIsRefusedAndDoesNotCountAsAnImport) {
  maker_->Make(1, Memory(kSize));
  const auto token = maker_->Export(1);
  ASSERT_OK(token);
  const SessionMemory::Answer wrong =
      reader_->Import(*token, v1::HANDLE_KIND_SEMAPHORE);
  EXPECT_EQ(static_cast<StatusCode>(wrong.reply.error().code()),
            StatusCode::kInvalidArgument);
  EXPECT_FALSE(reader_->Import(*token).reply.has_error());
}

TEST_F(SessionMemoryTest,
       ASuccessorOpensImportsByNameWhateverBecameOfTheToken) {
  maker_->Make(1, Memory(kSize));
  const auto token = maker_->Export(1);
  ASSERT_OK(token);
  const uint64_t kept = reader_->Import(*token).reply.imported().import();
  const uint64_t forgotten = reader_->Import(*token).reply.imported().import();
  maker_->End();
  reader_->held.BeginRestore();
  internal::SharingRequest request;
  request.set_reopen(kept);
  const SessionMemory::Answer answer = reader_->held.Ask(request, -1);
  ASSERT_FALSE(answer.reply.has_error());
  EXPECT_EQ(answer.reply.imported().import(), kept);
  EXPECT_TRUE(answer.descriptor.valid());
  EXPECT_EQ(answer.reply.imported().rights(), v1::RIGHTS_READ);
  reader_->held.EndRestore();
  // It has let go of what the successor does not want.
  request.set_reopen(forgotten);
  EXPECT_TRUE(reader_->held.Ask(request, -1).reply.has_error());
  request.set_reopen(12345);
  EXPECT_TRUE(reader_->held.Ask(request, -1).reply.has_error());
}

TEST_F(SessionMemoryTest, AnExportIsForOneTenantsSessionsIfItSaysSo) {
  maker_->Make(1, Memory(kSize));
  internal::SharingRequest request;
  internal::ExportRequest& of = *request.mutable_export_resource();
  of.set_kind(v1::HANDLE_KIND_BUFFER);
  of.set_chunk(1);
  of.set_size(kSize);
  of.mutable_terms()->set_tenant("uid 1000");
  of.mutable_terms()->set_max_imports(2);
  const std::string token = maker_->held.Ask(request, -1).reply.token();
  const auto stranger = Open("s-3", "uid 2000");
  EXPECT_THAT(FromError(stranger->Import(token).reply.error()),
              StatusIs(StatusCode::kPermissionDenied, "uid 1000"));
  EXPECT_FALSE(reader_->Import(token).reply.has_error());
  // A session of the tenant, and no other.
  of.mutable_terms()->set_session_id("s-1");
  const std::string bound = maker_->held.Ask(request, -1).reply.token();
  EXPECT_THAT(FromError(reader_->Import(bound).reply.error()),
              StatusIs(StatusCode::kPermissionDenied, "s-1"));
  EXPECT_FALSE(maker_->Import(bound).reply.has_error());
  // A process outside Holdfast has neither.
  of.mutable_terms()->set_foreign(v1::FOREIGN_HANDLE_POSIX_DESCRIPTOR);
  EXPECT_THAT(FromError(maker_->held.Ask(request, -1).reply.error()),
              StatusIs(StatusCode::kInvalidArgument, "cannot be bound"));
  of.mutable_terms()->clear_foreign();
  of.mutable_terms()->set_tenant(std::string(257, 'x'));
  EXPECT_THAT(FromError(maker_->held.Ask(request, -1).reply.error()),
              StatusIs(StatusCode::kInvalidArgument, "257 bytes"));
  stranger->End();
}

TEST_F(SessionMemoryTest, APolicyKeepsMemoryFromProcessesOutsideHoldfast) {
  maker_->Make(1, Memory(kSize));
  internal::SharingRequest request;
  internal::ExportRequest& of = *request.mutable_export_resource();
  of.set_chunk(1);
  of.set_size(kSize);
  of.set_kind(v1::HANDLE_KIND_BUFFER);
  of.mutable_terms()->set_rights(v1::RIGHTS_READ);
  of.mutable_terms()->set_foreign(v1::FOREIGN_HANDLE_POSIX_DESCRIPTOR);
  EXPECT_FALSE(maker_->held.Ask(request, -1).reply.has_error());
  maker_->payer->Update({.name = "uid 1000", .foreign_exports = false});
  EXPECT_THAT(FromError(maker_->held.Ask(request, -1).reply.error()),
              StatusIs(StatusCode::kPermissionDenied, "foreign-exports"));
  of.mutable_terms()->clear_foreign();
  EXPECT_FALSE(maker_->held.Ask(request, -1).reply.has_error());
}

}  // namespace
}  // namespace holdfast::testing
