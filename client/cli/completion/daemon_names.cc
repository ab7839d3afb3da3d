// SPDX-License-Identifier: Apache-2.0
#include "client/cli/completion/daemon_names.h"

#include <cstdlib>
#include <memory>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cpp/collection/collections.h"
#include "client/cpp/connection/daemon.h"
#include "client/cpp/tenants/tenants.h"
#include "core/base/printable.h"
#include "holdfast/v1/admin.pb.h"
#include "holdfast/v1/collections.pb.h"
#include "holdfast/v1/sessions.pb.h"

namespace holdfast::cli {
namespace {

using Found = std::vector<Candidate>;

void Add(const std::string& name, const std::string& description,
         Found* found) {
  if (IsPlainWord(name)) found->push_back({name, ToPrintable(description)});
}

Found SessionNames(Daemon& daemon) {
  Found found;
  const auto list = daemon.ListSessions();
  if (!list.ok()) return found;
  for (const auto& session : list->sessions()) {
    const auto& client = session.client();
    Add(session.session_id(),
        session.name().empty()
            ? absl::StrCat(client.program(), " ", client.pid())
            : session.name(),
        &found);
  }
  return found;
}

Found CollectionNames(std::shared_ptr<Daemon> daemon) {
  Found found;
  const auto list = Collections(std::move(daemon)).List();
  if (!list.ok()) return found;
  for (const auto& collection : list->collections()) {
    Add(collection.name(), collection.owner(), &found);
  }
  return found;
}

Found TenantNames(std::shared_ptr<Daemon> daemon) {
  Found found;
  const auto list = Tenants(std::move(daemon)).List();
  if (!list.ok()) return found;
  for (const auto& tenant : list->tenants()) Add(tenant.name(), "", &found);
  return found;
}

// A daemon of its own knows nothing, and takes a second to start.
bool IsEmbedded(const std::string& address) {
  const char* variable = std::getenv("HOLDFAST_ADDRESS");
  const std::string text =
      address.empty() && variable != nullptr ? variable : address;
  return absl::StartsWith(text, "embedded:");
}

}  // namespace

bool IsPlainWord(absl::string_view name) {
  return !name.empty() && name.front() != '-' &&
         absl::c_all_of(name, [](unsigned char c) {
           return absl::ascii_isalnum(c) || absl::StrContains("._-/@+", c);
         });
}

Found AskForNames(const std::string& address, Candidates::Names names) {
  if (names == Candidates::Names::kNone || IsEmbedded(address)) return {};
  auto daemon = Daemon::Connect(address);
  if (!daemon.ok()) return {};
  switch (names) {
    case Candidates::Names::kSessions:
      return SessionNames(**daemon);
    case Candidates::Names::kCollections:
      return CollectionNames(*std::move(daemon));
    case Candidates::Names::kTenants:
      return TenantNames(*std::move(daemon));
    case Candidates::Names::kNone:
      break;
  }
  return {};
}

}  // namespace holdfast::cli
