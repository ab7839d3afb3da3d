// SPDX-License-Identifier: Apache-2.0
#include "tests/server/testing/in_process_daemon.h"

#include <grpc/grpc.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <utility>
#include <vector>

#include "holdfast/v1/admin.grpc.pb.h"
#include "holdfast/v1/commands.grpc.pb.h"
#include "holdfast/v1/sessions.grpc.pb.h"
#include "server/process/child_process.h"
#include "server/rpc/endpoint.h"

namespace holdfast::testing {
namespace {

std::string MakeDirectory() {
  // Not in TEST_TMPDIR, whose name may be too long for a socket's.
  std::string name = "/tmp/holdfast-test-XXXXXX";
  EXPECT_NE(mkdtemp(name.data()), nullptr) << name;
  return name;
}

absl::StatusOr<std::vector<uint32_t>> FirstDevice(const v1::OpenSessionRequest&,
                                                  const Tenant&, absl::Time) {
  return std::vector<uint32_t>{0};
}

absl::Status NotHere() {
  return absl::UnimplementedError("a daemon in a test's process has none");
}

}  // namespace

InProcessDaemon::InProcessDaemon(const Policy& policy)
    : directory_(MakeDirectory()),
      compilers_(
          {.start = []() -> absl::StatusOr<std::unique_ptr<ChildProcess>> {
            return NotHere();
          }}),
      sessions_({.socket_directory = directory_,
                 .choose_devices = FirstDevice,
                 .take = [this](const Tenant&, const std::vector<uint32_t>&,
                                absl::Time) { return TakeExecutor(); }}),
      session_service_(sessions_, callers_, threads_, ledger_, exports_,
                       /*list_all=*/false),
      admin_service_(sessions_, compilers_, cache_, disk_cache_, tenant_admin_,
                     callers_, threads_, /*suspend_directory=*/"",
                     {.prepare = [](absl::Time) -> absl::StatusOr<std::string> {
                        return NotHere();
                      },
                      .answered = [] {}}),
      command_service_(*v1::CommandBatch::descriptor()->file()->service(0),
                       sessions_, ForwardedService::Traffic::kCommands,
                       threads_) {
  // gRPC stays up between tests, as in the daemon: ending it may wait for a
  // poller.
  grpc_init();
  const absl::Status applied = tenants_.Apply(policy);
  EXPECT_TRUE(applied.ok()) << applied;
  server_ = StartServer();
}

InProcessDaemon::~InProcessDaemon() {
  server_ = nullptr;
  sessions_.CloseAll("the test is over");
  std::filesystem::remove_all(directory_);
}

std::unique_ptr<RpcServer> InProcessDaemon::StartServer() {
  const auto endpoint = Endpoint::Parse(address());
  EXPECT_TRUE(endpoint.ok()) << endpoint.status();
  auto server = RpcServer::Start(
      {.endpoints = {*endpoint}},
      {{v1::SessionService::service_full_name(), &session_service_},
       {v1::AdminService::service_full_name(), &admin_service_},
       {v1::CommandService::service_full_name(), &command_service_}},
      peers_);
  EXPECT_TRUE(server.ok()) << server.status();
  return *std::move(server);
}

FakeExecutor& InProcessDaemon::executor() const {
  absl::MutexLock lock(&mutex_);
  return *executor_;
}

void InProcessDaemon::SetOnStop(std::function<void()> on_stop) {
  absl::MutexLock lock(&mutex_);
  on_stop_ = std::move(on_stop);
}

std::unique_ptr<supervisor::Executor> InProcessDaemon::TakeExecutor() {
  auto executor = std::make_unique<FakeExecutor>(SessionHoldings::Services{
      store_, ledger_, exports_, collections_, memory_, kept_});
  absl::MutexLock lock(&mutex_);
  executor->SetOnStop(on_stop_);
  executor_ = executor.get();
  return executor;
}

}  // namespace holdfast::testing
