// SPDX-License-Identifier: Apache-2.0
//
// How much a tenant who is in notices of those who are not let in. One session
// of the tenant ($HOLDFAST_TOKEN) on a Unix socket and one over TCP launch a
// kernel and wait for it, again and again, first alone, then beside rejected
// logins, bad tokens and bad policy files. Prints a row for each: how many were
// refused, the resident memory of the daemon's supervisor, and the time of a
// launch and its wait. deploy/gpu/strangers.sh starts the daemon for it.
//
//   strangers --address=unix:SOCKET --tcp=tcp:127.0.0.1:PORT --pid=PID
//       --policy=policy.toml --audit-log=audit.json
//
// Fails if a stranger was served or a bad policy was taken.
#include <grpcpp/grpcpp.h>
#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/base/thread_annotations.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/cpp/launch.h"
#include "client/cpp/session.h"
#include "core/base/status_macros.h"
#include "holdfast/v1/module_commands.pb.h"
#include "holdfast/v1/objects.pb.h"
#include "holdfast/v1/sessions.grpc.pb.h"
#include "tests/testing/kernels.h"

namespace holdfast {
namespace {

struct Options {
  std::string address;
  std::string tcp;
  pid_t pid = 0;
  std::string policy;
  std::string audit_log;
  int count = 10'000;
  int policies = 1000;
  int clients = 4;
  int calls = 100;
  double seconds = 5;
};

// A session of the tenant, with a thread that launches and waits.
class RoundTrips {
 public:
  explicit RoundTrips(std::string address) : address_(std::move(address)) {}
  ~RoundTrips() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }

  // Returns when the first round trip is over.
  absl::Status Start() {
    HOLDFAST_ASSIGN_OR_RETURN(
        session_, Session::Open({.address = address_, .name = "strangers"}));
    HOLDFAST_ASSIGN_OR_RETURN(
        const ObjectCode object,
        ObjectCode::Put(session_->daemon(), test_ptx::kModule<test_ptx::kEmpty>,
                        v1::OBJECT_FORMAT_PTX));
    HOLDFAST_ASSIGN_OR_RETURN(Module module, session_->Load(object));
    HOLDFAST_ASSIGN_OR_RETURN(Kernel kernel, module.GetKernel("empty"));
    HOLDFAST_ASSIGN_OR_RETURN(Stream stream,
                              session_->device(0).CreateStream());
    HOLDFAST_RETURN_IF_ERROR(RunOnce(stream, kernel));
    thread_ =
        std::thread([this, module = std::move(module),
                     kernel = std::move(kernel), stream = std::move(stream)] {
          absl::Status status;
          while (!stop_ && status.ok()) status = RunOnce(stream, kernel);
          absl::MutexLock lock(&mutex_);
          status_ = status;
        });
    return absl::OkStatus();
  }

  // Forgets the round trips so far.
  void Clear() {
    absl::MutexLock lock(&mutex_);
    times_.clear();
  }

  // Describes the round trips since Clear: "12345, 25 us, 48 us", which are
  // their number, the median and what 99 % take; "0" if none has ended.
  absl::StatusOr<std::string> Describe() {
    std::vector<absl::Duration> times;
    {
      absl::MutexLock lock(&mutex_);
      HOLDFAST_RETURN_IF_ERROR(status_);
      times.swap(times_);
    }
    if (times.empty()) return "0";
    std::sort(times.begin(), times.end());
    const auto at = [&](size_t percent) {
      return absl::ToInt64Microseconds(
          times[(times.size() - 1) * percent / 100]);
    };
    return absl::StrCat(times.size(), ", ", at(50), " us, ", at(99), " us");
  }

 private:
  absl::Status RunOnce(const Stream& stream, const Kernel& kernel) {
    const absl::Time begin = absl::Now();
    HOLDFAST_RETURN_IF_ERROR(Launch(stream, {.grid = 1, .block = 32}, kernel));
    HOLDFAST_RETURN_IF_ERROR(stream.Synchronize());
    absl::MutexLock lock(&mutex_);
    times_.push_back(absl::Now() - begin);
    return absl::OkStatus();
  }

