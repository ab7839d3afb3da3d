// SPDX-License-Identifier: Apache-2.0
//
// Each limit of a session and of all sessions, reached through the real daemon:
// the last byte is granted, one more is refused with the figures, and what is
// freed, in whatever way, can be taken again.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/descriptor_socket.h"
#include "core/base/handle.h"
#include "core/base/memfd.h"
#include "holdfast/v1/commands.grpc.pb.h"
#include "holdfast/v1/transfers.grpc.pb.h"
#include "proto/protocol_limits.h"
#include "server/account/account.h"
#include "server/holdings/session_memory.h"
#include "tests/server/integration/daemon_fixture.h"

namespace holdfast {
namespace {

constexpr uint64_t kKiB = uint64_t{1} << 10;
constexpr uint64_t kMiB = uint64_t{1} << 20;

uint64_t Name(HandleKind kind, uint32_t index, uint32_t generation = 1) {
  return Handle{kind, generation, index}.Pack();
}

// A session whose commands run one by one.
class Client {
 public:
  explicit Client(const ChannelPtr& channel, uint64_t memory_limit = 0)
      : channel_(channel), session_(channel, "quota", memory_limit) {}

  // Empty, or the error of the last command, which ends what it did.
  std::string Run(const std::vector<v1::Command>& commands) {
    v1::CommandBatch batch;
    batch.set_first_sequence(next_);
    batch.mutable_commands()->Add(commands.begin(), commands.end());
    next_ += commands.size();
    batch.add_commands()->mutable_fence()->set_all_streams(true);
    grpc::ClientContext context;
    session_.AddToken(&context);
    v1::ResultBatch results;
    const grpc::Status status =
        v1::CommandService::NewStub(channel_)->Run(&context, batch, &results);
    EXPECT_TRUE(status.ok()) << Text(status);
    std::string error;
    for (const v1::Result& result : results.results()) {
      if (!result.has_error()) continue;
      EXPECT_EQ(result.error().code(), StatusCode::RESOURCE_EXHAUSTED);
      error = result.error().message();
    }
    ++next_;
    return error;
  }

  static v1::Command Device(uint32_t buffer, uint64_t size) {
    v1::Command command;
    command.mutable_allocate_buffer()->set_buffer(
        Name(HandleKind::kBuffer, buffer));
    command.mutable_allocate_buffer()->set_size(size);
    command.mutable_allocate_buffer()->set_device(0);
    return command;
  }
  static v1::Command Host(uint32_t buffer, uint64_t size,
                          uint32_t generation = 1) {
    v1::Command command = Device(buffer, size);
    command.mutable_allocate_buffer()->set_buffer(
        Name(HandleKind::kBuffer, buffer, generation));
    command.mutable_allocate_buffer()->mutable_host();
    return command;
  }
  static v1::Command Free(uint32_t buffer) {
    v1::Command command;
    command.mutable_free_buffer()->set_buffer(
        Name(HandleKind::kBuffer, buffer));
    return command;
  }

  TestSession& session() { return session_; }

 private:
  const ChannelPtr channel_;
  TestSession session_;
  uint64_t next_ = 1;
};

class QuotaTest : public testing::Test {
 protected:
  void Start(std::vector<std::string> flags) {
    daemon_ = std::make_unique<DaemonProcess>(std::move(flags));
    unix_ = daemon_->Unix();
  }

  v1::ListSessionsResponse List() {
    grpc::ClientContext context;
    v1::ListSessionsResponse response;
    const grpc::Status status =
        v1::SessionService::NewStub(unix_)->ListSessions(&context, {},
                                                         &response);
    EXPECT_TRUE(status.ok()) << Text(status);
    return response;
  }

  // The account of the only session.
  v1::SessionUsage Usage() {
    const v1::ListSessionsResponse list = List();
    EXPECT_EQ(list.sessions_size(), 1);
    return list.sessions(0).usage();
  }

  // Bytes that sessions have of the host and of device 0.
  std::pair<uint64_t, uint64_t> Totals() {
    const v1::ListSessionsResponse list = List();
    return {list.totals().host_bytes().used(),
            list.totals().devices(0).reserved_bytes().used()};
  }

  bool Eventually(const std::function<bool()>& condition) {
    for (int i = 0; i < 3000; ++i) {
      if (condition()) return true;
      absl::SleepFor(absl::Milliseconds(10));
    }
    return false;
  }

