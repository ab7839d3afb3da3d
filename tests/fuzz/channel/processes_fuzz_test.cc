// SPDX-License-Identifier: Apache-2.0
//
// The channels between the daemon's own processes, with one end hostile:
//
//   supervisor  reads what an executor, a compiler worker and the spawner say;
//   executor    reads what its supervisor says.
//
// The processes are real: this program is the executor and the compiler that
// it starts. The spawner's end is taken out of the real spawner.
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/log.h"
#include "server/compile/compiler_worker.h"
#include "server/executor/link/supervisor_link.h"
#include "server/holdings/session_holdings.h"
#include "server/memory/memory_ledger.h"
#include "server/objects/object_store.h"
#include "server/process/spawner.h"
#include "server/supervisor/device_catalogue.h"
#include "server/supervisor/executor_process.h"
#include "server/tenants/tenant.h"
#include "tests/fuzz/channel/hostile_sender.h"
#include "tests/fuzz/engine/fuzzer.h"
#include "tests/fuzz/engine/open_descriptors.h"

namespace holdfast::fuzz {
namespace {

constexpr char kHostileExecutor[] = "--hostile-executor=";
constexpr char kHostileCompiler[] = "--hostile-compiler=";
constexpr char kVictim[] = "--victim=";

// How long the supervisor waits for an answer that may never come, and for that
// of an executor which gives it.
constexpr absl::Duration kPatience = absl::Milliseconds(40);
constexpr absl::Duration kObligingPatience = absl::Seconds(5);
constexpr absl::Duration kCloseLimit = absl::Seconds(10);

// Executors after which some of everything has happened.
constexpr uint64_t kEnough = 250;

// A process that says anything, and then ends in one of the ways that there
// are.
[[noreturn]] void BeHostile(const Corpus& corpus, uint64_t seed) {
  Random random(seed);
  Channel channel{UniqueFd(kChildChannelFd)};
  // Half of them pass for what they should be.
  if (random.OneIn(2)) static_cast<void>(channel.Send(*corpus.front()));
  for (uint64_t frames = 1 + random.Below(30); frames > 0; --frames) {
    if (!SendHostileFrame(channel.fd(), corpus, random)) break;
  }
  switch (random.Below(5)) {
    case 0:
      _exit(static_cast<int>(random.Below(256)));
    case 1:
      std::abort();
    case 2:  // Stays and says nothing more.
      while (true) pause();
    case 3:
      channel.Shutdown();
      while (true) pause();
    default:  // Answers whatever it is told.
      internal::ToExecutor message;
      while (channel.Receive(&message).ok()) {
        SendHostileFrame(channel.fd(), corpus, random);
      }
      _exit(0);
  }
}

// Three in four executors do all that is asked of them, and say more beside it:
// what they say reaches a supervisor that has a session open for them. One in
// four shares nothing, so that it can be suspended.
bool IsObliging(uint64_t seed) { return seed % 4 != 0; }
bool SharesNothing(uint64_t seed) { return seed % 4 == 1; }

internal::FromExecutor AnswerTo(const internal::ToExecutor& request) {
  internal::FromExecutor answer;
  answer.set_question(request.question());
  switch (request.message_case()) {
    case internal::ToExecutor::kAssign:
    case internal::ToExecutor::kResume:
      answer.mutable_serving();
      break;
    case internal::ToExecutor::kReportUsage:
      answer.mutable_usage();
      break;
    case internal::ToExecutor::kQuiesce:
      answer.mutable_quiesced();
      break;
    case internal::ToExecutor::kSaveMemory:
      answer.mutable_memory_saved();
      break;
    default:
      break;
  }
  return answer;
}

// Uses a token that was granted, at once and later.
void Learn(const internal::ToExecutor& request, Channel& channel,
           Corpus* corpus) {
  if (!request.has_sharing() || request.sharing().token().empty()) return;
  for (const v1::HandleKind kind :
       {v1::HANDLE_KIND_BUFFER, v1::HANDLE_KIND_EVENT}) {
    auto message = std::make_unique<internal::FromExecutor>();
    auto& import = *message->mutable_sharing()->mutable_import_resource();
    import.set_kind(kind);
    import.set_token(request.sharing().token());
    SendGoodFrame(channel, *message);
    corpus->push_back(std::move(message));
  }
}

bool IsAnswer(const std::unique_ptr<google::protobuf::Message>& message) {
  const auto& said = static_cast<const internal::FromExecutor&>(*message);
  return said.has_ready() || said.question() != 0;
}

[[noreturn]] void BeHostileExecutor(uint64_t seed) {
  Corpus corpus = FromExecutorMessages();
  if (!IsObliging(seed)) BeHostile(corpus, seed);
  Random random(seed);
  Channel channel{UniqueFd(kChildChannelFd)};
  SendGoodFrame(channel, *corpus.front());
  // The first answer that nobody has asked for ends it.
  if (!random.OneIn(8)) std::erase_if(corpus, IsAnswer);
  internal::ToExecutor request;
  while (channel.Receive(&request).ok()) {
    Learn(request, channel, &corpus);
    const internal::FromExecutor answer = AnswerTo(request);
    if (answer.message_case() == internal::FromExecutor::MESSAGE_NOT_SET) {
      continue;
    }
    SendGoodFrame(channel, answer);
    // In the order of the seeds, of which each needs those before it, or any.
    if (random.OneIn(2)) {
      for (const auto& seed_message : corpus) {
        const auto& said =
            static_cast<const internal::FromExecutor&>(*seed_message);
        if (said.has_fault() ||
            (said.has_sharing() && (SharesNothing(seed) || random.OneIn(6)))) {
          continue;
        }
        SendGoodFrame(channel, said);
      }
    }
    const uint64_t odd =
        SharesNothing(seed) || random.OneIn(2) ? 0 : random.Below(20);
    for (uint64_t count = odd; count > 0; --count) {
      SendOddMessage(channel, corpus, random);
    }
  }
  _exit(0);
}

// An executor without a device: what it hears decides nothing but its end.
[[noreturn]] void BeVictim() {
  SetLogLevel(static_cast<LogLevel>(static_cast<int>(LogLevel::kError) + 1));
  executor::SupervisorLink link{UniqueFd(kChildChannelFd)};
  link.OnUsageAsked([](internal::Usage* usage) {
    usage->mutable_usage()->mutable_arena_bytes()->set_used(1);
  });
  link.SendReady(internal::Ready());
  if (!link.AwaitAssign().ok()) _exit(0);
  link.SendServing(internal::Serving());
  for (int i = 0; i < 3; ++i) {
    const auto object = link.FetchObject(std::string(32, 's'));
    if (!object.ok()) continue;
    // The mapping must be there to its end.
    volatile char last = 0;
    if (object->image.size() > 0) {
      last = static_cast<const char*>(
          object->image.data())[object->image.size() - 1];
    }
    static_cast<void>(last);
  }
  internal::MemoryPlace pinned;
  pinned.set_host(internal::HOST_MEMORY_PINNED);
  static_cast<void>(link.Reserve(pinned, 4096));
  internal::SharingRequest request;
  request.set_reopen(1);
  static_cast<void>(link.AskSharing(request, /*descriptor=*/-1));
  static_cast<void>(link.LoadCode(std::string(64, 'a')));
  while (link.AwaitRequest().has_value()) {
  }
  _exit(0);
}

class ProcessesTarget : public FuzzTarget {
 public:
  absl::Status Execute(Random& random) override {
    const auto before = OpenDescriptors();
    absl::Status status = Play(random);
    const absl::Time deadline = absl::Now() + kCloseLimit;
    std::string more;
    while (!(more = NewDescriptors(before, OpenDescriptors())).empty() &&
           absl::Now() < deadline) {
      absl::SleepFor(absl::Milliseconds(1));
    }
    HOLDFAST_FUZZ_EXPECT(more.empty(), more);
    return status;
  }

