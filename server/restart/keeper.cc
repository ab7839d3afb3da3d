// SPDX-License-Identifier: Apache-2.0
//
// The keeper speaks systemd's protocol and knows nothing of Holdfast:
//
//   daemon ── FDSTORE=1, FDNAME=hf.chunk.7... (+fd) ──▶ keeper   sd_notify(3)
//   daemon ── FDSTOREREMOVE=1, FDNAME=... ────────────▶ keeper
//   (kill -9)
//   keeper ── descriptor_list.h ──────────────────────▶ the next daemon
//
// A keeper that a daemon has started (keeper_watch.h) begins with that daemon,
// whose parent it is not: how it has ended cannot be known, so one that has
// said STOPPING=1 has ended in order.
//
// So it has nothing that could fail: no memory but the descriptors, no threads.
#include "server/restart/keeper.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "core/base/argv.h"
#include "core/base/log.h"
#include "core/base/steady_time.h"
#include "core/base/unique_fd.h"
#include "server/restart/arguments.h"
#include "server/restart/descriptor_list.h"
#include "server/restart/keeper_handover.h"
#include "server/restart/keeper_socket.h"

namespace holdfast {
namespace {

constexpr size_t kMaxStarts = 5;
constexpr absl::Duration kStartTime = absl::Seconds(30);
constexpr absl::Duration kPause = absl::Milliseconds(50);
constexpr size_t kMaxKept = 65536;
constexpr size_t kMaxMessage = 4096;

class Keeper {
 public:
  Keeper(std::vector<std::string> arguments, int ready_fd,
         std::optional<AdoptedDaemon> adopted)
      : arguments_(std::move(arguments)), ready_fd_(ready_fd) {
    // Not /proc/self/exe itself: a new file there is for the next daemon.
    char path[4096];
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
    if (length > 0) binary_.assign(path, static_cast<size_t>(length));
    // A file was put there already.
    binary_ = std::string(absl::StripSuffix(binary_, " (deleted)"));
    if (!adopted.has_value()) return;
    daemon_ = adopted->pid;
    adopted_ = std::move(adopted->process);
    socket_ = std::move(adopted->socket);
  }

  int Run() {
    // A process that could trace it would have every session's memory.
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    if (!Listen()) return 1;
    std::deque<absl::Time> starts;
    while (true) {
      starts.push_back(SteadyNow());
      if (starts.size() > kMaxStarts) starts.pop_front();
      if (!adopted_.valid() && !Start()) return 1;
      const std::optional<int> status = AwaitEnd();
      adopted_.Reset();
      if (status.has_value()) {
        const bool asked =
            stopping_ || (WIFEXITED(*status) && WEXITSTATUS(*status) == 0);
        if (asked) return WIFEXITED(*status) ? WEXITSTATUS(*status) : 1;
      } else if (stopping_ || told_stopping_) {
        return 0;
      }
      LogWarning("the daemon ", Describe(status), "; it is started anew with ",
                 kept_.size(), " descriptors");
      if (starts.size() == kMaxStarts &&
          SteadyNow() - starts.front() < kStartTime) {
        LogError("it has failed ", kMaxStarts, " times within ",
                 absl::FormatDuration(kStartTime));
        return 1;
      }
      absl::SleepFor(kPause);
    }
  }

 private:
  // `status` is nullopt for a daemon that was adopted.
  static std::string Describe(std::optional<int> status) {
    if (!status.has_value()) return "has ended";
    if (WIFSIGNALED(*status)) {
      return absl::StrCat("was killed by ", strsignal(WTERMSIG(*status)));
    }
    return absl::StrCat("ended with status ", WEXITSTATUS(*status));
  }