  std::unique_ptr<DaemonProcess> daemon_;
  ChannelPtr unix_;
};

void ExpectRefused(const std::string& error, const std::string& figures) {
  EXPECT_TRUE(absl::StrContains(error, figures)) << error;
}

TEST_F(QuotaTest, MemoryLimitIsExactToTheByteThatWasAskedFor) {
  Start({});
  Client client(unix_, kMiB);
  EXPECT_EQ(client.Run({Client::Device(0, 4 * kKiB)}), "");
  EXPECT_EQ(client.Run({Client::Device(1, kMiB - 4 * kKiB)}), "");
  const v1::SessionUsage usage = Usage();
  EXPECT_EQ(usage.device_bytes().used(), kMiB);
  EXPECT_EQ(usage.device_bytes().limit(), kMiB);
  EXPECT_GE(usage.reserved_bytes().used(), kMiB);
  EXPECT_EQ(Totals().second, usage.reserved_bytes().used());
  ExpectRefused(client.Run({Client::Device(2, 1)}),
                "device memory of the session: 1 bytes asked for, 1048576 are "
                "in use, the limit is 1048576 bytes (memory_limit of "
                "OpenSession)");
  EXPECT_EQ(Usage().device_bytes().used(), kMiB);
  EXPECT_EQ(client.Run({Client::Free(0), Client::Device(3, 4 * kKiB)}), "");
  ExpectRefused(client.Run({Client::Device(4, UINT64_MAX)}), "asked for");
  EXPECT_EQ(Usage().device_bytes().used(), kMiB);
}

// However the module declares them; a compiler writes one declaration a line.
TEST_F(QuotaTest, VariablesOfModulesCountAsBuffers) {
  Start({"--session-memory=8MiB"});
  Client client(unix_);
  const auto load = [](uint32_t module, const std::string& variables) {
    v1::Command command;
    command.mutable_load_module()->set_module(
        Name(HandleKind::kModule, module));
    command.mutable_load_module()->set_inline_(
        absl::StrCat(".version 8.0\n.target sm_75\n.address_size 64\n",
                     variables, ".visible .entry k() { ret; }\n"));
    return command;
  };
  v1::Command unload;
  unload.mutable_unload_module()->set_module(Name(HandleKind::kModule, 0));
  EXPECT_EQ(client.Run({load(0, ".visible .global .b8 a[6291456];\n")}), "");
  ExpectRefused(
      client.Run({load(1, ".global .align 4 .b8 b[2097152], c[4];\n")}),
      "2097156 bytes asked for, 6291456 are in use, the limit is 8388608");
  ExpectRefused(
      client.Run({load(3, ".func f() { .global .b64 e[524288]; }\n")}),
      "4194304 bytes asked for, 6291456 are in use");
  EXPECT_EQ(client.Run({load(2, ".const .b8 d[4];\n"), unload}), "");
  EXPECT_TRUE(Eventually([&] { return Usage().device_bytes().used() == 4; }));
  EXPECT_EQ(client.Run({Client::Device(0, 8 * kMiB - 4)}), "");
  EXPECT_EQ(Totals().second, Usage().reserved_bytes().used());
}

TEST_F(QuotaTest, AClientMayAskForLessThanTheDaemonAllowsAndNotForMore) {
  Start({"--session-memory=2MiB"});
  Client more(unix_, uint64_t{1} << 40), less(unix_, kMiB), none(unix_);
  for (Client* client : {&more, &none}) {
    EXPECT_EQ(client->Run({Client::Device(0, 2 * kMiB)}), "");
    ExpectRefused(client->Run({Client::Device(1, 1)}),
                  "the limit is 2097152 bytes (--session-memory)");
  }
  ExpectRefused(less.Run({Client::Device(1, kMiB + 1)}),
                "the limit is 1048576 bytes (memory_limit");
}

TEST_F(QuotaTest, PinnedMemoryHasALimitOfItsOwn) {
  Start({"--pinned-memory=1MiB"});
  Client client(unix_, 1);
  ExpectRefused(client.Run({Client::Host(0, uint64_t{100} << 30)}),
                "pinned memory of the session: 107374182400 bytes asked for, 0 "
                "are in use, the limit is 1048576 bytes (--pinned-memory)");
  EXPECT_EQ(client.Run({Client::Host(1, kMiB)}), "");
  ExpectRefused(client.Run({Client::Host(2, 1)}), "1 bytes asked for");
  EXPECT_EQ(Usage().pinned_bytes().used(), kMiB);
  EXPECT_EQ(Totals().first, kMiB);
  // In one batch: waits for what was freed, and is not refused.
  for (uint32_t generation = 2; generation < 12; ++generation) {
    v1::Command free;
    free.mutable_free_buffer()->set_buffer(
        Name(HandleKind::kBuffer, 1, generation - 1));
    EXPECT_EQ(client.Run({free, Client::Host(1, kMiB, generation)}), "");
  }
  EXPECT_EQ(Usage().pinned_bytes().used(), kMiB);
}

TEST_F(QuotaTest, ArenasAreChargedBeforeAnyPageIsMade) {
  Start({"--arena-memory=1MiB"});
  Client client(unix_);
  const v1::OpenSessionResponse& opened = client.session().opened();
  const auto transfers =
      v1::TransferService::NewStub(Connect(opened.local_address()));
  const std::string inbox = opened.descriptor_address().substr(5);
  const auto make = [&](uint32_t index, uint64_t size) {
    const auto memory = CreateMemfd("arena", size);
    EXPECT_EQ(fcntl(memory->get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
    const auto token = SendFd(inbox, opened.token(), memory->get());
    EXPECT_TRUE(token.ok()) << token.status();
    v1::RegisterArenaRequest request;
    request.set_arena(Name(HandleKind::kArena, index));
    request.set_descriptor_token(*token);
    request.set_size(size);
    grpc::ClientContext context;
    client.session().AddToken(&context);
    v1::RegisterArenaResponse response;
    return transfers->RegisterArena(&context, request, &response);
  };
  // No page of it exists: it counts with its size.
  const grpc::Status sparse = make(0, uint64_t{1} << 40);
  EXPECT_EQ(sparse.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  ExpectRefused(sparse.error_message(),
                "arenas of the session: 1099511627776 bytes asked for, 0 are "
                "in use, the limit is 1048576 bytes (--arena-memory)");
  EXPECT_TRUE(make(1, kMiB).ok());
  EXPECT_EQ(make(2, 4 * kKiB).error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(Usage().arena_bytes().used(), kMiB);
  EXPECT_EQ(Totals().first, kMiB);
  v1::Command free;
  free.mutable_free_arena()->set_arena(Name(HandleKind::kArena, 1));
  EXPECT_EQ(client.Run({free}), "");
  EXPECT_TRUE(make(3, kMiB).ok());
  EXPECT_EQ(Usage().arena_bytes().used(), kMiB);
}

TEST_F(QuotaTest, HandlesOfAKindAreBoundedAsTheClientWasTold) {
  Start({"--max-handles=4"});
  Client client(unix_);
  EXPECT_EQ(client.session().opened().limits().max_handles(), 4u);
  const auto create = [](uint32_t index) {
    v1::Command command;
    command.mutable_create_event()->set_event(Name(HandleKind::kEvent, index));
    return command;
  };
  // Any index will do; the number counts.
  EXPECT_EQ(client.Run({create(0), create(1), create(2), create(77)}), "");
  ExpectRefused(client.Run({create(3)}),
                "event handles of the session: 1 handles asked for, 4 are in "
                "use, the limit is 4 handles (--max-handles)");
  EXPECT_EQ(client.Run({Client::Device(0, 1)}), "");
  v1::Command destroy;
  destroy.mutable_destroy_event()->set_event(Name(HandleKind::kEvent, 77));
  EXPECT_EQ(client.Run({destroy, create(3)}), "");
  const v1::SessionUsage usage = Usage();
  ASSERT_EQ(usage.handles_size(), 2);
  EXPECT_EQ(usage.handles(0).kind(), v1::HANDLE_KIND_EVENT);
  EXPECT_EQ(usage.handles(0).handles().used(), 4u);
  EXPECT_EQ(usage.handles(0).handles().limit(), 4u);
  EXPECT_EQ(usage.handles(1).kind(), v1::HANDLE_KIND_BUFFER);
}

TEST_F(QuotaTest, AsManyCommandsAsMayBeOutstandingFitIntoOneBatch) {
  Start({absl::StrCat("--outstanding-commands=", kMaxBatchCommands)});
  Client client(unix_);
  std::vector<v1::Command> commands;
  for (uint32_t i = 0; i + 1 < kMaxBatchCommands; ++i) {
    commands.push_back(Client::Free(0));
    commands.back().mutable_free_buffer()->set_buffer(0);
  }
  for (int i = 0; i < 3; ++i) EXPECT_EQ(client.Run(commands), "");
  EXPECT_EQ(Usage().outstanding_commands().limit(),
            static_cast<uint64_t>(kMaxBatchCommands));
}

TEST_F(QuotaTest, StagingMemoryIsListed) {
  Start({});
  Client client(unix_);
  v1::Command stream, write;
  stream.mutable_create_stream()->set_stream(Name(HandleKind::kStream, 0));
  write.mutable_write_buffer()->set_stream(Name(HandleKind::kStream, 0));
  write.mutable_write_buffer()->set_buffer(Name(HandleKind::kBuffer, 0));
  write.mutable_write_buffer()->set_data("four");
  EXPECT_EQ(client.Run({stream, Client::Device(0, 4), write}), "");
  EXPECT_EQ(Usage().staging_bytes().used(), kMaxInlineBytes);
  EXPECT_EQ(Totals().first, kMaxInlineBytes);
}

// Buffers for sharing have chunks of their own, and the supervisor keeps so
// many for a session.
TEST_F(QuotaTest, AChunkMoreThanTheDaemonKeepsIsRefused) {
  static_assert(Account::kMaxChunks == SessionMemory::kMaxChunks);
  constexpr auto kChunks = static_cast<uint32_t>(SessionMemory::kMaxChunks);
  setenv("HOLDFAST_SOFTWARE_MEMORY", "16G", 1);
  Start({});
  unsetenv("HOLDFAST_SOFTWARE_MEMORY");
  Client client(unix_);
  const auto shared = [](uint32_t buffer) {
    v1::Command command = Client::Device(buffer, kKiB);
    command.mutable_allocate_buffer()->set_sharing(v1::SHARING_EXPORT);
    return command;
  };
  for (uint32_t i = 0; i < kChunks; i += kChunks / 4) {
    std::vector<v1::Command> commands;
    for (uint32_t k = 0; k < kChunks / 4; ++k)
      commands.push_back(shared(i + k));
    ASSERT_EQ(client.Run(commands), "");
  }
  ExpectRefused(client.Run({shared(kChunks)}),
                "chunks of device memory of the session");
  EXPECT_EQ(client.Run({Client::Free(0)}), "");
  EXPECT_EQ(client.Run({shared(kChunks + 1)}), "");
}

TEST_F(QuotaTest, SessionsOfTheSoftwareDeviceShareItsMemory) {
  setenv("HOLDFAST_SOFTWARE_MEMORY", "256M", 1);
  Start({});
  unsetenv("HOLDFAST_SOFTWARE_MEMORY");
  Client first(unix_), second(unix_);
  EXPECT_EQ(first.Run({Client::Device(0, 192 * kMiB)}), "");
  ExpectRefused(second.Run({Client::Device(0, 65 * kMiB)}),
                "memory of device 0, of all sessions");
  EXPECT_EQ(second.Run({Client::Device(1, 64 * kMiB)}), "");
  EXPECT_EQ(Totals().second, 256 * kMiB);
  const pid_t executor = static_cast<pid_t>(List().sessions(0).executor_pid());
  ASSERT_EQ(kill(executor, SIGKILL), 0);
  EXPECT_TRUE(Eventually([&] { return Totals().second == 64 * kMiB; }));
  EXPECT_EQ(List().sessions(0).usage().device_bytes().used(), 0u);
  EXPECT_EQ(second.Run({Client::Device(2, 192 * kMiB)}), "");
  EXPECT_TRUE(second.session().Close().ok());
  EXPECT_EQ(Totals().second, 0u);
}

TEST_F(QuotaTest, SessionsShareTheHostsMemory) {
  Start({"--host-memory=4MiB"});
  Client first(unix_), second(unix_);
  EXPECT_EQ(first.Run({Client::Host(0, kMiB)}), "");
  ExpectRefused(second.Run({Client::Host(0, 3 * kMiB + 1)}),
                "host memory of all sessions: 3145729 bytes asked for, 1048576 "
                "are in use, the limit is 4194304 bytes (--host-memory)");
  EXPECT_EQ(second.Run({Client::Host(1, kMiB)}), "");
  EXPECT_TRUE(first.session().Close().ok());
  EXPECT_EQ(Totals().first, kMiB);
  EXPECT_EQ(second.Run({Client::Host(2, kMiB)}), "");
}

TEST_F(QuotaTest, AClientThatIsGoneHoldsNothing) {
  Start({});
  Client client(unix_);
  EXPECT_EQ(client.Run({Client::Device(0, kMiB), Client::Host(1, kMiB)}), "");
  EXPECT_GT(Totals().first, 0u);
  client.session().Disconnect();
  EXPECT_TRUE(Eventually([&] { return List().sessions_size() == 0; }));
  EXPECT_TRUE(Eventually(
      [&] { return Totals() == std::make_pair(uint64_t{0}, uint64_t{0}); }));
}

}  // namespace
}  // namespace holdfast
