// SPDX-License-Identifier: Apache-2.0
#include "server/process/sandbox/seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <vector>

namespace holdfast {
namespace {

// A set of roles, as seccomp.inc writes it.
constexpr uint32_t C = 1 << static_cast<int>(SandboxRole::kCompiler);
constexpr uint32_t S = 1 << static_cast<int>(SandboxRole::kSoftwareExecutor);
constexpr uint32_t G = 1 << static_cast<int>(SandboxRole::kCudaExecutor);

struct AllowedCall {
  uint32_t number;
  uint32_t roles;
};

constexpr AllowedCall kAllowed[] = {
#define SYSTEM_CALL(name, roles) {SYS_##name, roles},
#include "server/process/sandbox/seccomp.inc"
#undef SYSTEM_CALL
};

// libc uses older calls, whose arguments a filter can see, where it is told
// that these do not exist.
constexpr uint32_t kMissing[] = {SYS_clone3, SYS_openat2};

constexpr uint32_t kChanging = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC;

using Program = std::vector<sock_filter>;

constexpr uint32_t Answer(int error) {
  return SECCOMP_RET_ERRNO | (static_cast<uint32_t>(error) & SECCOMP_RET_DATA);
}

void Add(Program* program, uint32_t code, uint32_t operand, uint8_t yes = 0,
         uint8_t no = 0) {
  program->push_back({static_cast<uint16_t>(code), yes, no, operand});
}

void Load(Program* program, size_t offset) {
  Add(program, BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset));
}

// The lower half of an argument: flags and pids have no more.
void LoadArgument(Program* program, int index) {
  Load(program, offsetof(seccomp_data, args) +
                    static_cast<size_t>(index) * sizeof(uint64_t));
}

void Return(Program* program, uint32_t action) {
  Add(program, BPF_RET | BPF_K, action);
}

// For one system call: `body`, which ends with a Return on every way.
template <typename Body>
void OnCall(Program* program, uint32_t number, Body body) {
  Program inner;
  body(&inner);
  Add(program, BPF_JMP | BPF_JEQ | BPF_K, number, 0,
      static_cast<uint8_t>(inner.size()));
  program->insert(program->end(), inner.begin(), inner.end());
}

// Allowed if the argument and the mask have a bit in common, or none.
void AllowIfBits(Program* program, int argument, uint32_t mask, bool common) {
  LoadArgument(program, argument);
  Add(program, BPF_JMP | BPF_JSET | BPF_K, mask, common ? 1 : 0,
      common ? 0 : 1);
  Return(program, Answer(EPERM));
  Return(program, SECCOMP_RET_ALLOW);
}

void AllowIfEqual(Program* program, int argument, uint32_t value) {
  LoadArgument(program, argument);
  Add(program, BPF_JMP | BPF_JEQ | BPF_K, value, 1, 0);
  Return(program, Answer(EPERM));
  Return(program, SECCOMP_RET_ALLOW);
}

// Allowed if the value that is loaded is one of `values`, by a Return behind
// each test; else the program goes on.
void AllowValues(Program* program, std::initializer_list<uint32_t> values) {
  for (const uint32_t value : values) {
    Add(program, BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
    Return(program, SECCOMP_RET_ALLOW);
  }
}

// Calls of other architectures would have other numbers.
void CheckArchitecture(Program* program) {
  constexpr uint32_t kX32 = 0x40000000;
  Load(program, offsetof(seccomp_data, arch));
  Add(program, BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
  Return(program, SECCOMP_RET_KILL_PROCESS);
  Load(program, offsetof(seccomp_data, nr));
  Add(program, BPF_JMP | BPF_JGE | BPF_K, kX32, 0, 1);
  Return(program, Answer(ENOSYS));
}

void AllowOnly(Program* program, uint32_t number, int argument,
               uint32_t value) {
  OnCall(program, number,
         [&](Program* body) { AllowIfEqual(body, argument, value); });
}

// Opening a file for reading; which files, others decide.
void AllowReading(Program* program) {
  OnCall(program, SYS_open, [](Program* body) {
    AllowIfBits(body, 1, kChanging, /*common=*/false);
  });
  OnCall(program, SYS_openat, [](Program* body) {
    AllowIfBits(body, 2, kChanging, /*common=*/false);
  });
}

// Also for writing: device files, and the names of threads, which libcuda opens
// as if they might have to be created. Landlock and mounts let it create none.
void AllowOpening(Program* program) {
  for (const uint32_t number : {SYS_open, SYS_openat}) {
    OnCall(program, number,
           [](Program* body) { Return(body, SECCOMP_RET_ALLOW); });
  }
}

void AllowFileCalls(SandboxRole role, Program* program) {
  if (role == SandboxRole::kCompiler) AllowReading(program);
  if (role == SandboxRole::kCudaExecutor) AllowOpening(program);
}

// Calls that are harmless for this process itself, given by `self`.
void AllowOwnCalls(uint32_t self, Program* program) {
  OnCall(program, SYS_clone, [](Program* body) {
    AllowIfBits(body, 0, CLONE_THREAD, /*common=*/true);
  });
  AllowOnly(program, SYS_tgkill, 0, self);
  AllowOnly(program, SYS_prlimit64, 0, 0);
  // gRPC names its threads, and polls more exactly than others.
  OnCall(program, SYS_prctl, [](Program* body) {
    LoadArgument(body, 0);
    AllowValues(body, {PR_SET_NAME, PR_GET_NAME, PR_SET_TIMERSLACK,
                       PR_GET_TIMERSLACK, PR_GET_PDEATHSIG});
    Return(body, Answer(EPERM));
  });
}

// All but what makes the kernel send signals: the owner of a descriptor may be
// any process of the same user, its signal SIGKILL, and the kernel compares
// users only (F_SETOWN, F_SETOWN_EX, F_SETSIG, F_SETLEASE, F_NOTIFY, O_ASYNC).
void AllowDescriptorControl(SandboxRole role, Program* program) {
  OnCall(program, SYS_fcntl, [role](Program* body) {
    LoadArgument(body, 1);
    AllowValues(body, {F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL,
                       F_SETPIPE_SZ, F_GETPIPE_SZ, F_ADD_SEALS, F_GET_SEALS});
    // libcuda may lock the files that it opens.
    if (role == SandboxRole::kCudaExecutor) {
      AllowValues(body, {F_GETLK, F_SETLK, F_SETLKW});
    }
    Add(body, BPF_JMP | BPF_JEQ | BPF_K, F_SETFL, 1, 0);
    Return(body, Answer(EPERM));
    AllowIfBits(body, 2, O_ASYNC, /*common=*/false);
  });
}

// The calls of the kernel's part of NVIDIA's driver, whatever they are, but
// none of a terminal's (type 'T': TIOCSTI types into it, TIOCLINUX pastes; also
// FIOASYNC) and none of a socket's (type 0x89: FIOSETOWN and SIOCSPGRP name
// the process to signal), except those that only concern the descriptor.
void AllowDeviceControl(Program* program) {
  constexpr uint32_t kTypeMask = 0xff00;
  constexpr uint32_t kTerminal = 'T' << 8;
  constexpr uint32_t kSocket = 0x8900;
  OnCall(program, SYS_ioctl, [](Program* body) {
    LoadArgument(body, 1);
    AllowValues(body, {TCGETS, FIONREAD, FIONBIO, FIOCLEX, FIONCLEX});
    Add(body, BPF_ALU | BPF_AND | BPF_K, kTypeMask);
    Add(body, BPF_JMP | BPF_JEQ | BPF_K, kTerminal, 1, 0);
    Add(body, BPF_JMP | BPF_JEQ | BPF_K, kSocket, 0, 1);
    Return(body, Answer(EPERM));
    Return(body, SECCOMP_RET_ALLOW);
  });
}

Program MakeProgram(SandboxRole role, pid_t self) {
  Program program;
  CheckArchitecture(&program);
  for (const AllowedCall& call : kAllowed) {
    if ((call.roles & 1u << static_cast<int>(role)) == 0) continue;
    OnCall(&program, call.number,
           [](Program* body) { Return(body, SECCOMP_RET_ALLOW); });
  }
  AllowFileCalls(role, &program);
  AllowDescriptorControl(role, &program);
  if (role == SandboxRole::kCudaExecutor) AllowDeviceControl(&program);
  AllowOwnCalls(static_cast<uint32_t>(self), &program);
  for (const uint32_t number : kMissing) {
    OnCall(&program, number,
           [](Program* body) { Return(body, Answer(ENOSYS)); });
  }
  Return(&program, Answer(EPERM));
  return program;
}

}  // namespace

absl::Status AllowSystemCalls(SandboxRole role) {
  Program program = MakeProgram(role, getpid());
  const sock_fprog filter = {static_cast<unsigned short>(program.size()),
                             program.data()};
  // Without SPEC_ALLOW older kernels slow down all code of such a process; what
  // it could speculate about is its own.
  constexpr unsigned kFlags =
      SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_SPEC_ALLOW;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, kFlags, &filter) != 0) {
    return absl::UnavailableError(
        absl::ErrnoToStatus(errno, "seccomp").message());
  }
  return absl::OkStatus();
}

}  // namespace holdfast
