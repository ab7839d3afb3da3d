// SPDX-License-Identifier: Apache-2.0
//
// Several clients at once, and what the end of one does to the others.
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/cpp/compile/program.h"
#include "client/cpp/launch.h"
#include "client/cpp/session.h"
#include "core/base/error_detail.h"
#include "core/base/status_macros.h"
#include "holdfast/v1/commands.grpc.pb.h"
#include "holdfast/v1/sessions.grpc.pb.h"
#include "proto/metadata.h"
#include "tests/e2e/daemon_process.h"

namespace holdfast::e2e {
namespace {

// "s-7" as it stands in the JSON of `holdfast sessions`.
std::string Quoted(const std::string& id) { return "\"" + id + "\""; }

pid_t ExecutorOf(Daemon& daemon, const std::string& id) {
  const auto sessions = daemon.Sessions();
  for (const v1::SessionInfo& session : *sessions) {
    if (session.session_id() == id) {
      return static_cast<pid_t>(session.executor_pid());
    }
  }
  return -1;
}

class SessionsTest : public ::testing::Test {
 protected:
  std::string ListSessions() {
    const Outcome outcome =
        RunProgram({ProgramPath("HOLDFAST_CLI"), "sessions", "--json",
                    "--address=" + daemon_.address()});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.out;
  }