  const std::string address_;
  std::shared_ptr<Session> session_;
  std::atomic<bool> stop_ = false;
  absl::Mutex mutex_;
  std::vector<absl::Duration> times_ ABSL_GUARDED_BY(mutex_);
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

double MemoryMiB(pid_t pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/statm"));
  uint64_t all = 0, resident = 0;
  file >> all >> resident;
  return static_cast<double>(resident) *
         static_cast<double>(sysconf(_SC_PAGESIZE)) / (1 << 20);
}

// A connection of its own, over which nobody says who they are.
std::shared_ptr<grpc::Channel> ConnectStranger(const std::string& tcp) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(std::string(absl::StripPrefix(tcp, "tcp:")),
                                   grpc::InsecureChannelCredentials(),
                                   arguments);
}

// A token that is wrong in one of several ways; number 0 of them costs the
// most, since its signature has to be checked.
std::string BadToken(int i) {
  const std::string claims = absl::WebSafeBase64Escape(
      absl::StrCat(R"({"iss":"strangers","aud":"holdfast","sub":"eve-)", i,
                   R"(","exp":4102444800})"));
  const std::string signature(64, static_cast<char>('a' + i % 26));
  switch (i % 4) {
    case 0:
      return absl::StrCat(absl::WebSafeBase64Escape(R"({"alg":"EdDSA"})"), ".",
                          claims, ".", absl::WebSafeBase64Escape(signature));
    case 1:
      return absl::StrCat(absl::WebSafeBase64Escape(R"({"alg":"none"})"), ".",
                          claims, ".");
    case 2:
      return absl::StrCat("holdfast-", i);
    default:
      return absl::StrCat(std::string(7000, 'A'), ".e30.", i);
  }
}

// Makes `count` calls by several clients, each with a new connection now and
// then. Returns an error if one does not end with `expected`.
absl::Status Flood(const Options& options,
                   const std::function<std::string(int)>& token,
                   grpc::StatusCode expected) {
  std::atomic<int> next = 0, wrong = 0;
  std::atomic<int> code = 0;  // of the last one that was wrong
  const auto run = [&] {
    std::unique_ptr<v1::SessionService::Stub> stub;
    int calls = 0;
    for (int i = next++; i < options.count; i = next++) {
      if (calls++ % options.calls == 0) {
        stub = v1::SessionService::NewStub(ConnectStranger(options.tcp));
      }
      grpc::ClientContext context;
      const std::string text = token(i);
      if (!text.empty()) context.AddMetadata("authorization", "Bearer " + text);
      v1::ListSessionsResponse response;
      const grpc::Status status = stub->ListSessions(&context, {}, &response);
      if (status.error_code() == expected) continue;
      code = status.error_code();
      ++wrong;
    }
  };
  std::vector<std::thread> clients;
  for (int i = 0; i < options.clients; ++i) clients.emplace_back(run);
  for (std::thread& client : clients) client.join();
  if (wrong == 0) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(wrong.load(), " of ", options.count,
                                          " calls ended otherwise, as with ",
                                          code.load()));
}

