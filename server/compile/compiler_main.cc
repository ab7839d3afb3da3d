// SPDX-License-Identifier: Apache-2.0
#include "server/compile/compiler_main.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "core/base/error_detail.h"
#include "core/base/log.h"
#include "core/base/memfd.h"
#include "core/base/status_macros.h"
#include "core/compile/nvrtc_api.h"
#include "core/compile/nvrtc_compiler.h"
#include "holdfast/internal/executor.pb.h"
#include "server/compile/file_confinement.h"
#include "server/compile/program_request.h"
#include "server/rpc/status_conversion.h"
#include "server/rpc/utf8.h"

namespace holdfast {
namespace {

void LimitMemory(uint64_t bytes) {
  const rlimit memory = {bytes, bytes};
  if (setrlimit(RLIMIT_AS, &memory) != 0) LogWarning("no limit of memory");
  const rlimit no_core = {0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  std::set_new_handler([] { _exit(kOutOfMemoryExit); });
}

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

// Makes the compiler load its parts, which it looks for where it may look for
// nothing later, and spares the first request that time.
void WarmUp(const compile::NvrtcCompiler& compiler) {
  compile::ProgramSource program;
  program.source = "__global__ void warm() {}";
  program.arch = "75";
  const absl::Status status = compiler.Compile(program).status();
  if (!status.ok()) LogWarning("trial compilation: ", status.message());
}

// A source may name any file in an #include, and errors quote what is there.
void Confine(const compile::NvrtcApi& api) {
  std::vector<std::string> readable = api.include_directories;
  readable.push_back(std::filesystem::path(api.path).parent_path());
  const absl::Status status = AllowFilesBelow(readable);
  if (!status.ok()) {
    LogWarning("compilers can read any file that the daemon can: ",
               status.message());
  }
}

absl::StatusOr<compile::ObjectCode> Compile(
    const compile::NvrtcCompiler& compiler, const v1::CompileRequest& request) {
  HOLDFAST_RETURN_IF_ERROR(CheckCompileRequest(request));
  HOLDFAST_ASSIGN_OR_RETURN(const compile::ProgramSource program,
                            ToProgramSource(request));
  return compiler.Compile(program);
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
  return response;
}

absl::Status Answer(const compile::NvrtcCompiler& compiler,
                    const v1::CompileRequest& request, Channel* channel) {
  const absl::Time start = absl::Now();
  absl::StatusOr<compile::ObjectCode> object = Compile(compiler, request);
  if (RanOutOfMemory(object.status())) _exit(kOutOfMemoryExit);
  internal::FromCompiler message;
  internal::Compiled& compiled = *message.mutable_compiled();
  absl::StatusOr<UniqueFd> memory =
      object.ok() ? CreateSealedMemfd("holdfast-object", object->bytes)
                  : absl::StatusOr<UniqueFd>(object.status());
  if (!memory.ok()) {
    *compiled.mutable_error() = ToError(memory.status());
    return channel->Send(message);
  }
  v1::CompileResponse& response = *compiled.mutable_response();
  response = ToResponse(*object);
  response.set_backend("NVRTC");
  response.set_backend_version(compiler.version());
  const absl::Duration took = absl::Now() - start;
  response.mutable_compile_time()->set_seconds(absl::ToInt64Seconds(took));
  response.mutable_compile_time()->set_nanos(
      static_cast<int32_t>(absl::ToInt64Nanoseconds(took) % 1000000000));
  return channel->Send(message, memory->get());
}

// An update of the toolkit replaces the library's file.
std::string Identity(const compile::NvrtcApi& api, absl::string_view version) {
  struct stat file = {};
  if (stat(api.path.c_str(), &file) != 0) return "";
  return absl::StrCat("NVRTC ", version, " ", api.path, " ", file.st_size, " ",
                      file.st_mtim.tv_sec, ".", file.st_mtim.tv_nsec, " ",
                      absl::StrJoin(api.include_directories, " "));
}

absl::Status Serve(const compile::NvrtcCompiler& compiler,
                   const CompilerLimits& limits, Channel* channel) {
  while (true) {
    internal::ToCompiler message;
    HOLDFAST_RETURN_IF_ERROR(channel->Receive(&message).status());
    AllowCpuTime(limits.cpu_time);
    HOLDFAST_RETURN_IF_ERROR(Answer(compiler, message.compile(), channel));
  }
}

}  // namespace

int CompilerMain(Channel channel, const CompilerLimits& limits) {
  LimitMemory(limits.memory_bytes);
  internal::FromCompiler hello;
  internal::CompilerReady& ready = *hello.mutable_ready();
  const auto api = compile::LoadNvrtc({});
  if (!api.ok()) {
    *ready.mutable_error() = ToError(api.status());
    return channel.Send(hello).ok() ? 0 : 1;
  }
  const compile::NvrtcCompiler compiler(**api);
  WarmUp(compiler);
  Confine(**api);
  ready.set_backend("NVRTC");
  ready.set_version(compiler.version());
  ready.set_identity(Identity(**api, compiler.version()));
  if (!channel.Send(hello).ok()) return 1;
  const absl::Status status = Serve(compiler, limits, &channel);
  if (absl::IsUnavailable(status)) return 0;  // The daemon has closed it.
  LogError("compiler worker: ", status.message());
  return 1;
}

}  // namespace holdfast