  DaemonProcess daemon_;
};

TEST_F(SessionsTest, OneClientIsKilledAndTheOtherFinishes) {
  Process killed({ProgramPath("HOLDING_CLIENT"), daemon_.address()});
  Process survivor({ProgramPath("HOLDING_CLIENT"), daemon_.tcp_address()});
  const std::string killed_id = killed.ReadLine();
  const std::string survivor_id = survivor.ReadLine();
  ASSERT_NE(killed_id, "");
  ASSERT_NE(survivor_id, "");

  const std::string both = ListSessions();
  EXPECT_TRUE(absl::StrContains(both, Quoted(killed_id))) << both;
  EXPECT_TRUE(absl::StrContains(both, Quoted(survivor_id))) << both;

  killed.Signal(SIGKILL);
  EXPECT_TRUE(Eventually([&] {
    return !absl::StrContains(ListSessions(), Quoted(killed_id));
  })) << ListSessions();
  EXPECT_TRUE(absl::StrContains(ListSessions(), Quoted(survivor_id)));
  EXPECT_EQ(survivor.Finish(), 0);
}

int ThreadsOf(pid_t pid) {
  std::ifstream status(absl::StrCat("/proc/", pid, "/status"));
  for (std::string line; std::getline(status, line);) {
    if (absl::StartsWith(line, "Threads:")) return std::stoi(line.substr(8));
  }
  return 0;
}

// A whole life of a session beside them.
absl::Status Visit(const std::string& address) {
  HOLDFAST_ASSIGN_OR_RETURN(const auto session,
                            Session::Open({.address = address}));
  HOLDFAST_ASSIGN_OR_RETURN(const Stream stream,
                            session->device(0).CreateStream());
  HOLDFAST_ASSIGN_OR_RETURN(const Buffer buffer,
                            session->device(0).Allocate(4096, stream));
  HOLDFAST_RETURN_IF_ERROR(buffer.Fill(uint8_t{7}, stream));
  HOLDFAST_RETURN_IF_ERROR(stream.Synchronize());
  HOLDFAST_RETURN_IF_ERROR(session->daemon().Sessions().status());
  return session->Close();
}

// They are stopped in the midst of commands, with rings and arenas: nothing is
// read any more of what they are sent.
TEST_F(SessionsTest, ClientsThatAreStoppedHoldNoThreadAndGoOnWhereTheyWere) {
  constexpr int kSlack = 4;  // gRPC's own come and go
  // More of each kind than that: either would show.
  constexpr int kClients = 2 * (kSlack + 1);
  std::vector<std::unique_ptr<Process>> clients;
  for (int i = 0; i < kClients; ++i) {
    clients.push_back(std::make_unique<Process>(std::vector<std::string>{
        ProgramPath("HOLDING_CLIENT"),
        i % 2 == 1 ? daemon_.tcp_address() : daemon_.address(), "busy"}));
  }
  for (const auto& client : clients) ASSERT_NE(client->ReadLine(), "");
  for (int i = 0; i < 3; ++i)
    ASSERT_EQ(Visit(daemon_.address()), absl::OkStatus());
  const int before = ThreadsOf(daemon_.pid());
  for (const auto& client : clients) client->Signal(SIGSTOP);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(Visit(daemon_.address()), absl::OkStatus());
    EXPECT_EQ(Visit(daemon_.tcp_address()), absl::OkStatus());
  }
  EXPECT_TRUE(Eventually([&] {
    return ThreadsOf(daemon_.pid()) <= before + kSlack;
  })) << before
      << " threads before, " << ThreadsOf(daemon_.pid()) << " now";
  for (const auto& client : clients) client->Signal(SIGCONT);
  for (const auto& client : clients) EXPECT_EQ(client->Finish(), 0);
}

TEST_F(SessionsTest, AKilledClientLeavesNothingCharged) {
  Process killed({ProgramPath("HOLDING_CLIENT"), daemon_.address()});
  ASSERT_NE(killed.ReadLine(), "");
  auto daemon = Daemon::Connect(daemon_.address());
  ASSERT_TRUE(daemon.ok()) << daemon.status();
  const auto held = (*daemon)->ListSessions();
  ASSERT_TRUE(held.ok()) << held.status();
  const v1::SessionUsage& usage = held->sessions(0).usage();
  EXPECT_EQ(usage.device_bytes().used(), 1u << 20);
  EXPECT_EQ(usage.pinned_bytes().used(), 1u << 20);
  EXPECT_EQ(usage.arena_bytes().used(), 1u << 20);
  EXPECT_GE(held->totals().host_bytes().used(), 2u << 20);
  EXPECT_GE(held->totals().devices(0).reserved_bytes().used(), 1u << 20);
  killed.Signal(SIGKILL);
  EXPECT_TRUE(Eventually([&] {
    const auto left = (*daemon)->ListSessions();
    return left.ok() && left->sessions().empty() &&
           left->totals().host_bytes().used() == 0 &&
           left->totals().devices(0).reserved_bytes().used() == 0;
  }));
}

TEST_F(SessionsTest, TheCommandLineShowsWhatASessionHoldsAndMayHold) {
  Process holding({ProgramPath("HOLDING_CLIENT"), daemon_.address()});
  ASSERT_NE(holding.ReadLine(), "");
  const Outcome text =
      RunProgram({ProgramPath("HOLDFAST_CLI"), "sessions", "--usage",
                  "--address=" + daemon_.address()});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  for (const char* row :
       {"device   ", "reserved   ", "pinned   ", "arena   ", "staging   ",
        "outstanding commands", "buffer handles", "all      host"}) {
    EXPECT_TRUE(absl::StrContains(text.out, row)) << row << " in " << text.out;
  }
  EXPECT_TRUE(
      absl::StrContains(ListSessions(), "\"pinned_bytes\": {\"used\": 1048576"))
      << ListSessions();
}

TEST_F(SessionsTest, TheOperatorEndsASessionAndItsClientIsToldWhy) {
  auto session = Session::Open({.address = daemon_.tcp_address()});
  ASSERT_TRUE(session.ok()) << session.status();
  const auto end = [&](const std::string& id) {
    return RunProgram({ProgramPath("HOLDFAST_CLI"), "sessions", "end", id,
                       "--reason=maintenance",
                       "--address=" + daemon_.address()});
  };
  // Until its KeepAlive stream is open, the client cannot be told.
  ASSERT_TRUE(Eventually(
      [&] { return !(*session)->daemon().Sessions()->front().has_ends(); }));
  const Outcome ended = end((*session)->id());
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  ASSERT_TRUE(Eventually([&] { return !(*session)->Synchronize().ok(); }));
  const absl::Status status = (*session)->Synchronize();
  EXPECT_TRUE(absl::StrContains(status.message(),
                                "an operator has ended it: maintenance"))
      << status;
  EXPECT_EQ(end((*session)->id()).exit_code, 1);
}

TEST_F(SessionsTest, ASuspendedOneIsResumedOnADeviceThatThereIs) {
  const auto run = [this](std::vector<std::string> words) {
    words.insert(words.begin(), {ProgramPath("HOLDFAST_CLI"), "sessions"});
    words.push_back("--address=" + daemon_.address());
    return RunProgram(words);
  };
  const auto session =
      Session::Open({.address = daemon_.address(), .devices = {0}}).value();
  const std::string id = session->id();
  ASSERT_EQ(run({"suspend", id}).exit_code, 0);
  const Outcome refused = run({"resume", id, "--device=77"});
  EXPECT_NE(refused.exit_code, 0);
  EXPECT_TRUE(absl::StrContains(refused.err, "device 77 does not exist"))
      << refused.err;
  const Outcome resumed = run({"resume", id, "--device=0", "--json"});
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_TRUE(absl::StrContains(resumed.out, "\"devices\": [0]"))
      << resumed.out;
  ASSERT_EQ(session->Synchronize(), absl::OkStatus());
  ASSERT_EQ(run({"suspend", id}).exit_code, 0);
  EXPECT_EQ(run({"resume", id}).out, id + " resumed on device 0\n");
}

TEST_F(SessionsTest, TheOperatorDrainsAndTakesItBack) {
  Process holding({ProgramPath("HOLDING_CLIENT"), daemon_.address()});
  ASSERT_NE(holding.ReadLine(), "");
  const auto drain = [&](const std::string& flag) {
    return RunProgram({ProgramPath("HOLDFAST_CLI"), "admin", "drain", flag,
                       "--address=" + daemon_.address()});
  };
  const Outcome drained = drain("--timeout=0s");
  EXPECT_EQ(drained.exit_code, 1);
  EXPECT_TRUE(absl::StrContains(drained.err, "1 session is still open"))
      << drained.err;
  const absl::Status refused =
      Session::Open({.address = daemon_.address()}).status();
  EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
  EXPECT_TRUE(absl::StrContains(refused.message(), "draining")) << refused;
  EXPECT_EQ(drain("--stop").exit_code, 0);
  EXPECT_TRUE(Session::Open({.address = daemon_.address()}).ok());
  EXPECT_EQ(holding.Finish(), 0);
}

TEST_F(SessionsTest, AKilledExecutorIsAClearStatusAndHarmsNobodyElse) {
  for (const std::string& address :
       {daemon_.address(), daemon_.tcp_address()}) {
    Process other({ProgramPath("HOLDING_CLIENT"), daemon_.address()});
    ASSERT_NE(other.ReadLine(), "");
    auto session =
        Session::Open({.address = address, .recover = RecoveryPolicy::kNever});
    ASSERT_TRUE(session.ok()) << session.status();
    const Stream stream = *(*session)->device(0).CreateStream();
    ASSERT_TRUE(stream.Synchronize().ok());

    const pid_t executor = ExecutorOf((*session)->daemon(), (*session)->id());
    ASSERT_GT(executor, 0);
    ASSERT_EQ(kill(executor, SIGKILL), 0);
    // The next command may be on its way before the connection breaks; what
    // waits then fails, and so does all that follows.
    ASSERT_TRUE(Eventually([&] { return !stream.Synchronize().ok(); }));
    const absl::Status status = stream.Synchronize();
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), (*session)->id()))
        << status;
    EXPECT_TRUE(absl::StrContains(status.message(), "SIGKILL")) << status;
    ASSERT_TRUE(GetErrorDetail(status).has_value());
    EXPECT_TRUE(GetErrorDetail(status)->session_lost);

    EXPECT_EQ(other.Finish(), 0);
    EXPECT_TRUE(Session::Open({.address = address}).ok());
  }
}