  // Far enough in that every part of the supervisor that executors speak to was
  // reached.
  absl::Status Finish() override {
    if (executors_ < kEnough) return absl::OkStatus();
    HOLDFAST_FUZZ_EXPECT(served_ > 0, Summary());
    HOLDFAST_FUZZ_EXPECT(chunks_ > 0, Summary());
    HOLDFAST_FUZZ_EXPECT(exports_ > 0, Summary());
    HOLDFAST_FUZZ_EXPECT(restored_ > 0, Summary());
    HOLDFAST_FUZZ_EXPECT(faults_ > 0, Summary());
    HOLDFAST_FUZZ_EXPECT(suspended_ > 0, Summary());
    return absl::OkStatus();
  }

  std::string Summary() const override {
    return absl::StrCat(executors_, " hostile executors, of which ", ready_,
                        " passed for ready and ", served_, " got a session, ",
                        chunks_, " held chunks, ", exports_, " exported, ",
                        imports_, " imported, ", suspended_,
                        " were suspended, ", restored_, " took over, ", faults_,
                        " told of a fault; ", compilers_,
                        " hostile compilers passed for ready; ", frames_,
                        " frames to executors and spawners' readers");
  }

 private:
  absl::Status Play(Random& random) {
    // This process has one thread between executions.
    auto spawner = Spawner::Create({});
    if (!spawner.ok()) return spawner.status();
    switch (random.Below(4)) {
      case 0:
        return PlayCompiler(**spawner, random);
      case 1:
        return PlayVictim(**spawner, random);
      case 2:
        return PlaySpawner(**spawner, random);
      default:
        return PlayExecutor(**spawner, random);
    }
  }

