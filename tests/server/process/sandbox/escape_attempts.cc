// SPDX-License-Identifier: Apache-2.0
#include "tests/server/process/sandbox/escape_attempts.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"

namespace holdfast::testing {
namespace {

int ErrorOf(long result) { return result < 0 ? errno : 0; }

int ReadFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return errno;
  char byte;
  return ErrorOf(read(fd, &byte, 1));
}

int ReadPasswords(const Outside&) { return ReadFile("/etc/passwd"); }

int ReadSecret(const Outside& outside) { return ReadFile(outside.secret_file); }

int ReadSupervisorMemory(const Outside& outside) {
  return ReadFile(absl::StrCat("/proc/", outside.supervisor, "/mem"));
}

int ReadSupervisorEnvironment(const Outside& outside) {
  return ReadFile(absl::StrCat("/proc/", outside.supervisor, "/environ"));
}

int CopySupervisorMemory(const Outside& outside) {
  char byte;
  iovec here = {&byte, 1};
  iovec there = {&byte, 1};
  return ErrorOf(process_vm_readv(outside.supervisor, &here, 1, &there, 1, 0));
}

int TraceSupervisor(const Outside& outside) {
  return ErrorOf(ptrace(PTRACE_SEIZE, outside.supervisor, nullptr, nullptr));
}

int SignalSupervisor(const Outside& outside) {
  return ErrorOf(kill(outside.supervisor, 0));
}

int SignalEverybody(const Outside&) { return ErrorOf(kill(-1, 0)); }

// A descriptor's owner gets the signals that its readiness causes: SIGIO, or
// another that the process chose, as SIGKILL.
int SignalByDescriptor(int command, long value) {
  const int fd = memfd_create("owned", MFD_CLOEXEC);
  if (fd < 0) return errno;
  return ErrorOf(fcntl(fd, command, value));
}

int OwnBySupervisor(const Outside& outside) {
  return SignalByDescriptor(F_SETOWN, outside.supervisor);
}

int OwnBySupervisorThread(const Outside& outside) {
  const f_owner_ex owner = {.type = F_OWNER_TID, .pid = outside.supervisor};
  return SignalByDescriptor(F_SETOWN_EX, reinterpret_cast<long>(&owner));
}

int ChooseKill(const Outside&) { return SignalByDescriptor(F_SETSIG, SIGKILL); }

int SignalWhenReady(const Outside&) {
  return SignalByDescriptor(F_SETFL, O_ASYNC);
}

// The descriptor refuses them with ENOTTY, where nothing before it does.
int Control(unsigned long request) {
  char byte = '\n';
  return ErrorOf(ioctl(STDIN_FILENO, request, &byte));
}

int TypeIntoTerminal(const Outside&) { return Control(TIOCSTI); }

int PasteIntoTerminal(const Outside&) { return Control(TIOCLINUX); }

int OwnByControl(const Outside&) { return Control(FIOSETOWN); }

int OwnGroupByControl(const Outside&) { return Control(SIOCSPGRP); }

int SignalWhenReadyByControl(const Outside&) { return Control(FIOASYNC); }

int TakeSupervisorDescriptor(const Outside& outside) {
  const long fd = syscall(SYS_pidfd_open, outside.supervisor, 0);
  if (fd < 0) return errno;
  return ErrorOf(syscall(SYS_pidfd_getfd, fd, 0, 0));
}

int ConnectOverTcp(const Outside&) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (fd < 0) return errno;
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return ErrorOf(
      connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address));
}

int ConnectToTheDaemon(const Outside& outside) {
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  if (fd < 0) return errno;
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  outside.socket_path.copy(address.sun_path, sizeof address.sun_path - 1);
  return ErrorOf(
      connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address));
}

int ListenForOthers(const Outside&) {
  return ErrorOf(socket(AF_INET6, SOCK_DGRAM, 0));
}

int StartProgram(const Outside&) {
  return ErrorOf(execl("/bin/sh", "sh", "-c", "exit 0", nullptr));
}

int StartProcess(const Outside&) {
  const pid_t pid = fork();
  if (pid == 0) _exit(0);
  return ErrorOf(pid);
}

int WriteFile(const Outside& outside) {
  return ErrorOf(
      open((outside.directory + "/object").c_str(), O_WRONLY | O_CREAT, 0600));
}

int ChangeFile(const Outside& outside) {
  return ErrorOf(open(outside.secret_file.c_str(), O_WRONLY));
}

int RemoveFile(const Outside& outside) {
  return ErrorOf(unlink(outside.secret_file.c_str()));
}

int OpenDevice(const Outside&) { return ReadFile("/dev/zero"); }

int BecomeRoot(const Outside&) { return ErrorOf(setreuid(0, 0)); }

int NewUserNamespace(const Outside&) { return ErrorOf(unshare(CLONE_NEWUSER)); }