// One session's kernel stores where it may not, while another has work under
// way and goes on with it.
TEST_F(SessionsTest, AKernelFaultIsToldToItsSessionAndHarmsNobodyElse) {
  auto faulty = Session::Open({.address = daemon_.address()});
  auto other = Session::Open({.address = daemon_.address()});
  ASSERT_TRUE(faulty.ok() && other.ok());
  const auto compiled = Program(
                            "extern \"C\" __global__ void fill(int* x, long "
                            "stride, int value) {\n"
                            "  x[threadIdx.x * stride] = value;\n"
                            "}\n",
                            {.name = "fill.cu", .options = {"-lineinfo"}})
                            .Compile((*other)->daemon());
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  const auto fill = [&](Session& session, const Stream& stream,
                        const Buffer& buffer, int64_t stride, int value) {
    const auto module = session.Load(compiled->object);
    const auto kernel = module->GetKernel("fill");
    return Launch(stream, {.grid = 1, .block = 64}, *kernel, buffer, stride,
                  value);
  };
  const Stream stream = *(*other)->device(0).CreateStream();
  const Buffer kept = *(*other)->device(0).Allocate(64 * sizeof(int), stream);
  ASSERT_TRUE(fill(**other, stream, kept, 1, 7).ok());

  const Stream lost = *(*faulty)->device(0).CreateStream();
  const Buffer small = *(*faulty)->device(0).Allocate(64 * sizeof(int), lost);
  ASSERT_TRUE(fill(**faulty, lost, small, int64_t{1} << 32, 1).ok());
  const absl::Status fault = lost.Synchronize();
  for (const char* text : {"CUDA_ERROR_ILLEGAL_ADDRESS", "kernel fill",
                           "thread (1,0,0)", "fill.cu:2"}) {
    EXPECT_TRUE(absl::StrContains(fault.ToString(), text))
        << text << " in " << fault;
  }

  std::vector<int> numbers(64);
  ASSERT_TRUE(kept.Download(numbers, stream).ok());
  EXPECT_EQ(numbers, std::vector<int>(64, 7));
  ASSERT_TRUE(fill(**other, stream, kept, 1, 8).ok());
  EXPECT_TRUE(stream.Synchronize().ok());
  EXPECT_TRUE(Session::Open({.address = daemon_.address()}).ok());
}

