// SPDX-License-Identifier: Apache-2.0
#include "server/compile/system_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

namespace holdfast {
namespace {

constexpr uint32_t kForbidden[] = {
    // Connections; the channel to the daemon is open already.
    SYS_socket, SYS_socketpair, SYS_connect, SYS_bind, SYS_listen, SYS_accept,
    SYS_accept4, SYS_sendto, SYS_sendmmsg, SYS_setsockopt,
    // Programs and processes.
    SYS_execve, SYS_execveat, SYS_fork, SYS_vfork, SYS_ptrace, SYS_kill,
    SYS_tkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo, SYS_pidfd_open,
    SYS_pidfd_getfd, SYS_pidfd_send_signal, SYS_process_vm_readv,
    SYS_process_vm_writev, SYS_process_madvise, SYS_kcmp, SYS_setpgid,
    SYS_setsid,
    // Files: to change, or to learn of changes.
    SYS_creat, SYS_unlink, SYS_unlinkat, SYS_rename, SYS_renameat,
    SYS_renameat2, SYS_mkdir, SYS_mkdirat, SYS_rmdir, SYS_mknod, SYS_mknodat,
    SYS_link, SYS_linkat, SYS_symlink, SYS_symlinkat, SYS_chmod, SYS_fchmod,
    SYS_fchmodat, SYS_chown, SYS_fchown, SYS_lchown, SYS_fchownat, SYS_truncate,
    SYS_utime, SYS_utimes, SYS_futimesat, SYS_utimensat, SYS_setxattr,
    SYS_lsetxattr, SYS_fsetxattr, SYS_removexattr, SYS_lremovexattr,
    SYS_fremovexattr, SYS_inotify_init, SYS_inotify_init1, SYS_fanotify_init,
    SYS_name_to_handle_at, SYS_open_by_handle_at,
    // Memory that other processes share.
    SYS_shmget, SYS_shmat, SYS_semget, SYS_msgget, SYS_mq_open,
    // Who and where it is.
    SYS_setuid, SYS_setgid, SYS_setreuid, SYS_setregid, SYS_setresuid,
    SYS_setresgid, SYS_setfsuid, SYS_setfsgid, SYS_setgroups, SYS_capset,
    SYS_unshare, SYS_setns, SYS_chroot, SYS_pivot_root, SYS_mount, SYS_umount2,
    SYS_mount_setattr, SYS_move_mount, SYS_open_tree, SYS_fsopen, SYS_fsconfig,
    SYS_fsmount, SYS_fspick, SYS_sethostname, SYS_setdomainname,
    SYS_personality, SYS_modify_ldt,
    // The kernel itself.
    SYS_bpf, SYS_perf_event_open, SYS_userfaultfd, SYS_io_uring_setup,
    SYS_io_uring_enter, SYS_io_uring_register, SYS_keyctl, SYS_add_key,
    SYS_request_key, SYS_init_module, SYS_finit_module, SYS_delete_module,
    SYS_kexec_load, SYS_kexec_file_load, SYS_reboot, SYS_swapon, SYS_swapoff,
    SYS_acct, SYS_settimeofday, SYS_clock_settime, SYS_clock_adjtime,
    SYS_adjtimex, SYS_iopl, SYS_ioperm, SYS_syslog, SYS_quotactl, SYS_vhangup};

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

Program MakeProgram(pid_t self) {
  Program program;
  CheckArchitecture(&program);
  for (const uint32_t number : kForbidden) {
    OnCall(&program, number,
           [](Program* body) { Return(body, Answer(EPERM)); });
  }
  // Their flags are in memory, which a filter cannot see; libc then uses those
  // below.
  for (const uint32_t number : {SYS_clone3, SYS_openat2}) {
    OnCall(&program, number,
           [](Program* body) { Return(body, Answer(ENOSYS)); });
  }
  OnCall(&program, SYS_clone, [](Program* body) {
    AllowIfBits(body, 0, CLONE_THREAD, /*common=*/true);
  });
  OnCall(&program, SYS_open, [](Program* body) {
    AllowIfBits(body, 1, kChanging, /*common=*/false);
  });
  OnCall(&program, SYS_openat, [](Program* body) {
    AllowIfBits(body, 2, kChanging, /*common=*/false);
  });
  OnCall(&program, SYS_tgkill, [self](Program* body) {
    AllowIfEqual(body, 0, static_cast<uint32_t>(self));
  });
  OnCall(&program, SYS_prlimit64,
         [](Program* body) { AllowIfEqual(body, 0, 0); });
  Return(&program, SECCOMP_RET_ALLOW);
  return program;
}

}  // namespace

absl::Status ForbidSystemCalls() {
  Program program = MakeProgram(getpid());
  const sock_fprog filter = {static_cast<unsigned short>(program.size()),
                             program.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
              &filter) != 0) {
    return absl::UnavailableError(
        absl::ErrnoToStatus(errno, "seccomp").message());
  }
  return absl::OkStatus();
}

}  // namespace holdfast