int Mount(const Outside&) {
  return ErrorOf(mount("proc", "/proc", "proc", 0, nullptr));
}

int LoadIntoKernel(const Outside&) {
  return ErrorOf(syscall(SYS_bpf, 0, nullptr, 0));
}

int QueueToKernel(const Outside&) {
  return ErrorOf(syscall(SYS_io_uring_setup, 1, nullptr));
}

int ReadKeys(const Outside&) {
  return ErrorOf(syscall(SYS_keyctl, 0, 0, 0, 0, 0));
}

int ShareMemory(const Outside&) {
  return ErrorOf(shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600));
}

// Bounded by what a policy allows at most, so that a hole ends as well.
constexpr int kManyDescriptors = 40000;
constexpr int kManyThreads = 6000;
constexpr int kManyGibibytes = 4096;

int ExhaustDescriptors(const Outside&) {
  for (int i = 0; i < kManyDescriptors; ++i) {
    if (dup(0) < 0) return errno;
  }
  return 0;
}

void* SleepForever(void*) {
  while (true) sleep(1000);
}

int ExhaustThreads(const Outside&) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 16 << 10);
  for (int i = 0; i < kManyThreads; ++i) {
    pthread_t thread;
    const int error =
        pthread_create(&thread, &attributes, &SleepForever, nullptr);
    if (error != 0) return error;
  }
  return 0;
}

int ExhaustMemory(const Outside&) {
  for (int i = 0; i < kManyGibibytes; ++i) {
    if (mmap(nullptr, size_t{1} << 30, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
             0) == MAP_FAILED) {
      return errno;
    }
  }
  return 0;
}

}  // namespace

const std::vector<EscapeAttempt>& EscapeAttempts() {
  static const auto& attempts = *new std::vector<EscapeAttempt>{
      {"read /etc/passwd", &ReadPasswords, Wall::kReading, true},
      {"read a file of others", &ReadSecret, Wall::kReading, true},
      {"read the supervisor's /proc/PID/mem", &ReadSupervisorMemory,
       Wall::kProcesses},
      {"read the supervisor's environment", &ReadSupervisorEnvironment,
       Wall::kProcesses, true},
      {"copy the supervisor's memory (a neighbour's token)",
       &CopySupervisorMemory, Wall::kSystemCalls, true},
      {"trace the supervisor", &TraceSupervisor},
      {"signal the supervisor", &SignalSupervisor, Wall::kSystemCalls, true},
      {"signal all processes", &SignalEverybody},
      {"have the kernel signal the supervisor (F_SETOWN)", &OwnBySupervisor,
       Wall::kSystemCalls, true},
      {"have the kernel signal its thread (F_SETOWN_EX)",
       &OwnBySupervisorThread, Wall::kSystemCalls, true},
      {"choose SIGKILL as a descriptor's signal (F_SETSIG)", &ChooseKill,
       Wall::kSystemCalls, true},
      {"let a descriptor signal its owner (O_ASYNC)", &SignalWhenReady,
       Wall::kSystemCalls, true},
      {"type into a terminal (TIOCSTI)", &TypeIntoTerminal},
      {"paste into a terminal (TIOCLINUX)", &PasteIntoTerminal},
      {"name a socket's owner (FIOSETOWN)", &OwnByControl},
      {"name a socket's group (SIOCSPGRP)", &OwnGroupByControl},
      {"let a socket signal its owner (FIOASYNC)", &SignalWhenReadyByControl},
      {"take a descriptor of the supervisor", &TakeSupervisorDescriptor},
      {"connect over TCP", &ConnectOverTcp},
      {"connect to the daemon", &ConnectToTheDaemon, Wall::kSystemCalls, true},
      {"make a socket for others", &ListenForOthers},
      {"start a program", &StartProgram},
      {"start a process", &StartProcess},
      {"write a file (fill the disk, poison a cache)", &WriteFile,
       Wall::kWriting, true},
      {"change a file", &ChangeFile, Wall::kWriting, true},
      {"remove a file", &RemoveFile},
      {"open a device", &OpenDevice, Wall::kReading, true},
      {"become root", &BecomeRoot},
      {"make a user namespace", &NewUserNamespace},
      {"mount", &Mount},
      {"load a program into the kernel", &LoadIntoKernel},
      {"make an io_uring", &QueueToKernel},
      {"read keys of the kernel", &ReadKeys},
      {"share memory by System V IPC", &ShareMemory, Wall::kSystemCalls, true},
      {"exhaust descriptors", &ExhaustDescriptors, Wall::kDescriptorLimit},
      {"exhaust threads", &ExhaustThreads, Wall::kThreadLimit},
      {"exhaust memory of its own", &ExhaustMemory, Wall::kMemoryLimit},
  };
  return attempts;
}

}  // namespace holdfast::testing