TEST_F(SessionsTest, AKilledDaemonIsAClearStatus) {
  auto session = Session::Open({.address = daemon_.address()});
  ASSERT_TRUE(session.ok()) << session.status();
  const Stream stream = *(*session)->device(0).CreateStream();
  ASSERT_TRUE(stream.Synchronize().ok());
  kill(daemon_.pid(), SIGKILL);
  ASSERT_TRUE(Eventually([&] { return !stream.Synchronize().ok(); }));
  const absl::Status status = stream.Synchronize();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "daemon")) << status;
}

TEST_F(SessionsTest, ASessionThatEndsGivesItsMemoryBack) {
  Process client({ProgramPath("HOLDING_CLIENT"), daemon_.address()});
  const std::string id = client.ReadLine();
  ASSERT_TRUE(absl::StrContains(ListSessions(), Quoted(id)));
  EXPECT_EQ(client.Finish(), 0);
  // Closed in order: it is gone when the client is.
  EXPECT_FALSE(absl::StrContains(ListSessions(), Quoted(id)));
}

// A program may mix up its sessions, whose handles count alike.
TEST_F(SessionsTest, WhatBelongsToAnotherSessionIsUnknown) {
  const auto own = *Session::Open({.address = daemon_.address()});
  const auto other = *Session::Open({.address = daemon_.address()});
  const Stream stream = *own->device(0).CreateStream();
  const Stream other_stream = *other->device(0).CreateStream();
  const Buffer buffer = *own->device(0).Allocate(128, stream);
  const Buffer other_buffer = *other->device(0).Allocate(128, other_stream);
  const std::vector<int> fives(32, 5);
  ASSERT_EQ(other_buffer.Upload(fives, other_stream), absl::OkStatus());
  ASSERT_EQ(buffer.Fill(uint32_t{1}, stream), absl::OkStatus());
  std::vector<int> read(32);
  EXPECT_FALSE(buffer.Download(read, other_stream).ok());
  EXPECT_FALSE(buffer.Fill(uint32_t{9}, other_stream).ok() &&
               other->Synchronize().ok() && own->Synchronize().ok());
  const Event event = *other_stream.Record();
  EXPECT_FALSE(stream.Wait(event).ok() && own->Synchronize().ok());
  ASSERT_EQ(other_buffer.Download(read, other_stream), absl::OkStatus());
  EXPECT_EQ(read, fives);
}

