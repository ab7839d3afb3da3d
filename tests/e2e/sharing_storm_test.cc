// SPDX-License-Identifier: Apache-2.0
//
// A storm of processes that share: sessions and foreign processes that export,
// import, commit collections, open them, fault and die at random. Each compares
// the bytes of what it holds, the whole time; in the end nothing is left over.
// HOLDFAST_STORM_SEED and HOLDFAST_STORM_SECONDS make other storms.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/cpp/collection/collections.h"
#include "client/cpp/connection/daemon.h"
#include "core/base/unique_fd.h"
#include "holdfast/v1/collections.pb.h"
#include "holdfast/v1/sessions.pb.h"
#include "tests/e2e/sharing_storm_board.h"
#include "tests/server/testing/daemon_process.h"
#include "tests/testing/setting.h"

namespace holdfast::e2e {
namespace {

using ::holdfast::testing::Setting;

constexpr int kSessions = 8;
constexpr int kProcesses = 4;

// One process of the storm, sharing_storm_client.
class Client {
 public:
  explicit Client(std::vector<std::string> arguments) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) std::abort();
    const UniqueFd child_in(ends[0]);
    stdin_.Reset(ends[1]);
    arguments.insert(arguments.begin(), std::getenv("SHARING_STORM_CLIENT"));
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, child_in.get(), STDIN_FILENO);
    posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    if (posix_spawn(&pid_, argv[0], &actions, nullptr, argv.data(), environ) !=
        0) {
      std::abort();
    }
    posix_spawn_file_actions_destroy(&actions);
  }
  ~Client() {
    if (pid_ < 0) return;
    Kill();
    waitpid(pid_, nullptr, 0);
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void Kill() const {
    if (pid_ > 0) kill(pid_, SIGKILL);
  }
  void EndStdin() { stdin_.Reset(); }

  // True once it has ended; then, if it found anything wrong, the test has
  // failed. It says on stderr what it was.
  bool HasEnded() {
    int status = 0;
    if (pid_ > 0 && waitpid(pid_, &status, WNOHANG) == 0) return false;
    pid_ = -1;
    const bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    EXPECT_TRUE(killed || status == 0) << "a client's wait status: " << status;
    return true;
  }

 private:
  pid_t pid_ = -1;
  UniqueFd stdin_;
};

// Files and directories below, but for what the test itself puts there and the
// daemon's cache.
size_t RuntimeFiles(const std::string& directory) {
  std::error_code gone;
  size_t count = 0;
  for (std::filesystem::recursive_directory_iterator at(directory, gone), end;
       !gone && at != end; at.increment(gone)) {
    const std::string name = at->path().filename();
    if (name == "board" || name == "programs") {
      at.disable_recursion_pending();
    } else {
      ++count;
    }
  }
  return count;
}

std::string FirstLine(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The processes that `parent` has started, and those that they have.
std::vector<pid_t> Descendants(pid_t parent) {
  std::multimap<pid_t, pid_t> children;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    pid_t pid = 0, of = 0;
    if (!absl::SimpleAtoi(entry.path().filename().string(), &pid)) continue;
    const std::string stat = FirstLine(entry.path() / "stat");
    const size_t name_end = stat.rfind(')');
    if (name_end == std::string::npos ||
        std::sscanf(stat.c_str() + name_end, ") %*c %d", &of) != 1) {
      continue;
    }
    children.emplace(of, pid);
  }
  std::vector<pid_t> found = {parent};
  for (size_t i = 0; i < found.size(); ++i) {
    const auto [begin, end] = children.equal_range(found[i]);
    for (auto child = begin; child != end; ++child) {
      found.push_back(child->second);
    }
  }
  found.erase(found.begin());
  return found;
}

// Memory that others may have mapped, too.
size_t SharedMappings(pid_t pid) {
  std::ifstream file(absl::StrCat("/proc/", pid, "/maps"));
  size_t count = 0;
  for (std::string line; std::getline(file, line);) {
    count += absl::StrContains(line, "memfd:") ? 1 : 0;
  }
  return count;
}

// All but those that gRPC's threads keep to wait by, of which there are as many
// as have ever waited at once.
size_t Descriptors(pid_t pid) {
  size_t count = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(
           absl::StrCat("/proc/", pid, "/fd"), error)) {
    const auto target = std::filesystem::read_symlink(entry.path(), error);
    if (target == "anon_inode:[eventfd]" ||
        target == "anon_inode:[eventpoll]") {
      continue;
    }
    count += error ? 0 : 1;
  }
  return count;
}

class SharingStormTest : public ::testing::Test {
 protected:
  SharingStormTest() { std::filesystem::create_directory(board_directory_); }

  std::unique_ptr<Client> Start(const std::string& role, uint32_t seed) {
    return std::make_unique<Client>(std::vector<std::string>{
        role, address_, board_directory_, absl::StrCat(seed)});
  }