std::string ReadAll(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// `good`, made wrong in one of several ways.
std::string BadPolicy(const std::string& good, int i) {
  switch (i % 6) {
    case 0:
      return absl::StrCat(good, "[tenants.eve", i, "\n");
    case 1:
      return absl::StrCat(good, "[tenants.eve", i, "]\nadmin = true\n");
    case 2:
      return absl::StrCat(good, "[tenants.eve]\nusers = [\"nobody ", i,
                          "\"]\n");
    case 3:
      return absl::StrCat(good, "[tenants.eve]\nweight = ", 1001 + i, "\n");
    case 4:
      return absl::StrCat(good, "[tenants.eve.quota]\nsessions = -", i, "\n");
    default:
      return absl::StrCat(good, std::string((1 << 20) + i, '#'));
  }
}

// The daemon opens its audit log again after it has read a policy, and writes
// into it how that ended.
absl::Status AwaitRefusal(const Options& options) {
  const absl::Time deadline = absl::Now() + absl::Seconds(30);
  while (absl::Now() < deadline) {
    const std::string audit = ReadAll(options.audit_log);
    if (absl::StrContains(audit, "\"event\":\"Reload\"")) {
      if (absl::StrContains(audit, "INVALID_ARGUMENT")) return absl::OkStatus();
      return absl::InternalError(
          absl::StrCat("a bad policy was taken: ", audit));
    }
    absl::SleepFor(absl::Microseconds(200));
  }
  return absl::DeadlineExceededError("the daemon did not read its policy");
}

absl::Status LoadBadPolicies(const Options& options) {
  const std::string good = ReadAll(options.policy);
  absl::Status status;
  for (int i = 0; i < options.policies && status.ok(); ++i) {
    std::ofstream(options.policy) << BadPolicy(good, i);
    std::filesystem::remove(options.audit_log);
    if (kill(options.pid, SIGHUP) != 0) {
      status = absl::ErrnoToStatus(errno, "kill");
    } else {
      status = AwaitRefusal(options);
    }
  }
  std::ofstream(options.policy) << good;
  return status;
}

absl::Status Run(const Options& options) {
  RoundTrips local(options.address), remote(options.tcp);
  HOLDFAST_RETURN_IF_ERROR(local.Start());
  HOLDFAST_RETURN_IF_ERROR(remote.Start());
  std::printf(
      "| the tenant launches and waits | refused | seconds | supervisor's MiB, "
      "before and after | local: number, median, 99 %% | over TCP |\n"
      "| --- | --- | --- | --- | --- | --- |\n");
  const auto measure = [&](const char* when, int refused,
                           const std::function<absl::Status()>& act) {
    local.Clear();
    remote.Clear();
    const double before = MemoryMiB(options.pid);
    const absl::Time begin = absl::Now();
    HOLDFAST_RETURN_IF_ERROR(act());
    const double seconds = absl::ToDoubleSeconds(absl::Now() - begin);
    HOLDFAST_ASSIGN_OR_RETURN(const std::string of_local, local.Describe());
    HOLDFAST_ASSIGN_OR_RETURN(const std::string of_remote, remote.Describe());
    std::printf("| %s | %d | %.1f | %.1f, %.1f | %s | %s |\n", when, refused,
                seconds, before, MemoryMiB(options.pid), of_local.c_str(),
                of_remote.c_str());
    std::fflush(stdout);
    return absl::OkStatus();
  };
  const auto rest = [&] {
    absl::SleepFor(absl::Seconds(options.seconds));
    return absl::OkStatus();
  };
  HOLDFAST_RETURN_IF_ERROR(measure("alone", 0, rest));
  HOLDFAST_RETURN_IF_ERROR(
      measure("beside rejected logins", options.count, [&] {
        return Flood(
            options, [](int) { return std::string(); },
            grpc::StatusCode::PERMISSION_DENIED);
      }));
  HOLDFAST_RETURN_IF_ERROR(measure("beside bad tokens", options.count, [&] {
    return Flood(options, BadToken, grpc::StatusCode::UNAUTHENTICATED);
  }));
  HOLDFAST_RETURN_IF_ERROR(measure("beside bad policy files", options.policies,
                                   [&] { return LoadBadPolicies(options); }));
  return measure("alone again", 0, rest);
}

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) {
  holdfast::Options options;
  CLI::App app("Shows what a tenant notices of strangers; prints a table");
  app.add_option("--address", options.address, "The daemon's, unix:PATH")
      ->required();
  app.add_option("--tcp", options.tcp, "The same daemon's, tcp:HOST:PORT")
      ->required();
  app.add_option("--pid", options.pid, "The daemon's process")
      ->required()
      ->check(CLI::PositiveNumber);
  app.add_option("--policy", options.policy, "Its policy, which is written to")
      ->required();
  app.add_option("--audit-log", options.audit_log, "Its audit log")->required();
  app.add_option("--count", options.count, "Logins, and tokens")
      ->check(CLI::PositiveNumber);
  app.add_option("--policies", options.policies, "Bad policy files")
      ->check(CLI::Range(1, 100'000));
  app.add_option("--clients", options.clients, "Strangers at once")
      ->check(CLI::Range(1, 256));
  app.add_option("--calls", options.calls,
                 "A stranger's calls on one connection")
      ->check(CLI::PositiveNumber);
  app.add_option("--seconds", options.seconds, "Alone, before and after");
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = holdfast::Run(options);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
