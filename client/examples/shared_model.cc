// SPDX-License-Identifier: Apache-2.0
//
// Two engines, each a process of its own, share one copy of a model's weights
// in device memory. The first loads it, and is killed with SIGKILL; the second
// goes on, since the memory is the daemon's. A third one starts, and maps the
// weights without loading anything. Then a new version of the model is
// committed, and both engines move over to it by themselves.
//
// The program starts itself again as each of the engines.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/base/thread_annotations.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/cpp/holdfast.h"
#include "core/base/status_macros.h"
#include "core/base/unique_fd.h"
#include "holdfast/v1/collections.pb.h"

namespace holdfast {
namespace {

constexpr char kSource[] = R"(
// A layer, for an input of ones.
extern "C" __global__ void apply(const float* weight, const float* bias,
                                 float* y, unsigned columns) {
  unsigned row = threadIdx.x;
  float sum = bias[row];
  for (unsigned i = 0; i < columns; ++i) sum += weight[row * columns + i];
  y[row] = sum;
}
)";
constexpr uint32_t kRows = 256;
constexpr uint32_t kColumns = 4096;

// The model: whole numbers, so that every sum is exact. All versions have the
// same weights, and a bias of their own.
std::vector<float> Weights() {
  std::vector<float> weights(size_t{kRows} * kColumns);
  for (size_t i = 0; i < weights.size(); ++i) {
    weights[i] = static_cast<float>(i % 7);
  }
  return weights;
}
std::vector<float> Biases(uint64_t version) {
  std::vector<float> biases(kRows);
  for (size_t i = 0; i < biases.size(); ++i) {
    biases[i] = static_cast<float>(i * version);
  }
  return biases;
}

// The sum of what an engine computes with a version.
uint64_t Expected(uint64_t version) {
  uint64_t sum = 0;
  for (const float weight : Weights()) sum += static_cast<uint64_t>(weight);
  for (const float bias : Biases(version)) sum += static_cast<uint64_t>(bias);
  return sum;
}

absl::Status FillArray(const CollectionWriter& writer, size_t index,
                       const std::vector<float>& values, const Stream& stream) {
  HOLDFAST_ASSIGN_OR_RETURN(const Buffer array, writer.Array(index));
  return array.Upload(values, stream);
}

// Commits the first version, from a file, say.
absl::Status Load(const Session& session, const std::string& name,
                  const Stream& stream) {
  HOLDFAST_ASSIGN_OR_RETURN(
      CollectionWriter writer,
      CollectionWriter::Create(session, {{"weight", "F32", {kRows, kColumns}},
                                         {"bias", "F32", {kRows}}}));
  HOLDFAST_RETURN_IF_ERROR(FillArray(writer, 0, Weights(), stream));
  HOLDFAST_RETURN_IF_ERROR(FillArray(writer, 1, Biases(1), stream));
  return writer.Commit(name).status();
}

// Commits the next version, with a new bias and the weights of the last one,
// which are not copied: both versions are of the same memory.
absl::StatusOr<uint64_t> LoadNext(const Session& session,
                                  const std::string& name) {
  HOLDFAST_ASSIGN_OR_RETURN(const Stream stream,
                            session.device(0).CreateStream());
  HOLDFAST_ASSIGN_OR_RETURN(const Collection last,
                            Collection::Open(session, name));
  HOLDFAST_ASSIGN_OR_RETURN(
      CollectionWriter writer,
      CollectionWriter::Create(session, {{"bias", "F32", {kRows}}}));
  HOLDFAST_RETURN_IF_ERROR(
      FillArray(writer, 0, Biases(last.version() + 1), stream));
  HOLDFAST_RETURN_IF_ERROR(writer.Adopt(last, "weight"));
  return writer.Commit(name);
}

// One engine. It tells the operator on its stdout, in lines:
//   ready VERSION loaded|mapped SECONDS
//   answer VERSION SUM             to each line of its stdin
//   moved VERSION                  when there is a new one
class Engine {
 public:
  explicit Engine(std::string model) : model_(std::move(model)) {}

  absl::Status Run(const std::string& address) {
    HOLDFAST_RETURN_IF_ERROR(Start(address));
    CollectionWatch watch(session_->shared_daemon(), model_);
    std::thread mover([&] {
      const absl::Status status = FollowVersions(watch);
      if (absl::IsCancelled(status)) return;
      std::fprintf(stderr, "engine: %s\n", status.ToString().c_str());
      std::_Exit(1);  // An engine with an old model is of no use.
    });
    const absl::Status served = Serve();
    watch.Cancel();
    mover.join();
    return served;
  }

