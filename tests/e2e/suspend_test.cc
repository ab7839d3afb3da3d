// SPDX-License-Identifier: Apache-2.0
//
// A session that an operator takes off its devices comes back with its next
// command, with the same handles and the same bytes; its client notices
// nothing.
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/cpp/admin/admin.h"
#include "client/cpp/compile/object_code.h"
#include "client/cpp/compile/program.h"
#include "client/cpp/graph/graph.h"
#include "client/cpp/graph/graph_exec.h"
#include "client/cpp/graph/stream_capture.h"
#include "client/cpp/launch.h"
#include "client/cpp/session.h"
#include "holdfast/v1/admin.pb.h"
#include "holdfast/v1/devices.pb.h"
#include "holdfast/v1/objects.pb.h"
#include "holdfast/v1/sessions.pb.h"
#include "tests/server/testing/daemon_process.h"

namespace holdfast {
namespace {

constexpr char kSource[] = R"(
__device__ int variable = 5;
__constant__ int factors[2] = {2, 3};
extern "C" __global__ void bump(int* x) { x[0] = factors[1] * ++variable; }
extern "C" __global__ void add(int* x, int value) {
  x[blockIdx.x * blockDim.x + threadIdx.x] += value;
}
extern "C" __global__ void spin(volatile int* flag) {
  while (*flag == 0) {}
}
// Leaves its own address, and finds it again.
extern "C" __global__ void note(long long* x) {
  x[0] = reinterpret_cast<long long>(x);
}
extern "C" __global__ void follow(long long* x) {
  *(reinterpret_cast<long long*>(x[0]) + 1) = 42;
}
)";

constexpr int kCount = 1 << 14;
constexpr uint64_t kBytes = kCount * sizeof(int);
const LaunchConfig kOneThread = {.grid = 1, .block = 1};

// A fatbin of one entry, PTX. A comment fills its beginning, where the daemon
// would know PTX, and list its variables.
std::string MakeFatbin(const std::string& ptx) {
  std::string text = "//" + std::string(4096, ' ') + "\n" + ptx;
  text.resize((text.size() / 8 + 1) * 8);
  std::string image;
  const auto put = [&image](auto value) {
    image.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  put(uint32_t{0xba55ed50});
  put(uint32_t{16 << 16 | 1});  // the header's size and its version
  put(uint64_t{64 + text.size()});
  put(uint32_t{0x101 << 16 | 1});  // PTX
  put(uint32_t{64});               // the size of the entry's own header
  put(uint64_t{text.size()});
  put(uint64_t{0});        // not compressed, no options
  put(uint32_t{8 << 16});  // PTX 8.0
  put(uint32_t{75});       // for sm_75
  put(uint64_t{0});        // no name
  put(uint64_t{0x11});     // 64 bits, Linux
  put(uint64_t{0});
  put(uint64_t{0});
  return image + text;
}

// A buffer and the numbers that it should have.
struct Numbers {
  Buffer buffer;
  std::vector<int> expected;
};

// A session with several buffers on device 0 and on another one, which may be
// the same, kernels, and a captured graph that adds 100 to the first buffer.
class Client {
 public:
  explicit Client(const SessionOptions& options, uint32_t far = 1)
      : session_(Session::Open(options).value()),
        module_(session_
                    ->Load(Program(kSource, {.name = "suspend.cu"})
                               .Compile(session_->daemon())
                               .value()
                               .object)
                    .value()),
        stream_(session_->device(0).CreateStream().value()),
        far_(session_->device(far).CreateStream().value()),
        pointers_(session_->device(0).Allocate(16, stream_).value()) {
    for (int i = 0; i < 6; ++i) {
      Numbers& numbers =
          numbers_.emplace_back(Numbers{session_->device(i % 2 == 0 ? 0 : far)
                                            .Allocate(kBytes, on(i))
                                            .value(),
                                        std::vector<int>(kCount)});
      std::iota(numbers.expected.begin(), numbers.expected.end(), i * 1000);
      EXPECT_EQ(numbers.buffer.Upload(numbers.expected, on(i)),
                absl::OkStatus());
    }
    EXPECT_EQ(Launch(stream_, kOneThread, Get("note"), pointers_),
              absl::OkStatus());
    auto capture = StreamCapture::Begin(stream_);
    EXPECT_EQ(Add(0, 100), absl::OkStatus());
    graph_.emplace(Graph::Create(*session_, capture->End().value())
                       .value()
                       .Instantiate()
                       .value());
    EXPECT_EQ(session_->Synchronize(), absl::OkStatus());
  }

  Session& session() { return *session_; }
  const Stream& stream() const { return stream_; }
  const Stream& on(int i) const { return i % 2 == 0 ? stream_ : far_; }
  const GraphExec& graph() const { return *graph_; }
  Module& module() { return module_; }
  Kernel Get(const char* name) { return module_.GetKernel(name).value(); }
  Numbers& numbers(int i) { return numbers_[i]; }

  absl::Status Add(int i, int value) {
    return Launch(on(i), {.grid = kCount / 256, .block = 256}, Get("add"),
                  numbers_[i].buffer, value);
  }

  // Every byte of every buffer, and kernels find their pointers.
  void ExpectBytes() {
    for (size_t i = 0; i < numbers_.size(); ++i) {
      std::vector<int> found(kCount);
      const Stream& stream = on(static_cast<int>(i));
      ASSERT_EQ(numbers_[i].buffer.Download(found, stream), absl::OkStatus());
      EXPECT_EQ(found, numbers_[i].expected) << "buffer " << i;
    }
    EXPECT_EQ(Launch(stream_, kOneThread, Get("follow"), pointers_),
              absl::OkStatus());
    std::vector<int64_t> found(2);
    ASSERT_EQ(pointers_.Download(found, stream_), absl::OkStatus());
    EXPECT_EQ(found[1], 42);
  }

  v1::SessionInfo Info() {
    const auto sessions = session_->daemon().Sessions();
    for (const v1::SessionInfo& info : sessions.value()) {
      if (info.session_id() == session_->id()) return info;
    }
    return {};
  }
  v1::SessionInfo::State State() { return Info().state(); }

 private:
  std::unique_ptr<Session> session_;
  Module module_;
  Stream stream_;
  Stream far_;
  Buffer pointers_;
  std::vector<Numbers> numbers_;
  std::optional<GraphExec> graph_;
};

class SuspendTest : public testing::Test {
 protected:
  explicit SuspendTest(std::vector<std::string> flags = {}) {
    char name[] = "/tmp/holdfast-suspend-XXXXXX";
    files_ = mkdtemp(name);
    flags.push_back("--software-devices=2");
    flags.push_back("--suspend-directory=" + files_);
    daemon_.emplace(std::move(flags));
    operator_ = Daemon::Connect(Address()).value();
  }
  ~SuspendTest() override {
    daemon_.reset();
    EXPECT_EQ(rmdir(files_.c_str()), 0) << "a file was left behind";
  }

  std::string Address() const { return "unix:" + daemon_->socket(); }
  std::string FileOf(const std::string& name) const {
    return files_ + "/" + name;
  }
  // A file of the directory that the daemon has open.
  std::optional<struct stat> OpenFile() const {
    for (const auto& descriptor : std::filesystem::directory_iterator(
             absl::StrCat("/proc/", daemon_->pid(), "/fd"))) {
      std::error_code gone;
      const auto target = std::filesystem::read_symlink(descriptor, gone);
      struct stat status = {};
      if (!gone && absl::StartsWith(target.string(), files_ + "/") &&
          stat(descriptor.path().c_str(), &status) == 0) {
        return status;
      }
    }
    return std::nullopt;
  }
  absl::StatusOr<uint64_t> Suspend(Client& client,
                                   const SuspendOptions& options = {}) {
    return SuspendSession(*operator_, client.session().id(), options);
  }
  // Bytes that are reserved of all devices, and of the host.
  std::pair<uint64_t, uint64_t> Reserved() {
    const auto list = operator_->ListSessions().value();
    uint64_t bytes = 0;
    for (const auto& device : list.totals().devices()) {
      bytes += device.reserved_bytes().used();
    }
    return {bytes, list.totals().host_bytes().used()};
  }
  static bool IsGone(pid_t pid) { return kill(pid, 0) != 0; }

  std::string files_;
  std::optional<DaemonProcess> daemon_;
  std::shared_ptr<Daemon> operator_;
};

TEST_F(SuspendTest, TheNextLaunchBringsBackEveryByte) {
  // The second is a client of another machine, whose commands are forwarded.
  for (const SessionOptions& options :
       {SessionOptions{.address = Address()},
        SessionOptions{.address = "tcp:" + daemon_->tcp_address(),
        .reconnect_grace = absl::Minutes(1)},
        SessionOptions{.address = "tcp:" + daemon_->tcp_address()}}) {
    SCOPED_TRACE(options.address);
    Client client(options);
    const bool local = absl::StartsWith(options.address, "unix:");
    std::shared_ptr<Arena> arena;
    std::optional<ArenaSpan> span;
    if (local) {
      arena = client.session().CreateArena(kBytes).value();
      span.emplace(arena->Allocate(kBytes).value());
      ASSERT_EQ(client.numbers(1).buffer.CopyTo(*span, client.on(1)),
                absl::OkStatus());
    }
    const Event event = client.session().device(0).CreateEvent().value();
    ASSERT_EQ(client.stream().Record(event), absl::OkStatus());
    ASSERT_EQ(client.session().Synchronize(), absl::OkStatus());
    const pid_t executor = static_cast<pid_t>(client.Info().executor_pid());

    const auto suspended = Suspend(client);
    ASSERT_EQ(suspended.status(), absl::OkStatus());
    EXPECT_GE(*suspended, 6 * kBytes);
    EXPECT_TRUE(IsGone(executor));
    const v1::SessionInfo info = client.Info();
    EXPECT_EQ(info.state(), v1::SessionInfo::STATE_SUSPENDED);
    EXPECT_EQ(info.executor_pid(), 0);
    EXPECT_EQ(info.memory_bytes(), 0u);
    EXPECT_EQ(info.usage().suspended_bytes(), *suspended);
    EXPECT_EQ(Reserved().first, 0u);
    EXPECT_GE(Reserved().second, *suspended);

    // The graph adds 100; nobody is told of anything.
    ASSERT_EQ(client.graph().Launch(client.stream()), absl::OkStatus());
    ASSERT_EQ(client.stream().Synchronize(), absl::OkStatus());
    for (int& number : client.numbers(0).expected) number += 100;
    client.ExpectBytes();
    EXPECT_EQ(event.Synchronize(), absl::OkStatus());
    if (local) {
      std::vector<int> kept(kCount);
      std::memcpy(kept.data(), span->data(), kBytes);
      EXPECT_EQ(kept, client.numbers(1).expected);
      ASSERT_EQ(client.numbers(2).buffer.CopyFrom(*span, client.on(2)),
                absl::OkStatus());
      client.numbers(2).expected = client.numbers(1).expected;
      client.ExpectBytes();
    }
    EXPECT_EQ(client.State(), v1::SessionInfo::STATE_ACTIVE);
    EXPECT_EQ(client.Info().faults(), 0u);
    EXPECT_EQ(client.Info().usage().suspended_bytes(), 0u);
    EXPECT_GT(Reserved().first, 0u);
  }
}

// The remote client keeps what it sent: a command may be on its way while the
// session is suspended.
TEST_F(SuspendTest, ALargeCopyBringsItBackToo) {
  for (const std::string& address :
       {Address(), "tcp:" + daemon_->tcp_address()}) {
    SCOPED_TRACE(address);
    Client client({.address = address, .reconnect_grace = absl::Minutes(1)});
    const uint64_t size = uint64_t{3} << 20;
    const Buffer large =
        client.session().device(1).Allocate(size, client.on(1)).value();
    std::vector<uint8_t> bytes(size), found(size);
    std::iota(bytes.begin(), bytes.end(), 0);
    ASSERT_TRUE(Suspend(client).ok());
    ASSERT_EQ(large.Upload(bytes, client.on(1)), absl::OkStatus());
    ASSERT_EQ(client.on(1).Synchronize(), absl::OkStatus());
    ASSERT_TRUE(Suspend(client).ok());
    ASSERT_EQ(large.Download(found, client.on(1)), absl::OkStatus());
    EXPECT_EQ(found, bytes);
    ASSERT_TRUE(Suspend(client).ok());
    if (address == Address()) {
      EXPECT_TRUE(client.session().CreateArena(4096).ok());
    }
    client.ExpectBytes();
  }
}

TEST_F(SuspendTest, ItStaysSuspendedUntilItIsNeeded) {
  Client client({.address = Address()});
  ASSERT_TRUE(Suspend(client).ok());
  usleep(300'000);
  EXPECT_EQ(client.State(), v1::SessionInfo::STATE_SUSPENDED);
  EXPECT_TRUE(absl::IsFailedPrecondition(Suspend(client).status()));
  ASSERT_EQ(ResumeSession(*operator_, client.session().id()).status(),
            absl::OkStatus());
  EXPECT_EQ(client.State(), v1::SessionInfo::STATE_ACTIVE);
  EXPECT_GT(client.Info().executor_pid(), 0);
  EXPECT_TRUE(absl::IsFailedPrecondition(
      ResumeSession(*operator_, client.session().id()).status()));
  client.ExpectBytes();
}

TEST_F(SuspendTest, AFileHoldsItUntilItResumesOrEnds) {
  std::optional<Client> client(SessionOptions{.address = Address()});
  const auto suspended = Suspend(*client, {.file = "s.memory"});
  ASSERT_EQ(suspended.status(), absl::OkStatus());
  const auto file = OpenFile();
  ASSERT_TRUE(file.has_value());
  EXPECT_EQ(static_cast<uint64_t>(file->st_size), *suspended);
  EXPECT_EQ(file->st_mode & 0777, 0600u);
  EXPECT_LT(Reserved().second, *suspended);
  // A daemon that is killed leaves nothing on the disk: the file has no name.
  EXPECT_TRUE(std::filesystem::is_empty(files_));
  client->ExpectBytes();
  EXPECT_FALSE(OpenFile().has_value());
  // A name that is taken is refused, and the session goes on.
  std::ofstream(FileOf("taken")) << "another's";
  EXPECT_TRUE(
      absl::IsAlreadyExists(Suspend(*client, {.file = "taken"}).status()));
  client->ExpectBytes();
  std::filesystem::remove(FileOf("taken"));
  for (const char* name : {"../s", "/tmp/s", ".hidden", "a b"}) {
    EXPECT_TRUE(
        absl::IsInvalidArgument(Suspend(*client, {.file = name}).status()))
        << name;
  }
  ASSERT_TRUE(Suspend(*client, {.file = "s.memory"}).ok());
  EXPECT_TRUE(OpenFile().has_value());
  ASSERT_EQ(EndSession(*operator_, client->session().id(), ""),
            absl::OkStatus());
  EXPECT_FALSE(OpenFile().has_value());
  client.reset();
  EXPECT_EQ(Reserved().first, 0u);
}

TEST_F(SuspendTest, TheEndOfASuspendedSessionFreesItsHostMemory) {
  std::optional<Client> client(SessionOptions{.address = Address()});
  ASSERT_TRUE(Suspend(*client).ok());
  EXPECT_GT(Reserved().second, 0u);
  ASSERT_EQ(EndSession(*operator_, client->session().id(), ""),
            absl::OkStatus());
  EXPECT_EQ(Reserved().first, 0u);
  EXPECT_EQ(Reserved().second, 0u);
}

TEST_F(SuspendTest, RefusalsNameTheResourceAndTheSessionGoesOn) {
  Client client({.address = Address()});
  // Memory that the block before has freed may still be on its way out.
  const auto expect_refusal = [&](const std::string& text) {
    absl::Status status = Suspend(client).status();
    for (int i = 0; i < 500 && !absl::StrContains(status.message(), text);
         ++i) {
      usleep(10'000);
      status = Suspend(client).status();
    }
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), text)) << status;
    client.ExpectBytes();
  };
  {
    const Buffer shared =
        client.session().device(0).AllocateShared(kBytes).value();
    const std::string token = shared.Export().value();
    expect_refusal("exports");
    ASSERT_EQ(client.session().RevokeExport(token), absl::OkStatus());
    expect_refusal("shared");
  }
  {
    Client owner({.address = Address()});
    const Buffer shared =
        owner.session().device(0).AllocateShared(kBytes).value();
    const Buffer imported =
        Buffer::Import(client.session().state(), 0, shared.Export().value())
            .value();
    expect_refusal("of other sessions");
  }
  ASSERT_EQ(client.session().Synchronize(), absl::OkStatus());
  {
    const Buffer pinned = client.session().AllocateHost(4096).value();
    expect_refusal("page-locked");
  }
  ASSERT_EQ(client.session().Synchronize(), absl::OkStatus());
  EXPECT_TRUE(absl::IsNotFound(SuspendSession(*operator_, "s-4711").status()));
}

TEST_F(SuspendTest, WorkThatDoesNotEndInTimeIsNamedAndGoesOn) {
  Client client({.address = Address()});
  const Stream other = client.session().device(0).CreateStream().value();
  const Buffer flag =
      client.session().device(0).Allocate(sizeof(int), client.stream()).value();
  ASSERT_EQ(flag.Upload(std::vector<int>{0}, client.stream()),
            absl::OkStatus());
  ASSERT_EQ(Launch(client.stream(), kOneThread, client.Get("spin"), flag),
            absl::OkStatus());
  ASSERT_EQ(
      Launch(other, kOneThread, client.Get("add"), client.numbers(2).buffer, 0),
      absl::OkStatus());
  // The kernel has begun: what waits in the ring is no work.
  ASSERT_FALSE(client.stream().IsDone().value());
  const absl::Status status =
      Suspend(client, {.timeout = absl::Milliseconds(200)}).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  EXPECT_EQ(client.State(), v1::SessionInfo::STATE_ACTIVE);
  ASSERT_EQ(flag.Upload(std::vector<int>{1}, other), absl::OkStatus());
  ASSERT_EQ(client.session().Synchronize(), absl::OkStatus());
  ASSERT_EQ(Suspend(client).status(), absl::OkStatus());
  client.ExpectBytes();
}

TEST_F(SuspendTest, AnExecutorThatDiesMeanwhileIsRecoveredFrom) {
  for (int i = 0; i < 4; ++i) {
    Client client({.address = Address()});
    const pid_t executor = static_cast<pid_t>(client.Info().executor_pid());
    std::thread killer([&] {
      usleep(static_cast<useconds_t>(i) * 3000);
      kill(executor, SIGKILL);
    });
    const auto suspended = Suspend(client);
    killer.join();
    // Either way all is there; a fault is told once.
    client.session().Synchronize().IgnoreError();
    client.session().Synchronize().IgnoreError();
    client.ExpectBytes();
    EXPECT_EQ(client.State(), v1::SessionInfo::STATE_ACTIVE);
    EXPECT_EQ(client.Info().faults(), suspended.ok() ? 0u : 1u);
  }
}

// They lie in the executor's own context, and not in the session's chunks.
TEST_F(SuspendTest, VariablesOfModulesKeepTheirValues) {
  Client client({.address = Address()});
  const Device device = client.session().device(0);
  const Buffer variable = client.module().GetGlobal("variable", 0).value();
  const Buffer factors = client.module().GetGlobal("factors", 0).value();
  ASSERT_EQ(factors.Upload(std::vector<int>{7, 10}, client.stream()),
            absl::OkStatus());
  const Buffer result = device.Allocate(sizeof(int), client.stream()).value();
  int expected = 5;
  const auto expect_next = [&] {
    ASSERT_EQ(Launch(client.stream(), kOneThread, client.Get("bump"), result),
              absl::OkStatus());
    std::vector<int> found(1);
    ASSERT_EQ(result.Download(found, client.stream()), absl::OkStatus());
    EXPECT_EQ(found[0], 10 * ++expected);
    ASSERT_EQ(variable.Download(found, client.stream()), absl::OkStatus());
    EXPECT_EQ(found[0], expected);
  };
  expect_next();
  ASSERT_EQ(Suspend(client).status(), absl::OkStatus());
  expect_next();
  ASSERT_EQ(Upgrade(*operator_).status(), absl::OkStatus());
  expect_next();
  // The first call may still go over a connection to the daemon that is gone.
  absl::Status suspended = Suspend(client).status();
  for (int i = 0; absl::IsUnavailable(suspended) && i < 100; ++i) {
    absl::SleepFor(absl::Milliseconds(50));
    suspended = Suspend(client).status();
  }
  ASSERT_EQ(suspended, absl::OkStatus());
  ASSERT_EQ(Upgrade(*operator_).status(), absl::OkStatus());
  expect_next();
  client.ExpectBytes();
}

// The daemon cannot list them: those with a handle are the ones that are saved.
TEST_F(SuspendTest, AVariableOfAFatbinIsKeptOnceItHasAHandle) {
  Client client({.address = Address()});
  Daemon& daemon = client.session().daemon();
  const std::string ptx = Program(kSource, {.name = "suspend.cu"})
                              .Compile(daemon, {}, v1::OBJECT_FORMAT_PTX)
                              .value()
                              .object.Fetch(daemon)
                              .value();
  const Module module = client.session()
                            .Load(ObjectCode::Put(daemon, MakeFatbin(ptx),
                                                  v1::OBJECT_FORMAT_FATBIN)
                                      .value())
                            .value();
  const std::vector<int> written = {9};
  const auto expect_written = [&](const Buffer& variable) {
    std::vector<int> found(1);
    ASSERT_EQ(variable.Download(found, client.stream()), absl::OkStatus());
    EXPECT_EQ(found, written);
  };
  {
    const Buffer variable = module.GetGlobal("variable", 0).value();
    ASSERT_EQ(variable.Upload(written, client.stream()), absl::OkStatus());
    ASSERT_EQ(Suspend(client).status(), absl::OkStatus());
    expect_written(variable);
  }
  // Its handle is gone.
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(client.session().Synchronize(), absl::OkStatus());
    ASSERT_EQ(Suspend(client).status(), absl::OkStatus());
    client.ExpectBytes();
  }
  expect_written(module.GetGlobal("variable", 0).value());
}