  // The questions that an executor may ask, for one execution.
  struct Supervisor {
    ObjectStore store{1 << 20};
    supervisor::CodeCache code{"", 0};
    MemoryLedger ledger{1 << 20};
    DeviceMemory memory;
    ExportRegistry exports;
    collections::CollectionTable collections;
    DescriptorStore kept;
    ExecutionTotals totals;
    supervisor::SharePacer pacer;

    supervisor::ExecutorProcess::Services services() {
      return {store,       code, ledger, memory, exports,
              collections, kept, totals, pacer,  /*died=*/nullptr};
    }
  };

  // A session's executor, and perhaps those that take over from it.
  absl::Status PlayExecutor(Spawner& spawner, Random& random) {
    Supervisor supervisor;
    std::unique_ptr<SessionHoldings> holdings;
    for (uint64_t epoch = 1; epoch <= 3; ++epoch) {
      ++executors_;
      const uint64_t seed = random.Next();
      auto process = supervisor::ExecutorProcess::Start(
          spawner, {absl::StrCat(kHostileExecutor, seed)}, SpawnOptions(),
          supervisor.services());
      if (!process.ok()) return process.status();
      int ends = 0;
      if (random.OneIn(2)) {
        (*process)->OnEnd([&](const absl::Status&) { ++ends; });
      }
      PlaySession(**process, seed, epoch, std::move(holdings), supervisor,
                  random);
      const bool over = random.OneIn(3);
      if (!over) holdings = (*process)->TakeHoldings();
      if (random.OneIn(2)) (*process)->Stop(absl::Now() + kPatience);
      process->reset();
      HOLDFAST_FUZZ_EXPECT(ends <= 1, ends, " ends of one process");
      if (over || holdings == nullptr) break;
      if (holdings->suspension().descriptor() >= 0 && random.OneIn(2)) {
        holdings->Suspend();
      }
    }
    holdings = nullptr;
    return CheckNothingGranted(supervisor.ledger);
  }

