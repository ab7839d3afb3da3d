// SPDX-License-Identifier: Apache-2.0
#include "server/compile/compiler_main.h"

#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "core/base/error_detail.h"
#include "core/base/log.h"
#include "core/base/malloc_tuning.h"
#include "core/base/memfd.h"
#include "core/base/status_macros.h"
#include "core/base/steady_time.h"
#include "core/base/utf8.h"
#include "core/compile/compile_options.h"
#include "core/compile/compiler.h"
#include "holdfast/internal/executor.pb.h"
#include "server/compile/installation.h"
#include "server/compile/program_request.h"
#include "server/objects/object_store.h"
#include "server/process/sandbox/policy.h"
#include "server/rpc/status_conversion.h"

namespace holdfast {
namespace {

// RLIMIT_CPU counts from the process's start; each compilation gets its own.
void AllowCpuTime(absl::Duration more) {
  rusage used = {};
  getrusage(RUSAGE_SELF, &used);
  rlimit cpu = {};
  getrlimit(RLIMIT_CPU, &cpu);
  cpu.rlim_cur =
      static_cast<rlim_t>(used.ru_utime.tv_sec + used.ru_stime.tv_sec + 1 +
                          absl::ToInt64Seconds(more));
  setrlimit(RLIMIT_CPU, &cpu);
}

// The compiler's front end reports that it has no memory as an error in the
// source.
bool RanOutOfMemory(const absl::Status& status) {
  const std::optional<ErrorDetail> detail = GetErrorDetail(status);
  return detail.has_value() &&
         absl::StrContains(detail->log, "catastrophic error: out of memory");
}

// Collects the compilers' stderr for the daemon, which may have to say why one
// died.
UniqueFd StderrToMemory() {
  UniqueFd memory(memfd_create("holdfast-compiler-stderr", MFD_CLOEXEC));
  if (memory.valid()) dup2(memory.get(), STDERR_FILENO);
  return memory;
}

void ForgetStderr() {
  fflush(stderr);
  if (ftruncate(STDERR_FILENO, 0) == 0) lseek(STDERR_FILENO, 0, SEEK_SET);
}

// Makes the compiler load its parts, which it looks for where it may look for
// nothing later, and spares the first request that time.
void WarmUp(const compile::Compiler& compiler) {
  compile::ProgramSource program;
  program.source = "__global__ void warm() {}";
  program.arch = "75";
  const absl::Status status = compiler.Compile(program).status();
  if (!status.ok()) LogWarning("trial compilation: ", status.message());
}

absl::StatusOr<compile::ObjectCode> Compile(const compile::Compiler& compiler,
                                            const v1::CompileRequest& request) {
  HOLDFAST_RETURN_IF_ERROR(CheckCompileRequest(request));
  HOLDFAST_ASSIGN_OR_RETURN(const compile::ProgramSource program,
                            ToProgramSource(request));
  return compiler.Compile(program);
}

absl::StatusOr<compile::ObjectCode> Link(const compile::Compiler& compiler,
                                         const internal::LinkJob& job,
                                         const UniqueFd& parts) {
  HOLDFAST_ASSIGN_OR_RETURN(
      const FileMapping mapping,
      FileMapping::Map(parts.get(), FileMapping::Access::kReadOnly));
  HOLDFAST_ASSIGN_OR_RETURN(const compile::LinkSource source,
                            ToLinkSource(job, mapping.bytes()));
  return compiler.Link(source);
}

absl::StatusOr<compile::ObjectCode> Run(const compile::Compiler& compiler,
                                        const internal::ToCompiler& job,
                                        const UniqueFd& parts) {
  return job.has_link() ? Link(compiler, job.link(), parts)
                        : Compile(compiler, job.compile());
}

// The bound of the kernels in a response, by the memory that they take: names,
// parameters, and about kKernelBytes for each kernel. gRPC's clients take 4 MiB
// unless told otherwise.
constexpr size_t kMaxKernelBytes = size_t{1} << 20;
constexpr size_t kKernelBytes = 96;

v1::ParameterKind KindToProto(compile::ParameterKind kind) {
  switch (kind) {
    case compile::ParameterKind::kInteger:
      return v1::PARAMETER_KIND_INTEGER;
    case compile::ParameterKind::kFloat:
      return v1::PARAMETER_KIND_FLOAT;
    case compile::ParameterKind::kOther:
      break;
  }
  return v1::PARAMETER_KIND_UNSPECIFIED;
}

void AddKernels(const compile::KernelParameters& kernels,
                v1::CompileResponse* response) {
  size_t bytes = 0;
  for (const auto& [name, parameters] : kernels) {
    bytes += kKernelBytes + name.size() + parameters.size() * sizeof(int);
  }
  if (bytes > kMaxKernelBytes) return;
  for (const auto& [name, parameters] : kernels) {
    v1::CompiledKernel& kernel = *response->add_kernels();
    kernel.set_name(name);
    for (const compile::ParameterKind kind : parameters) {
      kernel.add_parameters(KindToProto(kind));
    }
  }
}

v1::CompileResponse ToResponse(const compile::ObjectCode& object) {
  v1::CompileResponse response;
  v1::ObjectHeader& header = *response.mutable_object();
  header.set_size(object.bytes.size());
  header.set_format(ToProto(object.format));
  for (const auto& [name, symbol] : object.symbols) {
    (*header.mutable_symbols())[name] = symbol;
  }
  response.set_log(ToValidUtf8(object.log));
  response.set_arch(object.arch);
  response.set_backend(object.backend);
  response.set_backend_version(object.backend_version);
  AddKernels(object.kernels, &response);
  return response;
}

// The compilers keep some options for later programs. Words that are no options
// have reached no compiler.
bool LeavesState(const v1::CompileRequest& request) {
  const std::vector<std::string> words(request.options().begin(),
                                       request.options().end());
  const auto options = compile::ParseOptions(words);
  return options.ok() && compile::LeavesState(*options);
}

// Only NVRTC is known to work on after a failure, and nvJitLink may crash over
// an error in the link after one that went well.
bool Retires(const internal::ToCompiler& job, bool ok) {
  const bool cpp = job.compile().language() <= v1::SOURCE_LANGUAGE_CUDA_CPP;
  return job.has_link() || (!ok && !cpp) || LeavesState(job.compile());
}

absl::Status Answer(const compile::Compiler& compiler,
                    const internal::ToCompiler& job, const UniqueFd& parts,
                    Channel* channel) {
  const absl::Time start = SteadyNow();
  absl::StatusOr<compile::ObjectCode> object = Run(compiler, job, parts);
  if (RanOutOfMemory(object.status())) _exit(kOutOfMemoryExit);
  internal::FromCompiler message;
  internal::Compiled& compiled = *message.mutable_compiled();
  compiled.set_retires(Retires(job, object.ok()));
  absl::StatusOr<UniqueFd> memory =
      object.ok() ? CreateSealedMemfd("holdfast-object", object->bytes)
                  : absl::StatusOr<UniqueFd>(object.status());
  if (!memory.ok()) {
    *compiled.mutable_error() = ToError(memory.status());
    return channel->Send(message);
  }
  v1::CompileResponse& response = *compiled.mutable_response();
  response = ToResponse(*object);
  const absl::Duration took = SteadyNow() - start;
  response.mutable_compile_time()->set_seconds(absl::ToInt64Seconds(took));
  response.mutable_compile_time()->set_nanos(
      static_cast<int32_t>(absl::ToInt64Nanoseconds(took) % 1000000000));
  return channel->Send(message, memory->get());
}

absl::Status Serve(const compile::Compiler& compiler,
                   const CompilerLimits& limits, Channel* channel) {
  while (true) {
    internal::ToCompiler job;
    HOLDFAST_ASSIGN_OR_RETURN(const UniqueFd parts, channel->Receive(&job));
    AllowCpuTime(limits.cpu_time);
    ForgetStderr();
    HOLDFAST_RETURN_IF_ERROR(Answer(compiler, job, parts, channel));
  }
}

}  // namespace

int CompilerMain(Channel channel, const CompilerLimits& limits,
                 const SandboxStart& start) {
  // Compilers write it into some objects, which shall be the same everywhere.
  [[maybe_unused]] const int changed = chdir("/");
  Sandbox sandbox(
      CompilerPolicy(limits.memory_bytes, ObjectWriter::kMaxObjectBytes),
      start);
  std::set_new_handler([] { _exit(kOutOfMemoryExit); });
  KeepFreedMemory();  // Each compilation takes as much again.
  internal::FromCompiler hello;
  internal::CompilerReady& ready = *hello.mutable_ready();
  const std::string places = InstallationState({});
  const auto compiler = compile::Compiler::Load({});
  if (!compiler->status().ok()) {
    *ready.mutable_error() = ToError(compiler->status());
    return channel.Send(hello).ok() ? 0 : 1;
  }
  // Otherwise there was an update meanwhile, and it is not known what was
  // loaded.
  if (InstallationState({}) == places) {
    *ready.mutable_installation() = DescribeInstallation(*compiler);
  }
  WarmUp(*compiler);
  // A source may name any file in an #include, and errors quote what is there.
  sandbox.Close(SandboxRole::kCompiler, compiler->directories());
  if (const absl::Status status = sandbox.Check(); !status.ok()) {
    *ready.mutable_error() = ToError(status);
    return channel.Send(hello).ok() ? 0 : 1;
  }
  ready.set_backend(compiler->version());
  ready.set_confinement(sandbox.ToString());
  ready.set_confined(sandbox.complete());
  const UniqueFd stderr_memory = StderrToMemory();
  if (!channel.Send(hello, stderr_memory.get()).ok()) return 1;
  const absl::Status status = Serve(*compiler, limits, &channel);
  if (absl::IsUnavailable(status)) return 0;  // The daemon has closed it.
  LogError("compiler worker: ", status.message());
  return 1;
}

}  // namespace holdfast