TEST(IdleSuspensionTest, ASessionThatDoesNothingMakesRoomUntilItsNextCommand) {
  const DaemonProcess daemon({"--software-devices=2", "--suspend-idle=300ms"});
  Client client({.address = "unix:" + daemon.socket()});
  for (int i = 0; i < 2; ++i) {
    for (int n = 0; client.State() != v1::SessionInfo::STATE_SUSPENDED; ++n) {
      ASSERT_LT(n, 3000) << "the session was not suspended";
      usleep(10'000);
    }
    ASSERT_EQ(client.Add(0, 1), absl::OkStatus());
    for (int& number : client.numbers(0).expected) ++number;
    client.ExpectBytes();
    EXPECT_EQ(client.Info().faults(), 0u);
  }
}

// Commands on their way when the session was suspended run once, in order.
TEST_F(SuspendTest, ABusyClientLosesNoCommandAndRunsNoneTwice) {
  for (const SessionOptions& options :
       {SessionOptions{.address = Address()},
        SessionOptions{.address = "tcp:" + daemon_->tcp_address(),
        .reconnect_grace = absl::Minutes(1)}}) {
    SCOPED_TRACE(options.address);
    Client client(options);
    std::atomic<bool> stop{false};
    std::atomic<int> added{0};
    std::thread worker([&] {
      while (!stop) {
        ASSERT_EQ(client.Add(0, 1), absl::OkStatus());
        if (++added % 64 != 0) continue;
        ASSERT_EQ(client.stream().Synchronize(), absl::OkStatus());
      }
    });
    int times = 0;
    for (int i = 0; i < 8; ++i) {
      const auto suspended = Suspend(client);
      times += suspended.ok() ? 1 : 0;
      usleep(20'000);
    }
    stop = true;
    worker.join();
    EXPECT_GT(times, 0);
    for (int& number : client.numbers(0).expected) number += added;
    client.ExpectBytes();
    EXPECT_EQ(client.Info().faults(), 0u);
  }
}

using Devices = std::vector<uint32_t>;

// A session with one device is resumed on the other. Device 0 fails as a file
// of the test tells it to.
class MoveTest : public SuspendTest {
 protected:
  MoveTest() : SuspendTest(Flags()) { client_.emplace(OneDevice(), /*far=*/0); }
  ~MoveTest() override {
    client_.reset();
    unsetenv("HOLDFAST_SOFTWARE_DEFECTS");
    unsetenv("HOLDFAST_SOFTWARE_MEMORY");
    unlink(Defects().c_str());
  }

  static std::string Defects() {
    return absl::StrCat(testing::TempDir(), "/holdfast-defects-", getpid());
  }
  static void SetDefects(const std::string& text) {
    std::ofstream(Defects(), std::ios::trunc) << text;
  }
  static std::vector<std::string> Flags() {
    SetDefects("");
    setenv("HOLDFAST_SOFTWARE_DEFECTS", Defects().c_str(), 1);
    setenv("HOLDFAST_SOFTWARE_MEMORY", "128M", 1);
    return {"--probe-interval=100ms"};
  }
  SessionOptions OneDevice() const {
    return {.address = Address(), .devices = {0}};
  }

  absl::StatusOr<Devices> Resume(uint32_t device) {
    return ResumeSession(*operator_, client_->session().id(),
                         {.device = device});
  }
  void SuspendIt() {
    // A buffer's end is a command, which would bring it back.
    ASSERT_EQ(client_->session().Synchronize(), absl::OkStatus());
    // The first call may go over a connection to a daemon that is gone.
    absl::Status suspended = Suspend(*client_).status();
    for (int i = 0; absl::IsUnavailable(suspended) && i < 100; ++i) {
      absl::SleepFor(absl::Milliseconds(50));
      suspended = Suspend(*client_).status();
    }
    ASSERT_EQ(suspended, absl::OkStatus());
  }
  uint64_t ReservedOn(int device) {
    const auto list = operator_->ListSessions().value();
    return list.totals().devices(device).reserved_bytes().used();
  }
  // All of it is on this device, and of use.
  void ExpectOn(uint32_t device) {
    client_->ExpectBytes();
    ASSERT_EQ(client_->graph().Launch(client_->stream()), absl::OkStatus());
    for (int& number : client_->numbers(0).expected) number += 100;
    ASSERT_EQ(client_->Add(1, 1), absl::OkStatus());
    for (int& number : client_->numbers(1).expected) ++number;
    client_->ExpectBytes();
    const v1::SessionInfo info = client_->Info();
    EXPECT_EQ(Devices(info.devices().begin(), info.devices().end()),
              Devices{device});
    EXPECT_EQ(info.has_moved_from(), device != 0);
    EXPECT_EQ(info.moved_from(), 0u);
    EXPECT_EQ(info.state(), v1::SessionInfo::STATE_ACTIVE);
  }
  // Takes the device's memory until there is no more.
  static std::vector<Buffer> Fill(Session& session, uint32_t device) {
    std::vector<Buffer> taken;
    const Stream stream = session.device(device).CreateStream().value();
    while (true) {
      auto buffer = session.device(device).Allocate(1 << 20, stream);
      if (!buffer.ok() || !session.Synchronize().ok()) return taken;
      taken.push_back(*std::move(buffer));
    }
  }

  std::optional<Client> client_;
};

TEST_F(MoveTest, AnOperatorResumesItOnAnotherDeviceAndBack) {
  const Event event = client_->session().device(0).CreateEvent().value();
  ASSERT_EQ(client_->stream().Record(event), absl::OkStatus());
  const Buffer result = client_->session()
                            .device(0)
                            .Allocate(sizeof(int), client_->stream())
                            .value();
  int variable = 5;
  const auto expect_next = [&] {
    ASSERT_EQ(
        Launch(client_->stream(), kOneThread, client_->Get("bump"), result),
        absl::OkStatus());
    std::vector<int> found(1);
    ASSERT_EQ(result.Download(found, client_->stream()), absl::OkStatus());
    EXPECT_EQ(found[0], 3 * ++variable);
  };
  expect_next();
  for (const uint32_t device : {1, 1, 0}) {
    SCOPED_TRACE(device);
    ASSERT_NO_FATAL_FAILURE(SuspendIt());
    const auto resumed = Resume(device);
    ASSERT_EQ(resumed.status(), absl::OkStatus());
    EXPECT_EQ(*resumed, Devices{device});
    EXPECT_GT(ReservedOn(static_cast<int>(device)), 0u);
    EXPECT_EQ(ReservedOn(device == 0 ? 1 : 0), 0u);
    ExpectOn(device);
    expect_next();
    EXPECT_EQ(event.Synchronize(), absl::OkStatus());
    // Its client goes on to name it 0.
    const Device named = client_->session().device(0);
    const Stream stream = named.CreateStream().value();
    const Buffer more = named.Allocate(8 << 20, stream).value();
    ASSERT_EQ(more.Upload(std::vector<int>{1, 2}, stream), absl::OkStatus());
    ASSERT_EQ(client_->session().Synchronize(), absl::OkStatus());
    EXPECT_EQ(ReservedOn(device == 0 ? 1 : 0), 0u);
    EXPECT_EQ(client_->Info().faults(), 0u);
  }
  absl::Duration on_other;
  const v1::SessionInfo info = client_->Info();
  for (const auto& time : info.usage().gpu_time()) {
    if (time.device() != 1) continue;
    on_other = absl::Seconds(time.time().seconds()) +
               absl::Nanoseconds(time.time().nanos());
  }
  EXPECT_GT(on_other, absl::ZeroDuration());
}

TEST_F(MoveTest, AFaultAndTheNextDaemonFindItWhereItIs) {
  ASSERT_NO_FATAL_FAILURE(SuspendIt());
  ASSERT_EQ(Resume(1).status(), absl::OkStatus());
  ExpectOn(1);
  kill(static_cast<pid_t>(client_->Info().executor_pid()), SIGKILL);
  client_->session().Synchronize().IgnoreError();
  client_->session().Synchronize().IgnoreError();
  ExpectOn(1);
  EXPECT_EQ(client_->Info().faults(), 1u);
  ASSERT_EQ(Upgrade(*operator_).status(), absl::OkStatus());
  ExpectOn(1);
  ASSERT_NO_FATAL_FAILURE(SuspendIt());
  ASSERT_EQ(Upgrade(*operator_).status(), absl::OkStatus());
  ExpectOn(1);
}

TEST_F(MoveTest, TheNextCommandLeavesADeviceInQuarantine) {
  ASSERT_NO_FATAL_FAILURE(SuspendIt());
  SetDefects("0 gone\n");
  while (operator_->Devices().value().devices(0).health().state() !=
         v1::DeviceHealth::STATE_QUARANTINED) {
    absl::SleepFor(absl::Milliseconds(10));
  }
  ExpectOn(1);
  EXPECT_EQ(client_->Info().faults(), 0u);
  EXPECT_EQ(ReservedOn(0), 0u);
}

TEST_F(MoveTest, TheNextCommandGoesWhereThereIsMemory) {
  ASSERT_NO_FATAL_FAILURE(SuspendIt());
  const auto other = Session::Open(OneDevice()).value();
  const std::vector<Buffer> taken = Fill(*other, 0);
  ASSERT_GT(taken.size(), 0u);
  ExpectOn(1);
}

TEST_F(MoveTest, RefusalsNameTheReasonAndItStaysSuspended) {
  const auto expect_refused = [](const absl::Status& status,
                                 absl::StatusCode code,
                                 const std::string& text) {
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), text)) << status;
  };
  expect_refused(Resume(1).status(), absl::StatusCode::kFailedPrecondition,
                 "is not suspended");
  ASSERT_NO_FATAL_FAILURE(SuspendIt());
  expect_refused(Resume(7).status(), absl::StatusCode::kNotFound,
                 "device 7 does not exist");
  {
    const auto other =
        Session::Open({.address = Address(), .devices = {1}}).value();
    const std::vector<Buffer> taken = Fill(*other, 1);
    expect_refused(Resume(1).status(), absl::StatusCode::kResourceExhausted,
                   "stays suspended: memory of device 1");
  }
  EXPECT_EQ(client_->State(), v1::SessionInfo::STATE_SUSPENDED);
  ASSERT_EQ(Resume(0).status(), absl::OkStatus());
  ExpectOn(0);
  Client both({.address = Address()});
  ASSERT_EQ(Suspend(both).status(), absl::OkStatus());
  expect_refused(
      ResumeSession(*operator_, both.session().id(), {.device = 1}).status(),
      absl::StatusCode::kFailedPrecondition, "has 2 devices (0, 1)");
  EXPECT_EQ(both.State(), v1::SessionInfo::STATE_SUSPENDED);
  both.ExpectBytes();
}

}  // namespace
}  // namespace holdfast