class DetachTest : public ::testing::Test {
 protected:
  std::unique_ptr<Session> Open(absl::Duration lifetime) {
    auto session = Session::Open(
        {.address = daemon_.address(), .detached_lifetime = lifetime});
    EXPECT_TRUE(session.ok()) << session.status();
    return *std::move(session);
  }
  absl::StatusOr<std::unique_ptr<Session>> Attach(const std::string& id) {
    return Session::Attach(*Daemon::Connect(daemon_.address()), id);
  }
  // A session with a named buffer of these numbers, and one without a name.
  // Returns its id.
  std::string Leave(const std::vector<int>& numbers) {
    const auto session = Open(absl::Minutes(5));
    const Stream stream = *session->device(0).CreateStream();
    const Buffer named = *session->device(0).AllocateNamed(
        "numbers", numbers.size() * sizeof(int), stream);
    const Buffer other = *session->device(0).Allocate(4096, stream);
    EXPECT_EQ(named.Upload(numbers, stream), absl::OkStatus());
    EXPECT_EQ(session->Detach(), absl::OkStatus());
    return session->id();
  }
  static std::vector<int> NumbersOf(const Session& session) {
    const auto buffers = session.Buffers();
    EXPECT_EQ(buffers->size(), 2u);
    const Stream stream = *session.device(0).CreateStream();
    std::vector<int> found;
    for (const BufferInfo& info : *buffers) {
      if (info.name != "numbers") continue;
      found.resize(info.size / sizeof(int));
      const Buffer numbers = *session.Adopt(info);
      EXPECT_EQ(numbers.Download(found, stream), absl::OkStatus());
    }
    return found;
  }

  DaemonProcess daemon_{{"--detached-session-limit=10m"}};
};