 private:
  absl::Status Start(const std::string& address) {
    HOLDFAST_ASSIGN_OR_RETURN(
        session_, Session::Open({.address = address, .name = "shared_model"}));
    const Device device = session_->device(0);
    HOLDFAST_ASSIGN_OR_RETURN(stream_, device.CreateStream());
    HOLDFAST_ASSIGN_OR_RETURN(y_, device.Allocate(kRows * sizeof(float)));
    HOLDFAST_ASSIGN_OR_RETURN(const Compilation compiled,
                              Program(kSource).Compile(session_->daemon()));
    HOLDFAST_ASSIGN_OR_RETURN(const Module module,
                              session_->Load(compiled.object));
    HOLDFAST_ASSIGN_OR_RETURN(apply_, module.GetKernel("apply"));
    const absl::Time begin = absl::Now();
    // The first engine loads; any other one waits until it has, or is dead.
    HOLDFAST_ASSIGN_OR_RETURN(auto claim, WriteClaim::Wait(*session_, model_));
    const bool loads = claim->writes();
    if (loads) HOLDFAST_RETURN_IF_ERROR(Load(*session_, model_, *stream_));
    claim.reset();
    const absl::MutexLock lock(&mutex_);
    HOLDFAST_ASSIGN_OR_RETURN(weights_, Collection::Open(*session_, model_));
    Tell(absl::StrCat("ready ", weights_->version(), " ",
                      loads ? "loaded " : "mapped ",
                      absl::ToDoubleSeconds(absl::Now() - begin)));
    return absl::OkStatus();
  }

  // Answers until stdin ends.
  absl::Status Serve() {
    for (int c = std::getchar(); c != EOF; c = std::getchar()) {
      if (c != '\n') continue;
      const absl::MutexLock lock(&mutex_);
      HOLDFAST_ASSIGN_OR_RETURN(const uint64_t sum, Apply());
      Tell(absl::StrCat("answer ", weights_->version(), " ", sum));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<uint64_t> Apply() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    HOLDFAST_ASSIGN_OR_RETURN(const Buffer weight, weights_->Array("weight"));
    HOLDFAST_ASSIGN_OR_RETURN(const Buffer bias, weights_->Array("bias"));
    HOLDFAST_RETURN_IF_ERROR(Launch(*stream_, {.grid = 1, .block = kRows},
                                    *apply_, weight, bias, *y_, kColumns));
    std::vector<float> y(kRows);
    HOLDFAST_RETURN_IF_ERROR(y_->Download(y, *stream_));
    uint64_t sum = 0;
    for (const float value : y) sum += static_cast<uint64_t>(value);
    return sum;
  }

  // Maps each new version, between two answers; the old one is let go.
  absl::Status FollowVersions(CollectionWatch& watch) {
    while (true) {
      HOLDFAST_ASSIGN_OR_RETURN(const v1::CollectionChange change,
                                watch.Next());
      const absl::MutexLock lock(&mutex_);
      if (change.kind() == v1::CollectionChange::KIND_DELETED ||
          change.version() <= weights_->version()) {
        continue;
      }
      HOLDFAST_ASSIGN_OR_RETURN(weights_, Collection::Open(*session_, model_));
      Tell(absl::StrCat("moved ", weights_->version()));
    }
  }

  static void Tell(const std::string& line) {
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
  }

  const std::string model_;
  std::unique_ptr<Session> session_;
  std::optional<Stream> stream_;
  std::optional<Buffer> y_;
  std::optional<Kernel> apply_;
  absl::Mutex mutex_;
  std::optional<Collection> weights_ ABSL_GUARDED_BY(mutex_);
};

// The operator's end of an engine: a process that ends with its stdin, so also
// if the operator dies.
class EngineProcess {
 public:
  static absl::StatusOr<std::unique_ptr<EngineProcess>> Start(
      const std::string& address, const std::string& model) {
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) {
      return absl::ErrnoToStatus(errno, "pipe2");
    }
    const UniqueFd child_in(in[0]), child_out(out[1]);
    auto process = std::unique_ptr<EngineProcess>(new EngineProcess);
    process->in_.Reset(in[1]);
    process->out_ = fdopen(out[0], "r");
    std::vector<std::string> arguments = {"shared_model", "--address", address,
                                          "--engine-of", model};
    std::vector<char*> argv;
    argv.reserve(arguments.size() + 1);
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, child_in.get(), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, child_out.get(), STDOUT_FILENO);
    const int error = posix_spawn(&process->pid_, "/proc/self/exe", &actions,
                                  nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) return absl::ErrnoToStatus(error, "posix_spawn");
    return process;
  }
  ~EngineProcess() {
    in_.Reset();
    std::fclose(out_);
    if (pid_ > 0) waitpid(pid_, nullptr, 0);
  }

  pid_t pid() const { return pid_; }

