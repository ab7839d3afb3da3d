// SPDX-License-Identifier: Apache-2.0
#include "server/restart/processes_handover.h"

#include <cstdint>
#include <map>
#include <utility>

#include "absl/strings/string_view.h"
#include "core/base/memfd.h"
#include "core/base/status_macros.h"
#include "holdfast/internal/spawner.pb.h"

namespace holdfast {
namespace {

constexpr absl::string_view kRecord = "processes";
constexpr absl::string_view kSpawner = "spawner";
constexpr absl::string_view kProcess = "process";
constexpr absl::string_view kChannel = "channel";

KeptDescriptor Named(absl::string_view kind, uint64_t child, UniqueFd fd) {
  return {{std::string(kind), {child}}, std::move(fd)};
}

// The descriptors of this kind, by the number of the child.
std::map<uint64_t, UniqueFd> Take(absl::string_view kind,
                                  std::vector<KeptDescriptor>* kept) {
  std::map<uint64_t, UniqueFd> taken;
  std::erase_if(*kept, [&](KeptDescriptor& one) {
    if (one.name.kind != kind) return false;
    const uint64_t number =
        one.name.numbers.empty() ? 0 : one.name.numbers.front();
    taken[number] = std::move(one.fd);
    return true;
  });
  return taken;
}

internal::HandedProcesses ReadRecord(const UniqueFd& fd) {
  internal::HandedProcesses record;
  const auto bytes = FileMapping::Map(fd.get(), FileMapping::Access::kReadOnly);
  if (!bytes.ok() || !record.ParseFromString(std::string(bytes->bytes()))) {
    record.Clear();
  }
  return record;
}

}  // namespace

absl::StatusOr<std::vector<KeptDescriptor>> NameProcesses(
    HandedProcesses handed) {
  std::vector<KeptDescriptor> named;
  internal::HandedProcesses record;
  record.set_spawner(handed.spawner);
  named.push_back(Named(kSpawner, 0, std::move(handed.channel)));
  for (HandedProcesses::Child& child : handed.children) {
    const uint64_t number = child.record.child();
    named.push_back(Named(kProcess, number, std::move(child.process)));
    named.push_back(Named(kChannel, number, std::move(child.channel)));
    *record.add_children() = std::move(child.record);
  }
  HOLDFAST_ASSIGN_OR_RETURN(
      UniqueFd memory,
      CreateSealedMemfd("holdfast-processes", record.SerializeAsString()));
  named.push_back(Named(kRecord, 0, std::move(memory)));
  return named;
}

HandedProcesses TakeProcesses(std::vector<KeptDescriptor>* kept) {
  const auto records = Take(kRecord, kept);
  auto spawners = Take(kSpawner, kept);
  auto processes = Take(kProcess, kept);
  auto channels = Take(kChannel, kept);
  HandedProcesses handed;
  if (records.empty() || spawners.empty()) return handed;
  internal::HandedProcesses record = ReadRecord(records.begin()->second);
  handed.spawner = static_cast<pid_t>(record.spawner());
  handed.channel = std::move(spawners.begin()->second);
  for (internal::HandedChild& child : *record.mutable_children()) {
    const uint64_t number = child.child();
    if (!processes[number].valid() || !channels[number].valid()) continue;
    handed.children.push_back({std::move(child), std::move(processes[number]),
                               std::move(channels[number])});
  }
  return handed;
}

}  // namespace holdfast