  void PlaySession(supervisor::ExecutorProcess& process, uint64_t seed,
                   uint64_t epoch, std::unique_ptr<SessionHoldings> holdings,
                   Supervisor& supervisor, Random& random) {
    const absl::Duration patience =
        IsObliging(seed) ? kObligingPatience : kPatience;
    const auto ready = process.AwaitReady(absl::Now() + patience);
    if (!ready.ok()) return;
    ++ready_;
    LookAt(*ready, supervisor.memory, random);
    const bool restores = holdings != nullptr;
    if (restores) process.Inherit(std::move(holdings));
    supervisor::SessionStart start;
    start.assign.set_session_id("s-1");
    start.assign.set_token("0123456789abcdef");
    start.assign.add_devices(0);
    start.assign.add_devices(1);
    start.assign.set_epoch(epoch);
    start.tenant = std::make_shared<Tenant>(Tenant::Options{.name = "uid 1"});
    if (!process.Serve(start, absl::Now() + patience).ok()) return;
    ++served_;
    if (restores) ++restored_;
    // Answered when all is read that was said before.
    Count(process.AskUsage(absl::Now() + patience).usage());
    if (IsObliging(seed)) {
      Ask(process, patience, random);
      Count(process.AskUsage(absl::Now() + patience).usage());
    }
    if (process.fault().has_value()) ++faults_;
  }

  void Count(const v1::SessionUsage& usage) {
    if (usage.reserved_bytes().used() > 0) ++chunks_;
    if (usage.exports().used() > 0) ++exports_;
    if (usage.imports().used() > 0) ++imports_;
  }

  // The questions of a supervisor to a session's executor.
  void Ask(supervisor::ExecutorProcess& process, absl::Duration patience,
           Random& random) {
    for (uint64_t count = 1 + random.Below(3); count > 0; --count) {
      const absl::Time deadline = absl::Now() + patience;
      switch (random.Below(3)) {
        case 0:
          if (process.Suspend("", deadline).ok()) ++suspended_;
          break;
        case 1:
          static_cast<void>(process.Park(deadline));
          break;
        default:
          static_cast<void>(process.Resume(deadline));
      }
    }
  }

  static void LookAt(const internal::Ready& ready, const DeviceMemory& memory,
                     Random& random) {
    const supervisor::DeviceCatalogue catalogue(ready);
    static_cast<void>(catalogue.List(memory));
    static_cast<void>(catalogue.DefaultArch());
    static_cast<void>(catalogue.DefaultTarget());
    for (const uint32_t ordinal :
         {0u, 1u, static_cast<uint32_t>(random.Boundary())}) {
      static_cast<void>(catalogue.Find(ordinal).status());
    }
  }

  static absl::Status CheckNothingGranted(const MemoryLedger& ledger) {
    v1::MemoryTotals totals;
    ledger.Report(&totals);
    uint64_t granted = totals.host_bytes().used();
    for (const auto& device : totals.devices()) {
      granted += device.reserved_bytes().used();
    }
    HOLDFAST_FUZZ_EXPECT(granted == 0, totals.ShortDebugString());
    return absl::OkStatus();
  }

  absl::Status PlayCompiler(Spawner& spawner, Random& random) {
    auto process =
        spawner.Spawn({absl::StrCat(kHostileCompiler, random.Next())});
    if (!process.ok()) return process.status();
    auto worker = CompilerWorker::Create(*std::move(process));
    if (!worker.ok()) return absl::OkStatus();
    ++compilers_;
    for (uint64_t jobs = random.Below(4); jobs > 0 && (*worker)->usable();
         --jobs) {
      internal::ToCompiler job;
      job.mutable_compile()->set_name("a.cu");
      static_cast<void>(
          (*worker)->Run(job, /*fd=*/-1, kPatience, CompileCaller()).status());
    }
    return absl::OkStatus();
  }

