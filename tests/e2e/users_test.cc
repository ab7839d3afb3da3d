// SPDX-License-Identifier: Apache-2.0
//
// Several users of the machine at one daemon's Unix socket: which are let in,
// and that they see nothing of each other. Runs as root alone, which may become
// the others; skipped otherwise.
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/e2e/daemon_process.h"

namespace holdfast::e2e {
namespace {

// Users need no entry in /etc/passwd.
constexpr uid_t kAlice = 20001;
constexpr uid_t kBob = 20002;
constexpr uid_t kEve = 20003;

// Whether this process may become another user: root in a user namespace of one
// user may not.
bool MayBecomeOthers() {
  const pid_t child = fork();
  if (child == 0) _exit(setresuid(kAlice, kAlice, kAlice) == 0 ? 0 : 1);
  int status = 0;
  return waitpid(child, &status, 0) == child && status == 0;
}

class UsersTest : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0 || !MayBecomeOthers()) {
      GTEST_SKIP() << "needs root, who may become other users";
    }
    directory_ = "/tmp/holdfast-users-XXXXXX";
    ASSERT_NE(mkdtemp(directory_.data()), nullptr);
    // Others cannot reach the tree's own programs, which may be root's.
    ASSERT_EQ(chmod(directory_.c_str(), 0755), 0);
    for (const char* const program : {"HOLDFAST_CLI", "HOLDING_CLIENT"}) {
      std::filesystem::copy_file(ProgramPath(program), Path(program));
      chmod(Path(program).c_str(), 0755);
    }
    const std::string header =
        R"({"w":{"dtype":"F32","shape":[4],"data_offsets":[0,16]}})";
    const uint64_t size = header.size();
    std::ofstream(Path("model.safetensors"))
        << std::string(reinterpret_cast<const char*>(&size), 8) << header
        << std::string(16, '\1');
  }
  ~UsersTest() override {
    daemon_ = nullptr;
    if (!directory_.empty()) std::filesystem::remove_all(directory_);
  }

  std::string Path(const std::string& name) const {
    return directory_ + "/" + name;
  }

  void Start(const std::vector<std::string>& flags = {}) {
    daemon_ = std::make_unique<DaemonProcess>(flags);
    ASSERT_EQ(chmod(daemon_->directory().c_str(), 0755), 0);
  }

  static std::vector<std::string> As(uid_t uid,
                                     std::vector<std::string> arguments) {
    std::vector<std::string> all = {"/usr/bin/setpriv",
                                    absl::StrCat("--reuid=", uid),
                                    absl::StrCat("--regid=", uid),
                                    "--clear-groups",
                                    "--inh-caps=-all",
                                    "--"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return all;
  }

  Outcome Holdfast(uid_t uid, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), Path("HOLDFAST_CLI"));
    arguments.push_back("--address=" + daemon_->address());
    return RunProgram(As(uid, std::move(arguments)));
  }

  // A client that keeps a session open. Returns its id.
  std::string Hold(uid_t uid, std::unique_ptr<Process>* client) {
    *client = std::make_unique<Process>(
        As(uid, {Path("HOLDING_CLIENT"), daemon_->address()}));
    return (*client)->ReadLine();
  }

  std::string directory_;
  std::unique_ptr<DaemonProcess> daemon_;
};

TEST_F(UsersTest, ByDefaultOnlyTheDaemonsOwnUserAndRootAreServed) {
  Start();
  EXPECT_EQ(Holdfast(0, {"sessions"}).exit_code, 0);
  const Outcome refused = Holdfast(kAlice, {"sessions"});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_TRUE(absl::StrContains(refused.err, "permission denied"))
      << refused.err;
}

TEST_F(UsersTest, EachUserIsItsTenantAndSeesNothingOfAnother) {
  std::ofstream(Path("policy.toml"))
      << "[tenants.team-a]\nusers = [" << kAlice
      << "]\n[tenants.team-b]\nusers = [" << kBob << "]\n";
  Start({"--policy=" + Path("policy.toml"), "--socket-mode=0666"});

  std::unique_ptr<Process> of_alice, of_bob;
  const std::string session_a = Hold(kAlice, &of_alice);
  const std::string session_b = Hold(kBob, &of_bob);
  ASSERT_FALSE(session_a.empty());
  ASSERT_FALSE(session_b.empty());
  const std::string quoted_a = "\"" + session_a + "\"";
  const std::string quoted_b = "\"" + session_b + "\"";
  const Outcome sessions = Holdfast(kAlice, {"sessions", "--json"});
  EXPECT_TRUE(absl::StrContains(sessions.out, quoted_a)) << sessions.out;
  EXPECT_FALSE(absl::StrContains(sessions.out, quoted_b)) << sessions.out;
  EXPECT_TRUE(
      absl::StrContains(Holdfast(kBob, {"sessions", "--json"}).out, quoted_b));
  EXPECT_NE(Holdfast(kBob, {"sessions", "end", session_a}).exit_code, 0);
  const Outcome all = Holdfast(0, {"sessions", "--json"});
  EXPECT_TRUE(absl::StrContains(all.out, quoted_a)) << all.out;
  EXPECT_TRUE(absl::StrContains(all.out, quoted_b)) << all.out;

  const Outcome loaded = Holdfast(
      kAlice, {"collection", "load", "model", Path("model.safetensors")});
  EXPECT_EQ(loaded.exit_code, 0) << loaded.err;
  EXPECT_EQ(Holdfast(kAlice, {"collection", "show", "model"}).exit_code, 0);
  EXPECT_NE(Holdfast(kBob, {"collection", "show", "model"}).exit_code, 0);
  const Outcome listed = Holdfast(kBob, {"collection", "ls"});
  EXPECT_EQ(listed.exit_code, 0) << listed.err;
  EXPECT_FALSE(absl::StrContains(listed.out, "model")) << listed.out;

  const Outcome tenants = Holdfast(kAlice, {"tenants", "ls", "--json"});
  EXPECT_TRUE(absl::StrContains(tenants.out, "\"team-a\"")) << tenants.out;
  EXPECT_FALSE(absl::StrContains(tenants.out, "\"team-b\"")) << tenants.out;
  // Cache entries tell of others' programs.
  EXPECT_NE(Holdfast(kAlice, {"cache", "ls"}).exit_code, 0);
  EXPECT_NE(Holdfast(kBob, {"cache", "ls"}).exit_code, 0);

  const Outcome eve = Holdfast(kEve, {"sessions"});
  EXPECT_EQ(eve.exit_code, 1);
  EXPECT_TRUE(absl::StrContains(eve.err, "policy")) << eve.err;
  EXPECT_EQ(of_alice->Finish(), 0);
  EXPECT_EQ(of_bob->Finish(), 0);
}

}  // namespace
}  // namespace holdfast::e2e