  // The words behind `kind` of the next line that the engine tells.
  absl::StatusOr<std::vector<std::string>> Next(const std::string& kind) {
    char line[256];
    if (std::fgets(line, sizeof line, out_) == nullptr) {
      return absl::DataLossError(absl::StrCat("engine ", pid_, " has ended"));
    }
    std::vector<std::string> words =
        absl::StrSplit(line, absl::ByAnyChar(" \n"), absl::SkipEmpty());
    if (words.empty() || words[0] != kind) {
      return absl::DataLossError(
          absl::StrCat("engine ", pid_, " says \"", line, "\", not ", kind));
    }
    words.erase(words.begin());
    return words;
  }

  // Asks for an answer, which has to be that of this version.
  absl::Status Ask(uint64_t version) {
    if (write(in_.get(), "\n", 1) != 1) {
      return absl::ErrnoToStatus(errno, "cannot ask");
    }
    HOLDFAST_ASSIGN_OR_RETURN(const auto words, Next("answer"));
    const std::vector<std::string> right = {absl::StrCat(version),
                                            absl::StrCat(Expected(version))};
    if (words == right) return absl::OkStatus();
    return absl::DataLossError(absl::StrCat("engine ", pid_, " answers ",
                                            absl::StrJoin(words, " "), ", not ",
                                            absl::StrJoin(right, " ")));
  }

  void Kill() {
    kill(pid_, SIGKILL);
    waitpid(std::exchange(pid_, -1), nullptr, 0);
  }

 private:
  EngineProcess() = default;

  pid_t pid_ = -1;
  UniqueFd in_;
  std::FILE* out_ = nullptr;
};

class Operator {
 public:
  absl::Status Run(const std::string& address) {
    // The session keeps an embedded daemon, too, until all is done.
    HOLDFAST_ASSIGN_OR_RETURN(
        session_, Session::Open({.address = address, .name = "operator"}));
    const absl::Status status = Play();
    Collections(session_->shared_daemon()).Delete(model_).IgnoreError();
    return status;
  }

 private:
  absl::StatusOr<std::unique_ptr<EngineProcess>> Start(int number,
                                                       const char* how) {
    HOLDFAST_ASSIGN_OR_RETURN(
        auto engine,
        EngineProcess::Start(session_->daemon().address().text, model_));
    HOLDFAST_ASSIGN_OR_RETURN(const auto words, engine->Next("ready"));
    double seconds = 0;
    if (words.size() != 3 || words[1] != how ||
        !absl::SimpleAtod(words[2], &seconds)) {
      return absl::DataLossError(absl::StrCat(
          "engine ", number, " is ready: ", absl::StrJoin(words, " ")));
    }
    std::printf("engine %d, process %d, has %s version %s in %.1f ms\n", number,
                engine->pid(), how, words[0].c_str(), 1000 * seconds);
    return engine;
  }

  absl::Status Play() {
    HOLDFAST_ASSIGN_OR_RETURN(const auto first, Start(1, "loaded"));
    HOLDFAST_ASSIGN_OR_RETURN(const auto second, Start(2, "mapped"));
    HOLDFAST_RETURN_IF_ERROR(first->Ask(1));
    HOLDFAST_RETURN_IF_ERROR(second->Ask(1));
    std::printf("both answer right, with one copy of the model\n");
    first->Kill();
    HOLDFAST_RETURN_IF_ERROR(second->Ask(1));
    std::printf("engine 1 is killed; engine 2 still answers right\n");
    HOLDFAST_ASSIGN_OR_RETURN(const auto third, Start(3, "mapped"));
    HOLDFAST_RETURN_IF_ERROR(third->Ask(1));

    HOLDFAST_ASSIGN_OR_RETURN(const uint64_t version,
                              LoadNext(*session_, model_));
    std::printf("version %llu is committed, with the weights of version 1\n",
                static_cast<unsigned long long>(version));
    for (const auto& [number, engine] :
         {std::pair(2, second.get()), std::pair(3, third.get())}) {
      HOLDFAST_RETURN_IF_ERROR(engine->Next("moved").status());
      HOLDFAST_RETURN_IF_ERROR(engine->Ask(version));
      std::printf("engine %d has moved over and answers right\n", number);
    }
    return absl::OkStatus();
  }

  const std::string model_ = absl::StrCat("examples/shared_model-", getpid());
  std::unique_ptr<Session> session_;
};

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) {
  std::string address, engine_of;
  CLI::App app("shared_model: engines that come and go share one model");
  app.add_option("--address", address, "Where the daemon is");
  app.add_option("--engine-of", engine_of, "Be an engine of this collection");
  CLI11_PARSE(app, argc, argv);
  signal(SIGPIPE, SIG_IGN);
  const absl::Status status = engine_of.empty()
                                  ? holdfast::Operator().Run(address)
                                  : holdfast::Engine(engine_of).Run(address);
  if (!status.ok()) {
    std::fprintf(
        stderr, "shared_model: %s\n",
        status.ToString(absl::StatusToStringMode::kWithNoExtraData).c_str());
  }
  return status.ok() ? 0 : 1;
}
