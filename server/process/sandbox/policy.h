// SPDX-License-Identifier: Apache-2.0
//
// The sandbox policies, one for each role: the files, system calls and
// resources that a process which runs or compiles clients' code may reach.
// README.md explains each rule; seccomp.inc has a row for each system call.
#ifndef HOLDFAST_SERVER_PROCESS_SANDBOX_POLICY_H_
#define HOLDFAST_SERVER_PROCESS_SANDBOX_POLICY_H_

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast {

enum class SandboxRole {
  kCompiler,          // NVRTC, nvJitLink, libNVVM
  kSoftwareExecutor,  // kernels are native code of this process
  kCudaExecutor,      // libcuda, its JIT compiler, and the device files
};

// A file or directory tree that stays visible. A missing path is skipped.
struct VisiblePath {
  enum class Access {
    kRead,    // read files, list directories
    kDevice,  // open device files for reading and writing
    kWrite,   // read and write, but create nothing
    kShow,    // visible only as the parent of other listed paths
  };
  std::string path;
  Access access = Access::kRead;
};

// The new namespaces in which a process is started.
enum class Namespaces {
  kNone,
  kFiles,  // mounts, System V IPC and host name
  kAll,    // and processes, and a network without interfaces
};

struct SandboxPolicy {
  SandboxRole role = SandboxRole::kCompiler;

  // The files that the first step of the sandbox leaves visible. Empty: the
  // first step only sets limits, and the second step restricts files.
  std::vector<VisiblePath> files;

  // Limits; 0: no limit. Memory and the size of a file are in bytes,
  // descriptors and threads are counts. The only files that these processes can
  // write are memfds.
  uint64_t address_space = 0;
  uint64_t private_memory = 0;  // writable and not shared
  uint64_t file_bytes = 0;
  uint64_t descriptors = 0;
  uint64_t threads = 0;
};

// Returns the policy of compilers: `memory_bytes` of address space, and objects
// of at most `object_bytes`. Files are restricted in the second step, after the
// compilers are loaded, when the directories of their headers are known.
SandboxPolicy CompilerPolicy(uint64_t memory_bytes, uint64_t object_bytes);

// Returns a policy that allows the files for loading the software driver at
// `driver_path`. After the second step no file is allowed.
SandboxPolicy SoftwareExecutorPolicy(const std::string& driver_path);

// Returns a policy that allows the files that libcuda opens at its start and
// later: device files, its JIT compiler, and the kernel's files about devices
// and processors. `driver_path` is the software driver if it may be used
// instead of libcuda; else empty. `mps_pipe_directory` has the pipes of the
// executor's MPS server, which no other executor may reach; empty if there is
// no server.
SandboxPolicy CudaExecutorPolicy(const std::string& driver_path,
                                 const std::string& mps_pipe_directory = "");

// Returns the role of an executor with --device=`device`. "auto" is CUDA if the
// machine has NVIDIA's device files.
SandboxRole ExecutorRole(const std::string& device);

// Returns the namespaces for a role. A CUDA executor gets kFiles, because
// CUDA's older IPC asks other programs for descriptors by process id and over
// an abstract socket, which other namespaces would hide.
Namespaces NamespacesOf(SandboxRole role);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_PROCESS_SANDBOX_POLICY_H_
