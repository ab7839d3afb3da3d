// SPDX-License-Identifier: Apache-2.0
#include "server/process/sandbox/policy.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "core/base/machine_memory.h"

namespace holdfast {
namespace {

using Access = VisiblePath::Access;

constexpr uint64_t kCompilerDescriptors = 64;
constexpr uint64_t kCompilerThreads = 64;
// An executor holds a descriptor for each chunk, arena and connection, and a
// thread for each stream of the software driver that is at work.
constexpr uint64_t kExecutorDescriptors = 16384;
constexpr uint64_t kExecutorThreads = 4096;

// Device memory and arenas are shared, and not part of it: the account counts
// them.
uint64_t PrivateMemoryOfAnExecutor() {
  return std::max(MachineMemory() / 2, uint64_t{2} << 30);
}

SandboxPolicy ExecutorPolicy(SandboxRole role) {
  SandboxPolicy policy;
  policy.role = role;
  policy.private_memory = PrivateMemoryOfAnExecutor();
  policy.descriptors = kExecutorDescriptors;
  policy.threads = kExecutorThreads;
  return policy;
}

void AddEach(std::initializer_list<const char*> paths, Access access,
             std::vector<VisiblePath>* files) {
  for (const char* path : paths) files->push_back({path, access});
}

// Shared libraries, and what the loader and libc read.
void AddSystemLibraries(std::vector<VisiblePath>* files) {
  AddEach({"/usr/lib", "/usr/lib64", "/lib", "/lib64", "/etc/ld.so.cache",
           "/etc/localtime", "/usr/share/zoneinfo"},
          Access::kRead, files);
  // How many processors there are, and of which kind.
  AddEach({"/sys/devices/system/cpu", "/proc/cpuinfo"}, Access::kRead, files);
  AddEach({"/dev/null"}, Access::kDevice, files);
}

void AddSoftwareDriver(const std::string& path,
                       std::vector<VisiblePath>* files) {
  if (path.empty()) return;
  files->push_back({path, Access::kRead});
  // Makes the device's UUID the same in each process.
  files->push_back({"/etc/machine-id", Access::kRead});
  // Tests name the devices that are to fail.
  const char* const defects = std::getenv("HOLDFAST_SOFTWARE_DEFECTS");
  if (defects != nullptr) files->push_back({defects, Access::kRead});
}

// The directories in which the loader looks for libcuda before the system's.
void AddLibraryPath(std::vector<VisiblePath>* files) {
  const char* path = std::getenv("LD_LIBRARY_PATH");
  if (path == nullptr) return;
  for (const absl::string_view directory : absl::StrSplit(path, ':')) {
    if (absl::StartsWith(directory, "/") && directory != "/") {
      files->push_back({std::string(directory), Access::kRead});
    }
  }
}

// /dev/nvidia0, /dev/nvidiactl, /dev/nvidia-uvm, /dev/nvidia-caps, ...
void AddDeviceFiles(std::vector<VisiblePath>* files) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/dev", error)) {
    const std::string name = entry.path().filename().string();
    if (absl::StartsWith(name, "nvidia") || name == "dxg") {
      files->push_back({entry.path().string(), Access::kDevice});
    }
  }
}

}  // namespace

SandboxPolicy CompilerPolicy(uint64_t memory_bytes, uint64_t object_bytes) {
  SandboxPolicy policy;
  policy.role = SandboxRole::kCompiler;
  policy.address_space = memory_bytes;
  policy.file_bytes = object_bytes;
  policy.descriptors = kCompilerDescriptors;
  policy.threads = kCompilerThreads;
  return policy;
}

SandboxPolicy SoftwareExecutorPolicy(const std::string& driver_path) {
  SandboxPolicy policy = ExecutorPolicy(SandboxRole::kSoftwareExecutor);
  AddSystemLibraries(&policy.files);
  AddSoftwareDriver(driver_path, &policy.files);
  return policy;
}

SandboxPolicy CudaExecutorPolicy(const std::string& driver_path,
                                 const std::string& mps_pipe_directory) {
  SandboxPolicy policy = ExecutorPolicy(SandboxRole::kCudaExecutor);
  AddSystemLibraries(&policy.files);
  AddLibraryPath(&policy.files);
  AddSoftwareDriver(driver_path, &policy.files);
  AddEach(
      {"/usr/local", "/usr/share/nvidia", "/etc/nvidia", "/proc/driver/nvidia",
       "/proc/devices", "/proc/meminfo", "/proc/sys/vm", "/proc/self", "/sys"},
      Access::kRead, &policy.files);
  // libcuda names its threads.
  AddEach({"/proc/self/task"}, Access::kWrite, &policy.files);
  AddEach({"/proc"}, Access::kShow, &policy.files);
  AddDeviceFiles(&policy.files);
  if (!mps_pipe_directory.empty()) {
    policy.files.push_back({mps_pipe_directory, Access::kRead});
  }
  return policy;
}

SandboxRole ExecutorRole(const std::string& device) {
  if (device == "cpu") return SandboxRole::kSoftwareExecutor;
  if (device == "cuda") return SandboxRole::kCudaExecutor;
  std::error_code error;
  const bool gpu = std::filesystem::exists("/dev/nvidiactl", error) ||
                   std::filesystem::exists("/dev/dxg", error);
  return gpu ? SandboxRole::kCudaExecutor : SandboxRole::kSoftwareExecutor;
}

Namespaces NamespacesOf(SandboxRole role) {
  return role == SandboxRole::kCudaExecutor ? Namespaces::kFiles
                                            : Namespaces::kAll;
}

}  // namespace holdfast
