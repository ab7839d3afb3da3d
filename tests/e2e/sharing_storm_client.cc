// SPDX-License-Identifier: Apache-2.0
//
// A process of the storm of sharing_storm_test:
//
//   sharing_storm_client session|process ADDRESS BOARD SEED
//
// A session shares, imports, commits, opens, faults and dies, in an order that
// the seed tells; a process outside Holdfast, with a CUDA context of its own,
// maps what sessions export, faults and dies. Each compares the bytes of all
// that it holds. When stdin ends it does so a last time, lets go, and ends with
// 0. Whatever should not be ends it with 1 and is told on stderr.
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/cpp/collection/collection.h"
#include "client/cpp/collection/collection_writer.h"
#include "client/cpp/collection/collections.h"
#include "client/cpp/compile/program.h"
#include "client/cpp/event.h"
#include "client/cpp/fault.h"
#include "client/cpp/launch.h"
#include "client/cpp/local/local_mapping.h"
#include "client/cpp/semaphore.h"
#include "client/cpp/session.h"
#include "core/base/status_macros.h"
#include "core/base/unique_fd.h"
#include "core/cuda/driver_loader.h"
#include "holdfast/v1/collections.pb.h"
#include "holdfast/v1/sessions.pb.h"
#include "tests/e2e/sharing_storm_board.h"
#include "tests/testing/kernels.h"

namespace holdfast::e2e {
namespace {

constexpr char kSource[] = R"(
extern "C" __global__ void stray(int* x) { x[1ll << 39] = 1; }
extern "C" __global__ void trap(int* x) { asm("trap;"); }
extern "C" __global__ void store(int* x) { x[threadIdx.x] = 7; }
)";
constexpr size_t kMostHeld = 6;
constexpr uint64_t kChunk = 2 << 20;

bool StdinHasEnded() {
  pollfd in = {STDIN_FILENO, POLLIN, 0};
  return poll(&in, 1, 0) > 0;
}

[[noreturn]] void Die(StormBoard& board) {
  board.Count(Deed::kDied);
  kill(getpid(), SIGKILL);
  std::abort();
}

absl::Status Compare(const std::vector<uint32_t>& words, uint32_t seed,
                     StormBoard& board) {
  const std::vector<uint32_t> expected = Pattern(seed, words.size());
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == expected[i]) continue;
    return absl::DataLossError(absl::StrCat("word ", i, " of ", words.size(),
                                            " is ", words[i], ", not ",
                                            expected[i], "; seed ", seed));
  }
  board.Count(Deed::kKilobytesCompared, words.size() / 256);
  return absl::OkStatus();
}

cuda::DriverOptions DriverOfTest() {
  const char* const device = std::getenv("HOLDFAST_TEST_DEVICE");
  const bool cuda = device != nullptr && std::string(device) == "cuda";
  return {.choice =
              cuda ? cuda::DriverChoice::kAuto : cuda::DriverChoice::kSoftware};
}

// A driver of this process's own, with a context.
class OwnDriver {
 public:
  OwnDriver() : driver_(cuda::LoadDriver(DriverOfTest()).value()) {
    if (api().cuDevicePrimaryCtxRetain(&context_, 0) != CUDA_SUCCESS ||
        api().cuCtxSetCurrent(context_) != CUDA_SUCCESS) {
      std::abort();
    }
  }
  const cuda::DriverApi& api() const { return driver_->api; }
  const std::string& path() const { return driver_->path; }

  absl::StatusOr<std::vector<uint32_t>> Read(CUdeviceptr address,
                                             uint64_t size) const {
    std::vector<uint32_t> words(size / sizeof(uint32_t));
    if (api().cuMemcpyDtoHAsync(words.data(), address, size, nullptr) !=
            CUDA_SUCCESS ||
        api().cuStreamSynchronize(nullptr) != CUDA_SUCCESS) {
      return absl::InternalError("this process cannot read its mapping");
    }
    return words;
  }