  absl::Status PlayVictim(Spawner& spawner, Random& random) {
    auto process = spawner.Spawn({absl::StrCat(kVictim, 0)});
    if (!process.ok()) return process.status();
    Channel& channel = (*process)->channel();
    const bool orderly = random.OneIn(2);
    if (orderly) SendGoodFrame(channel, *to_executor_.front());
    internal::FromExecutor said;
    for (uint64_t frames = 1 + random.Below(30); frames > 0; --frames) {
      ++frames_;
      if (orderly) {
        channel.Receive(&said, absl::Now() + absl::Milliseconds(1))
            .status()
            .IgnoreError();
      }
      const bool sent =
          orderly
              ? SendOddMessage(channel, to_executor_, random, said.question())
              : SendHostileFrame(channel.fd(), to_executor_, random);
      if (!sent) break;
    }
    // Unread messages are read before the end.
    channel.Shutdown();
    const auto report = (*process)->Wait(absl::Now() + absl::Minutes(1));
    HOLDFAST_FUZZ_EXPECT(report.has_value(), "the executor does not end");
    HOLDFAST_FUZZ_EXPECT(
        report->cause == TerminationReport::Cause::kExited && report->code <= 1,
        report->ToString());
    return absl::OkStatus();
  }

  // Frames in the name of the spawner, beside its own.
  absl::Status PlaySpawner(Spawner& spawner, Random& random) {
    // Once it has answered, it has its descriptors where it wants them.
    const auto first = spawner.Spawn({absl::StrCat(kVictim, 0)});
    if (!first.ok()) return first.status();
    (*first)->channel().Shutdown();
    const UniqueFd end = SpawnersEnd();
    if (!end.valid()) return absl::OkStatus();  // The kernel forbids it.
    std::thread sender([&] {
      Random frames(random.Next());
      for (uint64_t count = 1 + frames.Below(30); count > 0; --count) {
        ++frames_;
        if (!SendHostileFrame(end.get(), from_spawner_, frames)) break;
      }
    });
    for (int i = 0; i < 2; ++i) {
      const auto child = spawner.Spawn({absl::StrCat(kVictim, i)});
      // It cannot be killed if its descriptor is another process's or none.
      if (child.ok()) (*child)->channel().Shutdown();
    }
    sender.join();
    return absl::OkStatus();
  }

  // A duplicate of the channel's end that the spawner, our only child, has.
  static UniqueFd SpawnersEnd() {
    std::FILE* const children = std::fopen(
        absl::StrCat("/proc/self/task/", getpid(), "/children").c_str(), "r");
    int pid = 0;
    if (children == nullptr || std::fscanf(children, "%d", &pid) != 1) pid = 0;
    if (children != nullptr) std::fclose(children);
    const UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
    return UniqueFd(static_cast<int>(
        syscall(SYS_pidfd_getfd, process.get(), kChildChannelFd, 0)));
  }

  const Corpus to_executor_ = ToExecutorMessages();
  const Corpus from_spawner_ = FromSpawnerMessages();
  // Executors that came so far.
  uint64_t executors_ = 0;
  uint64_t ready_ = 0;
  uint64_t served_ = 0;
  uint64_t chunks_ = 0;
  uint64_t exports_ = 0;
  uint64_t imports_ = 0;
  uint64_t suspended_ = 0;
  uint64_t restored_ = 0;
  uint64_t faults_ = 0;
  uint64_t compilers_ = 0;
  uint64_t frames_ = 0;
};

// Runs the role that a process was started for, if it was.
void PlayRole(absl::string_view argument) {
  uint64_t seed = 0;
  absl::string_view rest = argument;
  if (absl::ConsumePrefix(&rest, kHostileExecutor) &&
      absl::SimpleAtoi(rest, &seed)) {
    BeHostileExecutor(seed);
  }
  rest = argument;
  if (absl::ConsumePrefix(&rest, kHostileCompiler) &&
      absl::SimpleAtoi(rest, &seed)) {
    BeHostile(FromCompilerMessages(), seed);
  }
  if (absl::StartsWith(argument, kVictim)) BeVictim();
}

}  // namespace
}  // namespace holdfast::fuzz

int main(int argc, char** argv) {
  if (argc == 2) holdfast::fuzz::PlayRole(argv[1]);
  return holdfast::fuzz::FuzzMain(argc, argv, [] {
    return std::make_unique<holdfast::fuzz::ProcessesTarget>();
  });
}
