// SPDX-License-Identifier: Apache-2.0
#include "client/cli/attach_command.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/argument_spec.h"
#include "client/cli/file.h"
#include "client/cli/json_writer.h"
#include "client/cli/npy.h"
#include "client/cli/output_paths.h"
#include "client/cpp/session.h"
#include "core/base/error_detail.h"
#include "core/base/printable.h"
#include "core/base/status_macros.h"

namespace holdfast::cli {
namespace {

struct AttachFlags {
  std::string session_id;
  std::string output;  // a directory; empty: nothing is fetched
  bool overwrite = false;
  bool no_wait = false;
  bool end = false;
};

// The files that were fetched, each by the name of its buffer.
struct Written {
  std::string name;
  std::string path;
};

// `run --detach` names a buffer as in its out: argument, FILE.npy:TYPE[N,...].
// A buffer with another name, or none, is its bytes as they are.
absl::StatusOr<Array> FormOf(const BufferInfo& info, std::string* file) {
  const auto spec = ArgumentSpec::Parse("out:" + info.name);
  if (spec.ok()) {
    HOLDFAST_ASSIGN_OR_RETURN(const uint64_t size,
                              ByteSize(spec->type, spec->shape));
    if (size == info.size) {
      *file = spec->output;
      return Array{spec->type, spec->shape, std::string()};
    }
  }
  *file = info.name + ".npy";
  return Array{ElementType::kU8, {info.size}, std::string()};
}

// Nothing is written through a link, nor over a file unless that is wanted.
absl::Status Write(const std::string& path, const Array& array,
                   bool overwrite) {
  if (overwrite && unlink(path.c_str()) != 0 && errno != ENOENT) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot replace ", path));
  }
  absl::Status status = WriteNewFile(path, SerializeNpy(array));
  if (!absl::IsAlreadyExists(status)) return status;
  return absl::AlreadyExistsError(
      absl::StrCat(path, " is there already; --overwrite replaces it"));
}

absl::StatusOr<std::vector<Written>> Fetch(
    const Session& session, const std::vector<BufferInfo>& buffers,
    const AttachFlags& flags, std::vector<Buffer>* adopted) {
  std::vector<Written> written;
  OutputPaths paths(flags.output);
  for (const BufferInfo& info : buffers) {
    if (info.name.empty()) continue;
    std::string file;
    HOLDFAST_ASSIGN_OR_RETURN(Array array, FormOf(info, &file));
    HOLDFAST_ASSIGN_OR_RETURN(const std::string path, paths.Next(file));
    HOLDFAST_ASSIGN_OR_RETURN(
        const Stream stream,
        session.device(info.host ? session.devices().front() : info.device)
            .CreateStream());
    HOLDFAST_ASSIGN_OR_RETURN(Buffer buffer, session.Adopt(info));
    adopted->push_back(std::move(buffer));
    array.bytes.resize(info.size);
    HOLDFAST_RETURN_IF_ERROR(adopted->back().Download(array.bytes, stream));
    HOLDFAST_RETURN_IF_ERROR(Write(path, array, flags.overwrite));
    written.push_back({info.name, path});
  }
  return written;
}

void Print(const CommonOptions& options, const AttachFlags& flags,
           const std::vector<BufferInfo>& buffers,
           const std::vector<Written>& written) {
  JsonWriter json;
  json.BeginObject()
      .Member("session_id", flags.session_id)
      .Member("finished", !flags.no_wait)
      .Member("ended", flags.end)
      .BeginArray("buffers");
  for (const BufferInfo& info : buffers) {
    json.BeginObject()
        .Member("handle", absl::StrFormat("0x%016x", info.handle))
        .Member("name", info.name)
        .Member("bytes", info.size)
        .Member("host", info.host)
        .Member("device", info.device)
        .EndObject();
    if (options.json) continue;
    const std::string place =
        info.host ? "host" : absl::StrCat("device ", info.device);
    std::printf("0x%016llx %10s  %-10s %s\n",
                static_cast<unsigned long long>(info.handle),
                HumanBytes(info.size).c_str(), place.c_str(),
                ToPrintable(info.name).c_str());
  }
  json.EndArray().BeginArray("outputs");
  for (const Written& output : written) {
    json.BeginObject()
        .Member("name", output.name)
        .Member("file", output.path)
        .EndObject();
    if (!options.json) {
      std::printf("wrote  %s\n", ToPrintable(output.path).c_str());
    }
  }
  json.EndArray().EndObject();
  if (options.json) std::puts(json.text().c_str());
}

absl::Status Work(const CommonOptions& options, const AttachFlags& flags,
                  const Session& session, std::vector<Buffer>* adopted) {
  if (!flags.no_wait) HOLDFAST_RETURN_IF_ERROR(session.Synchronize());
  HOLDFAST_ASSIGN_OR_RETURN(const std::vector<BufferInfo> buffers,
                            session.Buffers());
  std::vector<Written> written;
  if (!flags.output.empty()) {
    HOLDFAST_ASSIGN_OR_RETURN(written, Fetch(session, buffers, flags, adopted));
  }
  Print(options, flags, buffers, written);
  return absl::OkStatus();
}

// The session goes on, whatever has gone wrong here or in it. Returns the first
// failure.
absl::Status LeaveAfter(absl::Status status, Session& session) {
  // A failure of the session's own work is told once, and then it is left.
  for (int attempt = 0; attempt < 2; ++attempt) {
    const absl::Status left = session.Detach();
    if (left.ok()) return status;
    status.Update(left);
  }
  session.Leave();
  return status;
}

absl::Status Attach(const CommonOptions& options, const AttachFlags& flags) {
  HOLDFAST_ASSIGN_OR_RETURN(auto daemon, Daemon::Connect(options.address));
  HOLDFAST_ASSIGN_OR_RETURN(const auto session,
                            Session::Attach(daemon, flags.session_id));
  // Freed only after the session was left, which frees nothing.
  std::vector<Buffer> adopted;
  const absl::Status status = Work(options, flags, *session, &adopted);
  if (status.ok() && flags.end) return session->Close();
  return LeaveAfter(status, *session);
}

}  // namespace

void AddAttachCommand(CLI::App* app, CommonOptions* options,
                      absl::Status* status) {
  const auto flags = std::make_shared<AttachFlags>();
  CLI::App* command = AddCommand(
      app, options, "attach",
      "Wait for the work of a session that has no client, and fetch its "
      "outputs",
      [options, flags] { return Attach(*options, *flags); }, status);
  command
      ->add_option("SESSION", flags->session_id, "The session's name, e.g. s-7")
      ->required();
  command
      ->add_option("--output", flags->output,
                   "Write each buffer that has a name into this directory")
      ->type_name("DIRECTORY")
      ->check(CLI::ExistingDirectory);
  command->add_flag("--overwrite", flags->overwrite,
                    "Replace files that are in the directory already");
  command->add_flag("--no-wait", flags->no_wait,
                    "Do not wait for the session's work");
  command->add_flag(
      "--end", flags->end,
      "End the session; otherwise its time without a client begins anew");
}

}  // namespace holdfast::cli
