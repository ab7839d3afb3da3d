// SPDX-License-Identifier: Apache-2.0
//
// GPU time through the real daemon: how it is accounted to sessions and
// tenants, and how tenants share it by weight.
#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/cpp/connection/bearer_token.h"
#include "core/base/handle.h"
#include "holdfast/v1/admin.grpc.pb.h"
#include "tests/server/integration/daemon_fixture.h"
#include "tests/testing/kernels.h"

namespace holdfast {
namespace {

constexpr uint32_t kMillion = 1'000'000;

uint64_t Name(HandleKind kind, uint32_t index = 0) {
  return Handle{kind, 1, index}.Pack();
}
const uint64_t kStream = Name(HandleKind::kStream);
const uint64_t kBuffer = Name(HandleKind::kBuffer);
const uint64_t kModule = Name(HandleKind::kModule);
const uint64_t kKernel = Name(HandleKind::kKernel);

double Seconds(const google::protobuf::Duration& duration) {
  return static_cast<double>(duration.seconds()) + duration.nanos() * 1e-9;
}

// A session that launches one kernel.
class Client {
 public:
  explicit Client(ChannelPtr channel)
      : channel_(std::move(channel)), session_(channel_) {
    v1::CommandBatch batch = NewBatch();
    batch.add_commands()->mutable_create_stream()->set_stream(kStream);
    v1::AllocateBuffer& allocate =
        *batch.add_commands()->mutable_allocate_buffer();
    allocate.set_buffer(kBuffer);
    allocate.set_size(sizeof(uint32_t));
    allocate.set_device(0);
    v1::LoadModule& load = *batch.add_commands()->mutable_load_module();
    load.set_module(kModule);
    load.set_inline_(test_ptx::kModule<test_ptx::kWork>);
    v1::GetKernel& get = *batch.add_commands()->mutable_get_kernel();
    get.set_kernel(kKernel);
    get.set_module(kModule);
    get.set_name("work");
    Run(&batch);
  }

  TestSession& session() { return session_; }

  v1::CommandBatch NewBatch() const {
    v1::CommandBatch batch;
    batch.set_first_sequence(next_);
    return batch;
  }
  static void AddLaunch(uint32_t rounds, v1::CommandBatch* batch) {
    v1::Launch& launch = *batch->add_commands()->mutable_launch();
    launch.set_kernel(kKernel);
    launch.set_stream(kStream);
    for (v1::Dim3* dim : {launch.mutable_grid(), launch.mutable_block()}) {
      dim->set_x(1);
      dim->set_y(1);
      dim->set_z(1);
    }
    launch.add_arguments()->mutable_buffer()->set_buffer(kBuffer);
    launch.add_arguments()->set_u32(rounds);
  }
  // Ends the batch with a fence; returns the fence's number.
  uint64_t Finish(v1::CommandBatch* batch) {
    batch->add_commands()->mutable_fence()->set_all_streams(true);
    next_ += static_cast<uint64_t>(batch->commands_size());
    return next_ - 1;
  }

  // Carries it out, with a fence at its end.
  v1::ResultBatch Run(v1::CommandBatch* batch) {
    Finish(batch);
    grpc::ClientContext context;
    session_.AddToken(&context);
    v1::ResultBatch results;
    const grpc::Status status =
        v1::CommandService::NewStub(channel_)->Run(&context, *batch, &results);
    EXPECT_TRUE(status.ok()) << Text(status);
    for (const v1::Result& result : results.results()) {
      EXPECT_FALSE(result.has_error()) << result.ShortDebugString();
      EXPECT_EQ(result.fence().failures(), 0u) << result.ShortDebugString();
    }
    return results;
  }

  v1::SessionInfo Info() {
    grpc::ClientContext context;
    v1::ListSessionsResponse list;
    EXPECT_TRUE(v1::SessionService::NewStub(channel_)
                    ->ListSessions(&context, {}, &list)
                    .ok());
    for (const v1::SessionInfo& info : list.sessions()) {
      if (info.session_id() == session_.opened().session_id()) return info;
    }
    return {};
  }
  // On device 0.
  double GpuSeconds() {
    const v1::SessionUsage usage = Info().usage();
    EXPECT_LE(usage.gpu_time_size(), 1);
    return usage.gpu_time_size() == 0 ? 0 : Seconds(usage.gpu_time(0).time());
  }