TEST_F(DetachTest, ASessionLivesOnWithoutAClientAndAnotherTakesItUp) {
  const std::vector<int> numbers(1000, 42);
  const std::string id = Leave(numbers);
  const auto connection = *Daemon::Connect(daemon_.address());
  ASSERT_TRUE(Eventually([&] {
    const auto sessions = connection->Sessions();
    return sessions->size() == 1 &&
           (*sessions)[0].state() == v1::SessionInfo::STATE_DETACHED &&
           (*sessions)[0].has_ends();
  }));
  for (int i = 0; i < 2; ++i) {
    auto session = Attach(id);
    ASSERT_TRUE(session.ok()) << session.status();
    // Handles of its own do not meet those that are there.
    std::vector<Buffer> more;
    const Stream stream = *(*session)->device(0).CreateStream();
    for (int n = 0; n < 10; ++n) {
      more.push_back(*(*session)->device(0).Allocate(512, stream));
      ASSERT_EQ(more.back().Fill(uint8_t{1}, stream), absl::OkStatus());
    }
    ASSERT_EQ((*session)->Synchronize(), absl::OkStatus());
    more.clear();
    const auto buffers = (*session)->Buffers();
    ASSERT_TRUE(buffers.ok()) << buffers.status();
    ASSERT_EQ(buffers->size(), 2u);
    std::vector<Buffer> adopted;
    for (const BufferInfo& info : *buffers) {
      adopted.push_back(*(*session)->Adopt(info));
      if (info.name != "numbers") continue;
      std::vector<int> found(numbers.size());
      ASSERT_EQ(adopted.back().Download(found, stream), absl::OkStatus());
      EXPECT_EQ(found, numbers);
    }
    // Buffers that it has taken over stay there, too.
    ASSERT_EQ((*session)->Detach(), absl::OkStatus());
  }
  auto last = Attach(id);
  ASSERT_TRUE(last.ok()) << last.status();
  EXPECT_EQ(NumbersOf(**last), numbers);
  // Freed with the object that has taken it over.
  EXPECT_EQ((*last)->Buffers()->size(), 1u);
  EXPECT_EQ((*last)->Close(), absl::OkStatus());
  EXPECT_TRUE(absl::IsNotFound(Attach(id).status()));
}

// An executor takes commands of one client at a time, and may not have noticed
// yet that the one before has gone.
TEST_F(DetachTest, WhoAttachesWaitsForTheCommandsOfTheClientBefore) {
  const std::string id = Leave({1, 2, 3});
  const auto channel = grpc::CreateChannel(daemon_.address(),
                                           grpc::InsecureChannelCredentials());
  v1::AttachSessionRequest request;
  request.set_session_id(id);
  v1::AttachSessionResponse response;
  ASSERT_TRUE(Eventually([&] {
    grpc::ClientContext context;
    return v1::SessionService::NewStub(channel)
        ->AttachSession(&context, request, &response)
        .ok();
  }));
  const std::string token = absl::BytesToHexString(response.session().token());
  std::optional<grpc::ClientContext> before;
  std::unique_ptr<grpc::ClientReaderWriter<v1::CommandBatch, v1::ResultBatch>>
      commands;
  // It waits itself for the one that has left.
  ASSERT_TRUE(Eventually([&] {
    if (commands != nullptr) (void)commands->Finish();
    before.emplace();
    before->AddMetadata(kSessionTokenKey.name, token);
    commands = v1::CommandService::NewStub(channel)->Execute(&*before);
    v1::CommandBatch batch;
    batch.set_first_sequence(1000);
    batch.add_commands()->mutable_fence();
    v1::ResultBatch results;
    return commands->Write(batch) && commands->Read(&results);
  }));
  {
    // It had a client, and has none.
    grpc::ClientContext context;
    context.AddMetadata(kSessionTokenKey.name, token);
    const auto alive =
        v1::SessionService::NewStub(channel)->KeepAlive(&context);
    v1::KeepAliveResponse answer;
    ASSERT_TRUE(alive->Write({}) && alive->Read(&answer));
    context.TryCancel();
    (void)alive->Finish();
  }
  std::thread leaves([&] {
    absl::SleepFor(absl::Milliseconds(300));
    before->TryCancel();
  });
  const auto session = Attach(id);
  leaves.join();
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_EQ(NumbersOf(**session), (std::vector<int>{1, 2, 3}));
  (void)commands->Finish();
}