  // Runs a kernel that stores to the address. After an error this process can
  // do nothing more with its context.
  CUresult Store(CUdeviceptr address) const {
    CUlibrary library = nullptr;
    CUkernel kernel = nullptr;
    if (api().cuLibraryLoadData(&library, test_ptx::kModule<test_ptx::kStore>,
                                nullptr, nullptr, 0, nullptr, nullptr,
                                0) != CUDA_SUCCESS ||
        api().cuLibraryGetKernel(&kernel, library, "store") != CUDA_SUCCESS) {
      std::abort();
    }
    CUlaunchConfig config = {};
    config.gridDimX = config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = config.blockDimY = config.blockDimZ = 1;
    uint32_t value = 7;
    void* arguments[] = {&address, &value};
    const CUresult launched = api().cuLaunchKernelEx(
        &config, reinterpret_cast<CUfunction>(kernel), arguments, nullptr);
    if (launched != CUDA_SUCCESS) return launched;
    return api().cuStreamSynchronize(nullptr);
  }

 private:
  const std::unique_ptr<const cuda::Driver> driver_;
  CUcontext context_ = nullptr;
};

// Memory that this process's own driver made, for a session to import.
class OwnChunk {
 public:
  OwnChunk(const OwnDriver& driver, const std::vector<uint32_t>& words)
      : api_(driver.api()) {
    CUmemAllocationProp properties = {};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    Check(api_.cuMemCreate(&handle_, kChunk, &properties, 0));
    int fd = -1;
    Check(api_.cuMemExportToShareableHandle(
        &fd, handle_, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    descriptor_.Reset(fd);
    CUdeviceptr address = 0;
    Check(api_.cuMemAddressReserve(&address, kChunk, 0, 0, 0));
    Check(api_.cuMemMap(address, kChunk, 0, handle_, 0));
    CUmemAccessDesc access = {};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    Check(api_.cuMemSetAccess(address, kChunk, &access, 1));
    Check(api_.cuMemcpyHtoDAsync(address, words.data(),
                                 words.size() * sizeof(uint32_t), nullptr));
    Check(api_.cuStreamSynchronize(nullptr));
    Check(api_.cuMemUnmap(address, kChunk));
    Check(api_.cuMemAddressFree(address, kChunk));
  }
  ~OwnChunk() { Check(api_.cuMemRelease(handle_)); }
  OwnChunk(const OwnChunk&) = delete;
  OwnChunk& operator=(const OwnChunk&) = delete;
  int descriptor() const { return descriptor_.get(); }

 private:
  static void Check(CUresult result) {
    if (result == CUDA_SUCCESS) return;
    std::fprintf(stderr, "own driver: error %d\n", result);
    std::abort();
  }

  const cuda::DriverApi& api_;
  CUmemGenericAllocationHandle handle_ = 0;
  UniqueFd descriptor_;
};

// Memory that a session holds, and the seeds of its parts' patterns; the parts
// go before the collection that they are of.
struct Held {
  std::optional<Collection> collection;
  std::vector<std::pair<Buffer, uint32_t>> parts;
  bool made_here = false;
  bool read_only = false;
  // Memory of a process outside Holdfast: a fault costs the session its import.
  bool foreign = false;
};

class StormSession {
 public:
  StormSession(std::string address, StormBoard& board, uint32_t seed)
      : address_(std::move(address)), board_(board), random_(seed) {}

  absl::Status Run() {
    HOLDFAST_RETURN_IF_ERROR(Open());
    while (!StdinHasEnded()) HOLDFAST_RETURN_IF_ERROR(Step());
    HOLDFAST_RETURN_IF_ERROR(CheckAll());
    return Close();
  }

 private:
  using Do = absl::Status (StormSession::*)();
  struct Choice {
    const char* name;
    Do step;
    uint32_t weight;
  };

  absl::Status Step() {
    static constexpr Choice kChoices[] = {
        {"make", &StormSession::Make, 8},
        {"export", &StormSession::Export, 12},
        {"import", &StormSession::Import, 12},
        {"import of a process's memory", &StormSession::ImportForeign, 2},
        {"commit", &StormSession::Commit, 5},
        {"open", &StormSession::OpenVersion, 8},
        {"claim", &StormSession::Claim, 1},
        {"delete", &StormSession::Delete, 1},
        {"sleep", &StormSession::Sleep, 4},
        {"semaphore", &StormSession::ShareSemaphore, 4},
        {"wait for a semaphore", &StormSession::AwaitSemaphore, 6},
        {"event", &StormSession::ShareEvent, 4},
        {"wait for an event", &StormSession::AwaitEvent, 6},
        {"check", &StormSession::CheckOne, 8},
        {"drop", &StormSession::Drop, 8},
        {"fault", &StormSession::Fault, 3},
        {"kill of the executor", &StormSession::KillExecutor, 1},
        {"reopening", &StormSession::Reopen, 1},
        {"death", &StormSession::MaybeDie, 1},
    };
    uint32_t all = 0;
    for (const Choice& choice : kChoices) all += choice.weight;
    uint32_t at = random_() % all;
    const Choice* chosen = kChoices;
    while (at >= chosen->weight) at -= chosen++->weight;
    if (held_.size() >= kMostHeld) HOLDFAST_RETURN_IF_ERROR(Drop());
    const absl::Status status = (this->*chosen->step)();
    if (status.ok()) return status;
    return absl::Status(status.code(),
                        absl::StrCat(session_->id(), ", ", chosen->name, ": ",
                                     status.message()));
  }

  absl::Status Open() {
    HOLDFAST_ASSIGN_OR_RETURN(
        session_, Session::Open({.address = address_, .name = "storm"}));
    HOLDFAST_ASSIGN_OR_RETURN(stream_, session_->device(0).CreateStream());
    HOLDFAST_ASSIGN_OR_RETURN(bait_, session_->device(0).Allocate(256));
    HOLDFAST_ASSIGN_OR_RETURN(const Compilation compiled,
                              Program(kSource).Compile(session_->daemon()));
    HOLDFAST_ASSIGN_OR_RETURN(module_, session_->Load(compiled.object));
    // A fault drops what is not finished.
    return session_->Synchronize();
  }

  absl::Status Close() {
    held_.clear();
    semaphores_.clear();
    events_.clear();
    module_.reset();
    bait_.reset();
    stream_.reset();
    const absl::Status status = session_->Close();
    session_.reset();
    return status;
  }

  absl::Status Reopen() {
    HOLDFAST_RETURN_IF_ERROR(Close());
    return Open();
  }

  absl::Status MaybeDie() {
    if (random_() % 3 == 0) Die(board_);
    return absl::OkStatus();
  }

  // OK for an error that another process may cause. The session tells of a
  // command's failure once more, when it is next waited for.
  absl::Status Absorb(const absl::Status& status,
                      std::initializer_list<absl::StatusCode> allowed) {
    for (const absl::StatusCode code : allowed) {
      if (status.code() != code) continue;
      const absl::Status again = session_->Synchronize();
      return again.ok() || again.code() == code ? absl::OkStatus() : again;
    }
    return status;
  }

  uint64_t RandomSize() { return 4 * (1 + random_() % (64 << 10)); }
  std::string RandomName() { return absl::StrCat("storm/", random_() % 3); }

  absl::Status Make() {
    auto made = session_->device(0).AllocateShared(RandomSize());
    if (!made.ok()) {
      return Absorb(made.status(), {absl::StatusCode::kResourceExhausted});
    }
    const uint32_t seed = random_();
    HOLDFAST_RETURN_IF_ERROR(
        made->Upload(Pattern(seed, made->size() / 4), *stream_));
    // An allocation that does not fit fails here.
    const absl::Status done = stream_->Synchronize();
    if (!done.ok()) {
      return Absorb(done, {absl::StatusCode::kResourceExhausted});
    }
    auto held = std::make_unique<Held>();
    held->made_here = true;
    held->parts.emplace_back(*std::move(made), seed);
    held_.push_back(std::move(held));
    return absl::OkStatus();
  }

  absl::Status Export() {
    for (const auto& held : held_) {
      if (!held->made_here || random_() % 2 == 0) continue;
      const auto& [buffer, seed] = held->parts[0];
      const bool local = random_() % 2 == 0;
      Offer offer;
      offer.seed = seed;
      ExportOptions options;
      options.lifetime = absl::Seconds(1 + random_() % 5);
      if (local) {
        HOLDFAST_ASSIGN_OR_RETURN(offer.memory, buffer.ExportLocal(options));
        board_.Put("process", offer);
      } else {
        options.max_imports = 1 + random_() % 3;
        HOLDFAST_ASSIGN_OR_RETURN(offer.memory.token, buffer.Export(options));
        for (uint32_t i = 0; i < options.max_imports; ++i) {
          board_.Put("session", offer);
        }
      }
      board_.Count(Deed::kExported);
      if (random_() % 4 > 0) return absl::OkStatus();
      return session_->RevokeExport(offer.memory.token);
    }
    return absl::OkStatus();
  }

  absl::Status Import() {
    const auto offer = board_.Take("session", random_());
    if (!offer.has_value()) return absl::OkStatus();
    auto buffer = session_->device(0).Import(offer->memory.token);
    if (!buffer.ok()) {
      // Its maker is gone, or its time is up.
      return Absorb(buffer.status(), {absl::StatusCode::kNotFound,
                                      absl::StatusCode::kFailedPrecondition});
    }
    board_.Count(Deed::kImported);
    auto held = std::make_unique<Held>();
    held->read_only = true;
    held->parts.emplace_back(*std::move(buffer), offer->seed);
    held_.push_back(std::move(held));
    return Check(*held_.back());
  }

  // The memory's maker, this process, lets go of it at once.
  absl::Status ImportForeign() {
    if (driver_ == nullptr) driver_ = std::make_unique<OwnDriver>();
    const uint32_t seed = random_();
    const std::vector<uint32_t> words = Pattern(seed, 1 + random_() % 10000);
    const OwnChunk chunk(*driver_, words);
    HOLDFAST_ASSIGN_OR_RETURN(
        Buffer buffer,
        session_->device(0).ImportDescriptor(chunk.descriptor(), 0,
                                             words.size() * sizeof(uint32_t)));
    board_.Count(Deed::kImportedForeign);
    auto held = std::make_unique<Held>();
    held->foreign = true;
    held->parts.emplace_back(std::move(buffer), seed);
    held_.push_back(std::move(held));
    return Check(*held_.back());
  }

  // A version of "new", and of "old", which is adopted if there is one. Their
  // seeds are in the metadata.
  absl::Status CommitTo(const std::string& name) {
    const uint32_t seed = random_(), old_seed = random_();
    std::map<std::string, std::string> seeds = {
        {"new", absl::StrCat(seed)}, {"old", absl::StrCat(old_seed)}};
    std::optional<Collection> last;
    if (random_() % 2 == 0) {
      auto opened = Collection::Open(*session_, name);
      if (opened.ok()) {
        last = *std::move(opened);
        seeds["old"] = last->metadata().at("old");
      } else {
        HOLDFAST_RETURN_IF_ERROR(
            Absorb(opened.status(), {absl::StatusCode::kNotFound}));
      }
    }
    std::vector<ArraySpec> specs = {{"new", "U32", {RandomSize() / 4}}};
    if (!last.has_value()) specs.push_back({"old", "U32", {1000}});
    HOLDFAST_ASSIGN_OR_RETURN(CollectionWriter writer,
                              CollectionWriter::Create(*session_, specs));
    for (size_t i = 0; i < specs.size(); ++i) {
      HOLDFAST_ASSIGN_OR_RETURN(const Buffer array, writer.Array(i));
      HOLDFAST_RETURN_IF_ERROR(array.Upload(
          Pattern(i == 0 ? seed : old_seed, array.size() / 4), *stream_));
    }
    if (last.has_value()) HOLDFAST_RETURN_IF_ERROR(writer.Adopt(*last, "old"));
    if (random_() % 4 == 0) return absl::OkStatus();  // Never committed.
    const auto version = writer.Commit(name, seeds);
    if (!version.ok()) {
      // Another session has claimed it.
      return Absorb(version.status(), {absl::StatusCode::kFailedPrecondition,
                                       absl::StatusCode::kResourceExhausted});
    }
    board_.Count(Deed::kCommitted);
    return absl::OkStatus();
  }

  absl::Status Commit() { return CommitTo(RandomName()); }

  absl::Status OpenVersion() {
    auto opened = Collection::Open(*session_, RandomName());
    if (!opened.ok()) {
      return Absorb(opened.status(), {absl::StatusCode::kNotFound});
    }
    board_.Count(Deed::kOpened);
    auto held = std::make_unique<Held>();
    held->read_only = true;
    held->collection = *std::move(opened);
    for (const auto& [name, text] : held->collection->metadata()) {
      uint32_t seed = 0;
      if (!absl::SimpleAtoi(text, &seed)) return absl::DataLossError(text);
      HOLDFAST_ASSIGN_OR_RETURN(Buffer part, held->collection->Array(name));
      held->parts.emplace_back(std::move(part), seed);
    }
    held_.push_back(std::move(held));
    return Check(*held_.back());
  }

  // A version that sleeps may go; its bytes are what they were, or it is not
  // there any more.
  absl::Status Sleep() {
    for (auto held = held_.begin(); held != held_.end(); ++held) {
      if (!(*held)->collection.has_value()) continue;
      HOLDFAST_RETURN_IF_ERROR(session_->Synchronize());
      HOLDFAST_RETURN_IF_ERROR((*held)->collection->Sleep());
      if (random_() % 8 == 0) Die(board_);
      const auto moved = (*held)->collection->Wake();
      if (!moved.ok()) {
        held_.erase(held);
        return Absorb(moved.status(), {absl::StatusCode::kNotFound});
      }
      if (!moved->empty()) return absl::DataLossError("an array has moved");
      board_.Count(Deed::kSlept);
      return Check(**held);
    }
    return absl::OkStatus();
  }

  // A semaphore whose value its stream has set; it stays for a while.
  absl::Status ShareSemaphore() {
    if (semaphores_.size() >= kMostHeld) semaphores_.erase(semaphores_.begin());
    HOLDFAST_ASSIGN_OR_RETURN(Semaphore semaphore,
                              session_->device(0).CreateSemaphore(1));
    Offer offer;
    offer.seed = 2 + random_() % 1000;
    HOLDFAST_RETURN_IF_ERROR(semaphore.Signal(offer.seed, *stream_));
    const absl::Status done = stream_->Synchronize();
    if (!done.ok()) {
      return Absorb(done, {absl::StatusCode::kResourceExhausted});
    }
    HOLDFAST_ASSIGN_OR_RETURN(offer.memory.token, semaphore.Export());
    board_.Put("semaphore", offer);
    HOLDFAST_ASSIGN_OR_RETURN(offer.memory, semaphore.ExportLocally());
    board_.Put("word", offer);
    semaphores_.push_back(std::move(semaphore));
    return absl::OkStatus();
  }

  absl::Status AwaitSemaphore() {
    const auto offer = board_.Take("semaphore", random_());
    if (!offer.has_value()) return absl::OkStatus();
    const auto semaphore =
        session_->device(0).ImportSemaphore(offer->memory.token);
    if (!semaphore.ok()) {
      return Absorb(semaphore.status(), {absl::StatusCode::kNotFound});
    }
    HOLDFAST_RETURN_IF_ERROR(semaphore->Wait(offer->seed, *stream_));
    HOLDFAST_RETURN_IF_ERROR(stream_->Synchronize());
    HOLDFAST_ASSIGN_OR_RETURN(const uint64_t value, semaphore->Value());
    board_.Count(Deed::kSemaphoresAwaited);
    if (value == offer->seed) return absl::OkStatus();
    return absl::DataLossError(
        absl::StrCat("a semaphore is ", value, ", not ", offer->seed));
  }

  absl::Status ShareEvent() {
    if (events_.size() >= kMostHeld) events_.erase(events_.begin());
    HOLDFAST_ASSIGN_OR_RETURN(
        Event event, session_->device(0).CreateEvent({.interprocess = true}));
    HOLDFAST_RETURN_IF_ERROR(stream_->Record(event));
    const absl::Status done = stream_->Synchronize();
    if (!done.ok()) {
      return Absorb(done, {absl::StatusCode::kResourceExhausted});
    }
    Offer offer;
    HOLDFAST_ASSIGN_OR_RETURN(offer.memory.token, event.Export());
    board_.Put("event", offer);
    events_.push_back(std::move(event));
    return absl::OkStatus();
  }

  // A wait ends, also when the event's maker has died.
  absl::Status AwaitEvent() {
    const auto offer = board_.Take("event", random_());
    if (!offer.has_value()) return absl::OkStatus();
    const auto event = session_->device(0).ImportEvent(offer->memory.token);
    if (!event.ok()) {
      return Absorb(event.status(), {absl::StatusCode::kNotFound});
    }
    HOLDFAST_RETURN_IF_ERROR(stream_->Wait(*event));
    HOLDFAST_RETURN_IF_ERROR(stream_->Synchronize());
    board_.Count(Deed::kEventsAwaited);
    return absl::OkStatus();
  }

  // With the claim it commits, gives up, or dies.
  absl::Status Claim() {
    const std::string name = RandomName();
    HOLDFAST_ASSIGN_OR_RETURN(const auto claim,
                              WriteClaim::Wait(*session_, name));
    if (!claim->writes() || random_() % 4 == 0) return absl::OkStatus();
    if (random_() % 4 == 0) Die(board_);
    return CommitTo(name);
  }

  absl::Status Delete() {
    const auto deleted =
        Collections(session_->shared_daemon()).Delete(RandomName());
    return absl::IsNotFound(deleted.status()) ? absl::OkStatus()
                                              : deleted.status();
  }

  absl::Status Check(const Held& held) {
    for (const auto& [buffer, seed] : held.parts) {
      std::vector<uint32_t> words(buffer.size() / sizeof(uint32_t));
      HOLDFAST_RETURN_IF_ERROR(buffer.Download(words, *stream_));
      HOLDFAST_RETURN_IF_ERROR(Compare(words, seed, board_));
    }
    return absl::OkStatus();
  }
  absl::Status CheckOne() {
    return held_.empty() ? absl::OkStatus()
                         : Check(*held_[random_() % held_.size()]);
  }
  absl::Status CheckAll() {
    for (const auto& held : held_) HOLDFAST_RETURN_IF_ERROR(Check(*held));
    return absl::OkStatus();
  }

  // A process's memory is waited for: if a fault dropped the command that frees
  // it, it would count as lost.
  absl::Status Drop() {
    if (held_.empty()) return absl::OkStatus();
    const auto dropped =
        held_.begin() + static_cast<std::ptrdiff_t>(random_() % held_.size());
    const bool foreign = (*dropped)->foreign;
    held_.erase(dropped);
    return foreign ? session_->Synchronize() : absl::OkStatus();
  }

  // A kernel that ruins its executor: it stores where nothing is, traps, or
  // stores into memory that was imported for reading.
  absl::Status Fault() {
    const char* name = random_() % 2 == 0 ? "stray" : "trap";
    const Buffer* target = &*bait_;
    for (const auto& held : held_) {
      if (!held->read_only) continue;
      name = "store";
      target = &held->parts[0].first;
    }
    HOLDFAST_ASSIGN_OR_RETURN(const Kernel kernel, module_->GetKernel(name));
    HOLDFAST_RETURN_IF_ERROR(
        Launch(*stream_, {.grid = 1, .block = 1}, kernel, *target));
    board_.Count(Deed::kFaulted);
    return Survive();
  }

  absl::Status KillExecutor() {
    HOLDFAST_ASSIGN_OR_RETURN(const auto sessions,
                              session_->daemon().Sessions());
    for (const v1::SessionInfo& info : sessions) {
      if (info.session_id() != session_->id() || info.executor_pid() <= 1) {
        continue;
      }
      kill(static_cast<pid_t>(info.executor_pid()), SIGKILL);
      board_.Count(Deed::kExecutorKilled);
      return Survive();
    }
    return absl::NotFoundError("the session is not in the list");
  }

  // Waits for the fault to be told; nothing may be lost of it but the memory of
  // processes.
  absl::Status Survive() {
    absl::Status status;
    while (status.ok()) status = stream_->Synchronize();
    const auto fault = FaultOf(status);
    if (!fault.has_value()) return status;
    std::erase_if(held_, [](const auto& held) { return held->foreign; });
    for (const v1::LostResource& lost : fault->lost()) {
      if (Holds(lost.handle())) {
        return absl::DataLossError(DescribeFault(*fault));
      }
    }
    return CheckAll();
  }

  // A resource that this process was about to free may be lost: its executor
  // had let go of it and died before it said so.
  bool Holds(uint64_t handle) const {
    const auto is_it = [&](const Buffer& buffer) {
      return buffer.handle() == handle;
    };
    for (const auto& held : held_) {
      for (const auto& [buffer, seed] : held->parts) {
        if (is_it(buffer)) return true;
      }
      if (!held->collection.has_value()) continue;
      const auto& buffers = held->collection->buffers();
      if (std::any_of(buffers.begin(), buffers.end(), is_it)) return true;
    }
    return false;
  }

  const std::string address_;
  StormBoard& board_;
  std::mt19937 random_;
  std::unique_ptr<Session> session_;
  std::optional<Stream> stream_;
  std::optional<Buffer> bait_;
  std::optional<Module> module_;
  std::vector<std::unique_ptr<Held>> held_;
  std::vector<Semaphore> semaphores_;
  std::vector<Event> events_;
  std::unique_ptr<OwnDriver> driver_;
};

class StormProcess {
 public:
  StormProcess(StormBoard& board, uint32_t seed)
      : board_(board), random_(seed) {}

  absl::Status Run() {
    while (!StdinHasEnded()) {
      if (held_.size() >= kMostHeld || random_() % 4 == 0) Drop();
      if (random_() % 200 == 0) Die(board_);
      HOLDFAST_RETURN_IF_ERROR(Map());
      // Were it rare, a short storm on a slow machine might have none.
      if (random_() % 25 == 0) HOLDFAST_RETURN_IF_ERROR(FaultAndDie());
      HOLDFAST_RETURN_IF_ERROR(MapSemaphore());
      HOLDFAST_RETURN_IF_ERROR(CheckAll());
    }
    return CheckAll();
  }

 private:
  absl::Status MapSemaphore() {
    const auto offer = board_.Take("word", random_());
    if (!offer.has_value()) return absl::OkStatus();
    const auto mapping =
        LocalMapping::Map(offer->memory, {.driver = driver_.path()});
    if (absl::IsFailedPrecondition(mapping.status())) return absl::OkStatus();
    if (!mapping.ok()) return mapping.status();
    HOLDFAST_ASSIGN_OR_RETURN(
        const auto words,
        driver_.Read((*mapping)->pointer(), (*mapping)->size()));
    board_.Count(Deed::kSemaphoresMapped);
    if (words == std::vector<uint32_t>{offer->seed, 0}) return absl::OkStatus();
    return absl::DataLossError(absl::StrCat("a semaphore is ", words[0]));
  }

  absl::Status Map() {
    const auto offer = board_.Take("process", random_());
    if (!offer.has_value()) {
      usleep(1000);
      return absl::OkStatus();
    }
    auto mapping = LocalMapping::Map(offer->memory, {.driver = driver_.path()});
    // Its maker is gone, or its time is up.
    if (absl::IsFailedPrecondition(mapping.status())) return absl::OkStatus();
    if (!mapping.ok()) return mapping.status();
    board_.Count(Deed::kMappedLocally);
    held_.emplace_back(*std::move(mapping), offer->seed);
    return absl::OkStatus();
  }

  // A kernel of this process stores into memory that it has for reading. That
  // costs the process its context; those who share the memory see no change.
  absl::Status FaultAndDie() {
    if (held_.empty()) return absl::OkStatus();
    if (driver_.Store(held_[0].first->pointer()) == CUDA_SUCCESS) {
      return absl::DataLossError("a mapping for reading was written to");
    }
    board_.Count(Deed::kProcessFaulted);
    Die(board_);
  }

  void Drop() {
    if (held_.empty()) return;
    held_.erase(held_.begin() +
                static_cast<std::ptrdiff_t>(random_() % held_.size()));
  }

  absl::Status CheckAll() {
    for (const auto& [mapping, seed] : held_) {
      HOLDFAST_ASSIGN_OR_RETURN(
          const auto words, driver_.Read(mapping->pointer(), mapping->size()));
      HOLDFAST_RETURN_IF_ERROR(Compare(words, seed, board_));
    }
    return absl::OkStatus();
  }

  StormBoard& board_;
  std::mt19937 random_;
  const OwnDriver driver_;
  std::vector<std::pair<std::unique_ptr<LocalMapping>, uint32_t>> held_;
};

}  // namespace
}  // namespace holdfast::e2e

int main(int argc, char** argv) {
  using namespace holdfast::e2e;
  if (argc != 5) return 2;
  const std::string role = argv[1];
  const auto seed = static_cast<uint32_t>(std::strtoul(argv[4], nullptr, 10));
  StormBoard board(argv[3]);
  const absl::Status status = role == "session"
                                  ? StormSession(argv[2], board, seed).Run()
                                  : StormProcess(board, seed).Run();
  if (status.ok()) return 0;
  std::fprintf(
      stderr, "%s of seed %u: %s\n", role.c_str(), seed,
      status.ToString(absl::StatusToStringMode::kWithNoExtraData).c_str());
  return 1;
}