  const ChannelPtr channel_;

 private:
  TestSession session_;
  uint64_t next_ = 1;
};

// Keeps the device busy from its own thread until it ends: there is always a
// round of launches behind the one that is waited for.
class Load {
 public:
  explicit Load(ChannelPtr channel) : client_(std::move(channel)) {
    client_.session().AddToken(&context_);
    stub_ = v1::CommandService::NewStub(client_.channel_);
    stream_ = stub_->Execute(&context_);
    thread_ = std::thread([this] {
      uint64_t before = NextRound();
      while (!stopping_) {
        const uint64_t next = NextRound();
        if (!Await(before)) break;
        before = next;
        ++rounds_;
      }
      context_.TryCancel();
      stream_->Finish();
    });
  }
  ~Load() {
    stopping_ = true;
    thread_.join();
  }

  int rounds() const { return rounds_; }

 private:
  // Launches a round; returns its fence's number.
  uint64_t NextRound() {
    v1::CommandBatch batch = client_.NewBatch();
    for (int i = 0; i < 16; ++i) Client::AddLaunch(kMillion / 4, &batch);
    const uint64_t fence = client_.Finish(&batch);
    EXPECT_TRUE(stream_->Write(batch));
    return fence;
  }
  bool Await(uint64_t fence) {
    while (true) {
      v1::ResultBatch results;
      if (!stream_->Read(&results)) return false;
      for (const v1::Result& result : results.results()) {
        EXPECT_EQ(result.fence().failures(), 0u) << result.ShortDebugString();
        if (result.sequence() == fence) return true;
      }
    }
  }

  Client client_;
  grpc::ClientContext context_;
  std::unique_ptr<v1::CommandService::Stub> stub_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::CommandBatch, v1::ResultBatch>>
      stream_;
  std::atomic<bool> stopping_{false};
  std::atomic<int> rounds_{0};
  std::thread thread_;
};

class GpuTimeTest : public DaemonTest {
 protected:
  // Returns a connection of a new tenant.
  ChannelPtr NewTenant(const std::string& name, uint32_t weight) {
    grpc::ClientContext context;
    v1::CreateTenantRequest request;
    request.set_name(name);
    request.set_weight(weight);
    v1::CreateTenantResponse response;
    const grpc::Status status = v1::AdminService::NewStub(unix_)->CreateTenant(
        &context, request, &response);
    EXPECT_TRUE(status.ok()) << Text(status);
    std::vector<
        std::unique_ptr<grpc::experimental::ClientInterceptorFactoryInterface>>
        interceptors;
    interceptors.push_back(SendToken(response.token()));
    return grpc::experimental::CreateCustomChannelWithInterceptors(
        "unix:" + daemon_.socket(), grpc::InsecureChannelCredentials(), {},
        std::move(interceptors));
  }

  v1::TenantInfo End(const std::string& name) {
    grpc::ClientContext context;
    v1::EndTenantRequest request;
    request.set_name(name);
    v1::EndTenantResponse response;
    const grpc::Status status = v1::AdminService::NewStub(unix_)->EndTenant(
        &context, request, &response);
    EXPECT_TRUE(status.ok()) << Text(status);
    return response.final();
  }

