// SPDX-License-Identifier: Apache-2.0
#include "server/restart/inheritance.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/argv.h"
#include "core/base/status_macros.h"
#include "server/kept/kept_name.h"
#include "server/restart/descriptor_list.h"
#include "server/restart/keeper_handover.h"
#include "server/restart/processes_handover.h"

namespace holdfast {
namespace {

// Takes listening sockets and the leaving spawner out of what was kept.
absl::Status Sort(Inheritance* inheritance) {
  std::vector<KeptDescriptor> others;
  pid_t spawner = 0;
  UniqueFd channel;
  std::vector<UniqueFd> children;
  for (KeptDescriptor& kept : inheritance->kept) {
    if (kept.name.kind == "listener") {
      inheritance->listeners.push_back(std::move(kept));
    } else if (kept.name.kind == "given") {
      HOLDFAST_ASSIGN_OR_RETURN(std::string path,
                                ListeningPathOf(kept.fd.get()));
      inheritance->sockets.emplace(std::move(path), std::move(kept.fd));
    } else if (kept.name.kind == "leaving" && !kept.name.numbers.empty()) {
      spawner = static_cast<pid_t>(kept.name.numbers.front());
      channel = std::move(kept.fd);
    } else if (kept.name.kind == "left") {
      children.push_back(std::move(kept.fd));
    } else {
      others.push_back(std::move(kept));
    }
  }
  inheritance->leaving =
      LeavingSpawner(spawner, std::move(channel), std::move(children));
  inheritance->kept = std::move(others);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Inheritance> TakeInheritance() {
  Inheritance inheritance;
  HOLDFAST_ASSIGN_OR_RETURN(InheritedDescriptors inherited,
                            TakeInheritedDescriptors());
  inheritance.sockets = std::move(inherited.sockets);
  HOLDFAST_ASSIGN_OR_RETURN(auto listed, TakeListedDescriptors());
  for (auto* descriptors : {&inherited.kept, &listed}) {
    for (auto& [text, fd] : *descriptors) {
      const auto name = KeptName::Parse(text);
      if (!name.has_value()) continue;
      inheritance.kept.push_back({*name, std::move(fd)});
    }
  }
  HOLDFAST_RETURN_IF_ERROR(Sort(&inheritance));
  inheritance.processes = TakeProcesses(&inheritance.kept);
  inheritance.keeper = TakeKeeper();
  return inheritance;
}

absl::Status ExecuteWith(const std::string& binary,
                         const std::vector<std::string>& arguments,
                         std::vector<KeptDescriptor> kept) {
  std::vector<std::pair<std::string, int>> descriptors;
  descriptors.reserve(kept.size());
  for (const KeptDescriptor& one : kept) {
    descriptors.emplace_back(one.name.ToString(), one.fd.get());
  }
  HOLDFAST_RETURN_IF_ERROR(ListDescriptors(descriptors));
  execv(binary.c_str(), Argv(arguments).data());
  return absl::ErrnoToStatus(errno, absl::StrCat("execute ", binary));
}

}  // namespace holdfast
