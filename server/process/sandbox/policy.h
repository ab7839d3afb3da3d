// SPDX-License-Identifier: Apache-2.0
//
// The sandbox policies: the files, system calls and resources that a process
// which runs or compiles clients' code may reach. One policy for each role.
// README.md explains each rule; seccomp.inc has a row for each system
// call.
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

// A file or directory tree that stays visible. One that does not exist is
// skipped.
struct VisiblePath {
  enum class Access {
    kRead,    // read files, list directories
    kDevice,  // open device files for reading and writing
    kWrite,   // read and write, but create nothing
    kShow,    // part of the view of files, for what else is listed below it
  };
  std::string path;
  Access access = Access::kRead;
};

// Which namespaces of its own a process is started in.
enum class Namespaces {
  kNone,
  kFiles,  // mounts, System V IPC and host name
  kAll,    // and processes, and a network without interfaces
};

struct SandboxPolicy {
  SandboxRole role = SandboxRole::kCompiler;

  // The files that the first step of the sandbox leaves visible. Empty: files
  // are bounded by the second step alone.
  std::vector<VisiblePath> files;

  // Limits; 0: none. Bytes of the address space, and of one file: the only
  // ones that these processes can write are memfds.
  uint64_t address_space = 0;
  uint64_t private_memory = 0;  // that is writable and nobody shares
  uint64_t file_bytes = 0;
  uint64_t descriptors = 0;
  uint64_t threads = 0;
};

// `memory_bytes` of address space, objects of at most `object_bytes`. Files
// are bounded when the compilers are loaded and say where their headers are.
SandboxPolicy CompilerPolicy(uint64_t memory_bytes, uint64_t object_bytes);

// Files for loading the software driver at `driver_path`; none is left after
// the second step.
SandboxPolicy SoftwareExecutorPolicy(const std::string& driver_path);

// Files that libcuda opens while it starts, and later: device files, its JIT
// compiler, what the kernel tells of devices and processors. `driver_path`:
// the software driver, if it may be taken instead; else empty.
// `mps_pipe_directory`: where the pipes of the MPS server are that the executor
// is a client of, and that no other executor may reach; empty: of none.
SandboxPolicy CudaExecutorPolicy(const std::string& driver_path,
                                 const std::string& mps_pipe_directory = "");

// The policy's role for an executor that was told --device=`device`: "auto"
// is CUDA if the machine has NVIDIA's device files.
SandboxRole ExecutorRole(const std::string& device);

// kFiles for CUDA executors: descriptors of memory that other programs made
// with CUDA's older IPC are asked for by process id and over an abstract
// socket, which are the machine's.
Namespaces NamespacesOf(SandboxRole role);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_PROCESS_SANDBOX_POLICY_H_