  v1::TenantInfo InfoOf(const std::string& name) {
    grpc::ClientContext context;
    v1::ListTenantsResponse response;
    EXPECT_TRUE(v1::AdminService::NewStub(unix_)
                    ->ListTenants(&context, {}, &response)
                    .ok());
    for (const v1::TenantInfo& tenant : response.tenants()) {
      if (tenant.name() == name) return tenant;
    }
    return {};
  }
  double GpuSecondsOf(const std::string& name) {
    return Seconds(InfoOf(name).gpu_time());
  }
};

TEST_F(GpuTimeTest, IsTheTimeInWhichASessionHadWorkOnTheDevice) {
  const absl::Time before = absl::Now();
  Client client(NewTenant("job", 1));
  const double idle = client.GpuSeconds();
  v1::CommandBatch batch = client.NewBatch();
  const uint64_t events[] = {Name(HandleKind::kEvent, 0),
                             Name(HandleKind::kEvent, 1)};
  for (const uint64_t event : events) {
    v1::CreateEvent& create = *batch.add_commands()->mutable_create_event();
    create.set_event(event);
    create.set_timing(true);
  }
  const auto record = [&](uint64_t event) {
    v1::RecordEvent& command = *batch.add_commands()->mutable_record_event();
    command.set_event(event);
    command.set_stream(kStream);
  };
  record(events[0]);
  for (int i = 0; i < 3; ++i) Client::AddLaunch(3 * kMillion, &batch);
  record(events[1]);
  client.Run(&batch);
  const double busy = client.GpuSeconds() - idle;
  const double passed = absl::ToDoubleSeconds(absl::Now() - before);
  batch = client.NewBatch();
  v1::ElapsedTime& elapsed = *batch.add_commands()->mutable_elapsed_time();
  elapsed.set_start(events[0]);
  elapsed.set_end(events[1]);
  const double kernels = client.Run(&batch).results(0).elapsed_ms() * 1e-3;
  EXPECT_GT(kernels, 0);
  EXPECT_GT(busy, kernels * 0.99);
  EXPECT_LT(idle + busy, passed);
  EXPECT_EQ(client.Info().usage().launches(), 3u);
}

TEST_F(GpuTimeTest, StandsStillWithoutWork) {
  Client client(NewTenant("job", 1));
  v1::CommandBatch batch = client.NewBatch();
  Client::AddLaunch(kMillion, &batch);
  client.Run(&batch);
  // The end is known soon after the client has been told of it.
  double last = -1;
  for (int i = 0; i < 1000 && client.GpuSeconds() != last; ++i) {
    last = client.GpuSeconds();
    absl::SleepFor(absl::Milliseconds(20));
  }
  absl::SleepFor(absl::Milliseconds(50));
  EXPECT_EQ(client.GpuSeconds(), last);
  EXPECT_GT(last, 0);
}

TEST_F(GpuTimeTest, ATenantsStaysWhenItsSessionsAreGone) {
  const ChannelPtr job = NewTenant("job", 1);
  for (int i = 0; i < 2; ++i) {
    Client client(job);
    v1::CommandBatch batch = client.NewBatch();
    Client::AddLaunch(kMillion, &batch);
    client.Run(&batch);
    if (i == 0) {
      ASSERT_TRUE(client.session().Close().ok());
    } else {
      kill(static_cast<pid_t>(client.Info().executor_pid()), SIGKILL);
      EXPECT_NE(client.session().AwaitEnd(), "");
    }
  }
  const v1::TenantInfo info = InfoOf("job");
  EXPECT_GT(Seconds(info.gpu_time()), 0);
  const v1::TenantInfo last = End("job");
  EXPECT_GE(Seconds(last.gpu_time()), Seconds(info.gpu_time()));
  EXPECT_EQ(last.launches(), 2u);
  EXPECT_EQ(last.faults(), 1u);
}

TEST_F(GpuTimeTest, TenantsThatAreBusyAtOnceShareItByWeight) {
  const Load a(NewTenant("light", 1)), b(NewTenant("heavy", 3));
  const auto await_rounds = [&](int more) {
    const int a_before = a.rounds(), b_before = b.rounds();
    while (a.rounds() < a_before + more || b.rounds() < b_before + more) {
      absl::SleepFor(absl::Milliseconds(10));
    }
  };
  await_rounds(3);  // Their sessions do not begin at once.
  const double light_before = GpuSecondsOf("light");
  const double heavy_before = GpuSecondsOf("heavy");
  double light = 0, heavy = 0;
  while (light + heavy < 6) {
    await_rounds(1);
    light = GpuSecondsOf("light") - light_before;
    heavy = GpuSecondsOf("heavy") - heavy_before;
  }
  RecordProperty("heavy_to_light", absl::StrCat(heavy / light));
  EXPECT_GT(heavy / light, 1.8) << heavy << " s and " << light << " s";
  EXPECT_LT(heavy / light, 9.0) << heavy << " s and " << light << " s";
}

}  // namespace
}  // namespace holdfast