  // Lets processes come and go until the time is over. They die by themselves
  // between two steps; with `kill` at any instant, too. A session whose client
  // dies while it is opened stays for 30 s.
  void Rage(uint32_t seed, int sessions, int processes, absl::Duration time,
            bool kill) {
    std::mt19937 random(seed);
    std::vector<std::pair<std::string, std::unique_ptr<Client>>> clients;
    for (int i = 0; i < sessions; ++i) clients.emplace_back("session", nullptr);
    for (int i = 0; i < processes; ++i) {
      clients.emplace_back("process", nullptr);
    }
    const absl::Time end = absl::Now() + time;
    while (absl::Now() < end && !HasFailure()) {
      for (auto& [role, client] : clients) {
        if (client == nullptr || client->HasEnded()) {
          client = Start(role, random());
        }
      }
      absl::SleepFor(absl::Milliseconds(random() % 100));
      if (!kill || random() % 8 > 0) continue;
      clients[random() % clients.size()].second->Kill();
      board_->Count(Deed::kDied);
    }
    for (auto& [role, client] : clients) client->EndStdin();
    for (const auto& entry : clients) {
      EXPECT_TRUE(Eventually([&] { return entry.second->HasEnded(); }))
          << "a client hangs";
    }
  }

  template <typename Condition>
  static bool Eventually(Condition condition) {
    for (int i = 0; i < 6000; ++i) {
      if (condition()) return true;
      absl::SleepFor(absl::Milliseconds(10));
    }
    return false;
  }

  void DeleteCollections() {
    Collections collections(connection_);
    const v1::ListCollectionsResponse list = *collections.List();
    for (const v1::CollectionInfo& info : list.collections()) {
      EXPECT_TRUE(collections.Delete(info.name()).ok()) << info.name();
    }
  }

  // All that a storm could leave behind.
  std::map<std::string, uint64_t> Holdings() {
    const v1::ListSessionsResponse list = *connection_->ListSessions();
    const std::vector<pid_t> descendants = Descendants(daemon_.pid());
    std::map<std::string, uint64_t> holdings = {
        {"sessions", list.sessions_size()},
        {"collections", Collections(connection_).List()->collections_size()},
        {"bytes of the device",
         list.totals().devices(0).reserved_bytes().used()},
        {"bytes without a session", list.totals().devices(0).orphaned_bytes()},
        {"bytes of the host", list.totals().host_bytes().used()},
        {"child processes", descendants.size()},
        {"runtime files", RuntimeFiles(daemon_.directory())},
        {"descriptors of the daemon", Descriptors(daemon_.pid())},
        {"shared mappings of the daemon", SharedMappings(daemon_.pid())},
    };
    for (const pid_t pid : descendants) {
      holdings["descriptors of its children"] += Descriptors(pid);
      holdings["shared mappings of its children"] += SharedMappings(pid);
    }
    return holdings;
  }
  // Holdings once they do not change any more.
  std::map<std::string, uint64_t> Settled() {
    auto last = Holdings();
    int same = 0;
    Eventually([&] {
      absl::SleepFor(absl::Milliseconds(50));
      auto now = Holdings();
      same = now == last ? same + 1 : 0;
      last = std::move(now);
      return same == 10 && last["sessions"] == 0;
    });
    return last;
  }

  DaemonProcess daemon_{{"--max-faults=0", "--max-sessions=64",
                         "--max-sessions-per-client=64", "--log-level=error"}};
  const std::string address_ = "unix:" + daemon_.socket();
  const std::string board_directory_ = daemon_.directory() + "/board";
  const std::shared_ptr<Daemon> connection_ = Daemon::Connect(address_).value();
  std::unique_ptr<StormBoard> board_;
};

TEST_F(SharingStormTest, SurvivorsHaveTheirBytesAndNothingIsLeftOver) {
  const uint32_t seed = Setting("HOLDFAST_STORM_SEED", 21u);
  const uint32_t seconds = Setting("HOLDFAST_STORM_SECONDS", 5u);
  std::printf("HOLDFAST_STORM_SEED=%u HOLDFAST_STORM_SECONDS=%u\n", seed,
              seconds);
  board_ = std::make_unique<StormBoard>(board_directory_);
  // The daemon has then started what it keeps: compilers, threads, caches.
  Rage(seed, kSessions, 1, absl::Seconds(2), false);
  DeleteCollections();
  ASSERT_FALSE(HasFailure());
  std::map<std::string, uint64_t> before = Settled();
  // An idle daemon has one more or less with each warm executor that it makes
  // ready; the storm has thousands of deeds that could leave one.
  std::map<std::string, uint64_t> allowed = before;
  allowed["descriptors of the daemon"] += 4;

  Rage(seed + 1, kSessions, kProcesses, absl::Seconds(seconds), true);
  DeleteCollections();
  std::map<std::string, uint64_t> after;
  const auto is_back = [&] {
    after = Holdings();
    for (const auto& [name, count] : allowed) {
      if (after[name] > count) return false;
    }
    return true;
  };
  EXPECT_TRUE(Eventually(is_back));

  for (int i = 0; i < kDeeds; ++i) {
    const auto deed = static_cast<Deed>(i);
    std::printf("%-32s %10lu\n", Name(deed), board_->Counted(deed));
    EXPECT_GT(board_->Counted(deed), 0u) << Name(deed);
  }
  std::printf("%-32s %10s %10s\n", "", "before", "after");
  for (const auto& [name, count] : after) {
    std::printf("%-32s %10lu %10lu\n", name.c_str(), before[name], count);
    EXPECT_LE(count, allowed[name]) << name;
  }
}

}  // namespace
}  // namespace holdfast::e2e