  // The socket of $NOTIFY_SOCKET and the signals.
  bool Listen() {
    if (!socket_.fd.valid()) {
      auto made = KeeperSocket::Create();
      if (!made.ok()) {
        LogError("no messages of the daemon's: ", made.status().message());
        return false;
      }
      socket_ = *std::move(made);
    }
    self_ = OpenProcess(getpid());
    setenv("NOTIFY_SOCKET", socket_.address.c_str(), 1);
    setenv("FDSTORE", absl::StrCat(kMaxKept).c_str(), 1);
    setenv("HOLDFAST_KEEPER", "1", 1);  // See descriptor_store.cc.
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
    sigset_t mask;
    sigemptyset(&mask);
    for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGUSR2, SIGCHLD}) {
      sigaddset(&mask, signal);
    }
    sigprocmask(SIG_BLOCK, &mask, &old_mask_);
    // A daemon that starts its keeper has blocked them already.
    if (adopted_.valid()) sigemptyset(&old_mask_);
    signals_ = UniqueFd(signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK));
    return signals_.valid();
  }

  bool Start() {
    daemon_ = fork();
    if (daemon_ == 0) Execute();
    if (daemon_ < 0) LogError("no process for the daemon: ", strerror(errno));
    // The first one says its addresses; the next one has the same.
    if (ready_fd_ >= 0) {
      Silence(std::exchange(ready_fd_, -1));
      ForgetReadyFd(&arguments_);
    }
    return daemon_ > 0;
  }

  // Lets go of a descriptor without leaving its number to others.
  static void Silence(int fd) {
    const UniqueFd nothing(open("/dev/null", O_RDWR | O_CLOEXEC));
    dup2(nothing.get(), fd);
  }

  // In the child.
  [[noreturn]] void Execute() {
    std::vector<std::pair<std::string, int>> descriptors;
    for (const auto& [name, fd] : kept_) {
      descriptors.emplace_back(name, fd.get());
    }
    if (!descriptors.empty()) {
      const absl::Status listed = ListDescriptors(descriptors);
      if (!listed.ok())
        LogError("the descriptors are lost: ", listed.message());
    }
    if (self_.valid()) PassKeeperOn(self_.get());
    sigprocmask(SIG_SETMASK, &old_mask_, nullptr);
    execv(binary_.c_str(), Argv(arguments_).data());
    LogError("execute ", binary_, ": ", strerror(errno));
    _exit(127);
  }

  // Takes messages and signals until the daemon has ended. Returns how it did,
  // or nullopt for one that was adopted.
  std::optional<int> AwaitEnd() {
    while (true) {
      pollfd events[] = {
          {.fd = socket_.fd.get(), .events = POLLIN, .revents = 0},
          {.fd = signals_.get(), .events = POLLIN, .revents = 0},
          {.fd = adopted_.get(), .events = POLLIN, .revents = 0}};
      if (poll(events, 3, -1) < 0) continue;
      if (events[0].revents != 0) TakeMessage();
      if (events[2].revents != 0) {
        while (TakeMessage()) {  // Its last.
        }
        return std::nullopt;
      }
      if (events[1].revents == 0) continue;
      signalfd_siginfo info = {};
      if (read(signals_.get(), &info, sizeof info) <= 0) continue;
      const int signal = static_cast<int>(info.ssi_signo);
      if (signal != SIGCHLD) {
        if (signal == SIGTERM || signal == SIGINT) stopping_ = true;
        Signal(signal);
        continue;
      }
      int status = 0;
      if (waitpid(daemon_, &status, WNOHANG) != daemon_) continue;
      while (TakeMessage()) {  // Its last.
      }
      return status;
    }
  }

  void Signal(int signal) const {
    if (adopted_.valid()) {
      syscall(SYS_pidfd_send_signal, adopted_.get(), signal, nullptr, 0);
    } else {
      kill(daemon_, signal);
    }
  }

  // False: there is none.
  bool TakeMessage() {
    char text[kMaxMessage];
    iovec bytes = {.iov_base = text, .iov_len = sizeof text};
    alignas(cmsghdr) char
        control[CMSG_SPACE(sizeof(ucred)) + CMSG_SPACE(16 * sizeof(int))] = {};
    msghdr message = {};
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t size =
        recvmsg(socket_.fd.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (size < 0) return false;
    std::vector<UniqueFd> fds;
    pid_t sender = 0;
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
         header = CMSG_NXTHDR(&message, header)) {
      if (header->cmsg_level != SOL_SOCKET) continue;
      if (header->cmsg_type == SCM_CREDENTIALS) {
        ucred credentials = {};
        std::memcpy(&credentials, CMSG_DATA(header), sizeof credentials);
        sender = credentials.pid;
      } else if (header->cmsg_type == SCM_RIGHTS) {
        const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; ++i) {
          int fd = -1;
          std::memcpy(&fd, CMSG_DATA(header) + i * sizeof fd, sizeof fd);
          fds.emplace_back(fd);
        }
      }
    }
    if (sender == daemon_) {
      Carry({text, static_cast<size_t>(size)}, std::move(fds));
    }
    return true;
  }

  void Carry(absl::string_view text, std::vector<UniqueFd> fds) {
    std::string name;
    bool store = false;
    bool remove = false;
    for (absl::string_view line : absl::StrSplit(text, '\n')) {
      if (line == "FDSTORE=1") store = true;
      if (line == "FDSTOREREMOVE=1") remove = true;
      if (line == "STOPPING=1") told_stopping_ = true;
      if (absl::ConsumePrefix(&line, "FDNAME=")) name = std::string(line);
    }
    if (remove) kept_.erase(name);
    if (!store || fds.size() != 1 || name.empty()) return;
    if (kept_.size() < kMaxKept) kept_[name] = std::move(fds[0]);
  }

  std::string binary_;
  std::vector<std::string> arguments_;
  int ready_fd_;         // -1: it was used
  KeeperSocket socket_;  // for the daemon's messages
  UniqueFd signals_;
  UniqueFd self_;  // a pidfd for the daemon
  sigset_t old_mask_ = {};
  pid_t daemon_ = 0;
  UniqueFd adopted_;  // its pidfd, if it is no child
  bool stopping_ = false;
  bool told_stopping_ = false;  // by the daemon
  std::map<std::string, UniqueFd> kept_;
};

}  // namespace

int RunKeeper(const std::vector<std::string>& arguments, int ready_fd) {
  return Keeper(arguments, ready_fd, TakeAdoptedDaemon()).Run();
}

}  // namespace holdfast