TEST_F(DetachTest, IsRefusedWhereItWasNotAskedForOrThereIsAClient) {
  const auto plain = Open(absl::ZeroDuration());
  EXPECT_TRUE(absl::IsFailedPrecondition(plain->Detach()));
  EXPECT_TRUE(absl::IsFailedPrecondition(Attach(plain->id()).status()));
  EXPECT_EQ(plain->Synchronize(), absl::OkStatus());
  const auto held = Open(absl::Minutes(5));
  const absl::Status refused = Attach(held->id()).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_TRUE(absl::StrContains(refused.message(), "has a client")) << refused;
  EXPECT_EQ(held->Synchronize(), absl::OkStatus());
  EXPECT_TRUE(absl::IsInvalidArgument(
      Session::Open(
          {.address = daemon_.address(), .detached_lifetime = absl::Hours(1)})
          .status()));
  const auto embedded = Session::Open({.address = "embedded:device=cpu"});
  ASSERT_TRUE(embedded.ok()) << embedded.status();
  EXPECT_TRUE(absl::IsFailedPrecondition((*embedded)->Detach()));
}

TEST_F(DetachTest, AFaultMeanwhileIsToldToWhoeverAttaches) {
  const std::vector<int> numbers(1000, 42);
  const std::string id = Leave(numbers);
  const auto connection = *Daemon::Connect(daemon_.address());
  ASSERT_EQ(kill(ExecutorOf(*connection, id), SIGKILL), 0);
  ASSERT_TRUE(Eventually([&] {
    return (*connection->Sessions())[0].state() ==
           v1::SessionInfo::STATE_FAULTED;
  }));
  auto session = Attach(id);
  ASSERT_TRUE(session.ok()) << session.status();
  const absl::Status told = (*session)->Synchronize();
  EXPECT_TRUE(absl::IsAborted(told)) << told;
  EXPECT_TRUE(absl::StrContains(told.message(), "SIGKILL")) << told;
  EXPECT_EQ(NumbersOf(**session), numbers);
}

TEST_F(DetachTest, TheCommandLineRunsAKernelAndFetchesItsOutputLater) {
  const std::string file = daemon_.directory() + "/ramp.cu";
  std::ofstream(file) << "extern \"C\" __global__ void ramp(int* x) {\n"
                         "  x[threadIdx.x] = threadIdx.x;\n"
                         "}\n";
  const auto holdfast = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), ProgramPath("HOLDFAST_CLI"));
    arguments.push_back("--address=" + daemon_.address());
    return RunProgram(arguments);
  };
  const Outcome run =
      holdfast({"run", file, "--kernel=ramp", "--grid=1", "--block=64",
                "--detach=5m", "--json", "out:somewhere/ramp.npy:i32[64]"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const std::string id =
      (*(*Daemon::Connect(daemon_.address()))->Sessions()).at(0).session_id();
  EXPECT_TRUE(absl::StrContains(run.out, Quoted(id))) << run.out;
  // A file that is there, or a link, is nothing that attach writes to.
  const std::string victim = daemon_.directory() + "/victim";
  const std::string ramp = daemon_.directory() + "/ramp.npy";
  std::ofstream(victim) << "mine";
  ASSERT_EQ(symlink("victim", ramp.c_str()), 0);
  const Outcome refused =
      holdfast({"attach", id, "--output=" + daemon_.directory()});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_TRUE(absl::StrContains(refused.err, "--overwrite")) << refused.err;
  const Outcome attached =
      holdfast({"attach", id, "--output=" + daemon_.directory(), "--overwrite",
                "--end", "--json"});
  ASSERT_EQ(attached.exit_code, 0) << attached.err;
  EXPECT_TRUE(absl::StrContains(attached.out, "ramp.npy:i32[64]"))
      << attached.out;
  std::ifstream npy(ramp, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(npy)), {});
  ASSERT_GT(bytes.size(), 64 * sizeof(int));
  std::vector<int> found(64), expected(64);
  std::memcpy(found.data(), bytes.data() + bytes.size() - 64 * sizeof(int),
              64 * sizeof(int));
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(found, expected);
  std::string kept;
  std::ifstream(victim) >> kept;
  EXPECT_EQ(kept, "mine");
  EXPECT_EQ(holdfast({"attach", id}).exit_code, 1);
}

}  // namespace
}  // namespace holdfast::e2e
