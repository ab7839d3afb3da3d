// SPDX-License-Identifier: Apache-2.0
#include "deploy/node/node_daemon.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

namespace holdfast::node {
namespace {

using Json = nlohmann::json;

// Longer than the daemon takes to end a tenant's sessions.
constexpr int kSeconds = 60;

// Exit codes of the command line; another one is no answer of the daemon's.
constexpr int kExitDone = 0;
constexpr int kExitFailed = 1;

bool IsNotFound(const Answer& answer) {
  return answer.kind == Answer::Kind::kRefused &&
         answer.text.find("not found") != std::string::npos;
}

bool AlreadyExists(const Answer& answer) {
  return answer.kind == Answer::Kind::kRefused &&
         answer.text.find("already exists") != std::string::npos;
}

// Never throws: a value of another type is as none.
Json Parse(const std::string& text) {
  return Json::parse(text, /*cb=*/nullptr, /*allow_exceptions=*/false);
}

Json Member(const Json& object, const char* name) {
  return object.is_object() && object.contains(name) ? object[name] : Json();
}

uint64_t NumberOf(const Json& object, const char* name) {
  const Json value = Member(object, name);
  return value.is_number_unsigned() ? value.get<uint64_t>() : 0;
}

std::string TextOf(const Json& object, const char* name) {
  const Json value = Member(object, name);
  return value.is_string() ? value.get<std::string>() : "";
}

std::string WithoutLineBreaks(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace

Answer NodeDaemon::Ask(std::vector<std::string> arguments) const {
  arguments.insert(arguments.begin(), cli_);
  arguments.push_back("--json");
  arguments.push_back("--address=" + address_);
  const Outcome outcome = RunProgram(arguments, kSeconds);
  if (outcome.exit_code == kExitDone) return {Answer::Kind::kDone, outcome.out};
  return {outcome.exit_code == kExitFailed ? Answer::Kind::kRefused
                                           : Answer::Kind::kBroken,
          WithoutLineBreaks(outcome.err)};
}

Answer NodeDaemon::CdiSpecification(const std::string& directory) const {
  const Outcome outcome =
      RunProgram({cli_, "cdi", "--directory=" + directory}, kSeconds);
  if (outcome.exit_code == kExitDone) return {Answer::Kind::kDone, outcome.out};
  return {Answer::Kind::kBroken, WithoutLineBreaks(outcome.err)};
}

Answer NodeDaemon::CheckHealth() const {
  Answer answer = Ask({"devices"});
  if (!answer.done()) return answer;
  for (const Json& device : Member(Parse(answer.text), "devices")) {
    const Json health = Member(device, "health");
    if (TextOf(health, "state") != "quarantined") continue;
    return {Answer::Kind::kRefused,
            "device " + std::to_string(NumberOf(device, "ordinal")) +
                " is in quarantine: " + TextOf(health, "reason")};
  }
  return {};
}

Answer NodeDaemon::FreestDevices(uint32_t count) const {
  Answer answer = Ask({"devices"});
  if (!answer.done()) return answer;
  std::vector<std::pair<uint64_t, uint64_t>> devices;  // free memory, ordinal
  for (const Json& device : Member(Parse(answer.text), "devices")) {
    devices.emplace_back(NumberOf(device, "free_memory"),
                         NumberOf(device, "ordinal"));
  }
  if (devices.size() < count) {
    return {Answer::Kind::kRefused, "devices=" + std::to_string(count) +
                                        ": this node has " +
                                        std::to_string(devices.size())};
  }
  std::stable_sort(
      devices.begin(), devices.end(),
      [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string list;
  for (uint32_t i = 0; i < count; ++i) {
    list += (i == 0 ? "" : ",") + std::to_string(devices[i].second);
  }
  return {Answer::Kind::kDone, list};
}

Answer NodeDaemon::CreateTenant(const std::string& name,
                                const TenantOptions& options) const {
  std::vector<std::string> arguments = {
      "tenants", "create", name, "--weight=" + std::to_string(options.weight)};
  if (options.memory_bytes > 0) {
    arguments.push_back("--memory=" + std::to_string(options.memory_bytes));
  }
  if (options.reserved_bytes > 0) {
    arguments.push_back("--reserve=" + std::to_string(options.reserved_bytes));
  }
  if (options.sessions > 0) {
    arguments.push_back("--sessions=" + std::to_string(options.sessions));
  }
  if (!options.group.empty()) {
    arguments.push_back("--group=" + options.group);
  }
  if (options.devices > 0) {
    const Answer devices = FreestDevices(options.devices);
    if (!devices.done()) return devices;
    arguments.push_back("--devices=" + devices.text);
  }
  Answer answer = Ask(arguments);
  if (AlreadyExists(answer)) {
    if (const Answer ended = EndTenant(name, "its time is over"); !ended.done())
      return ended;
    answer = Ask(arguments);
  }
  if (!answer.done()) return answer;
  const std::string token = TextOf(Parse(answer.text), "token");
  if (token.empty()) {
    return {Answer::Kind::kBroken, "the daemon has sent no token"};
  }
  return {Answer::Kind::kDone, token};
}

Answer NodeDaemon::EndTenant(const std::string& name,
                             const std::string& reason) const {
  Answer answer = Ask({"tenants", "end", name, "--reason=" + reason});
  if (IsNotFound(answer)) return {};
  answer.text = WithoutLineBreaks(answer.text);
  return answer;
}

Answer NodeDaemon::Usage(const std::string& name) const {
  const Answer answer = Ask({"tenants", "ls"});
  if (!answer.done()) return answer;
  for (const Json& tenant : Member(Parse(answer.text), "tenants")) {
    if (TextOf(tenant, "name") == name) {
      return {Answer::Kind::kDone, tenant.dump()};
    }
  }
  return {Answer::Kind::kRefused, "there is no tenant " + name};
}

Answer NodeDaemon::NamesOfTenants(const std::string& prefix) const {
  Answer answer = Ask({"tenants", "ls"});
  if (!answer.done()) return answer;
  std::string names;
  for (const Json& tenant : Member(Parse(answer.text), "tenants")) {
    const std::string name = TextOf(tenant, "name");
    if (name.rfind(prefix, 0) == 0) names += name + "\n";
  }
  return {Answer::Kind::kDone, names};
}

Answer NodeDaemon::DeviceMemory() const {
  Answer answer = Ask({"devices"});
  if (!answer.done()) return answer;
  uint64_t bytes = 0;
  for (const Json& device : Member(Parse(answer.text), "devices")) {
    bytes += NumberOf(device, "total_memory");
  }
  return {Answer::Kind::kDone, std::to_string(bytes)};
}

std::string DescribeUsage(const std::string& json) {
  const Json usage = Parse(json);
  char memory[64];
  std::snprintf(
      memory, sizeof memory, "holdfast: peak memory %.1f MiB",
      static_cast<double>(NumberOf(usage, "peak_device_bytes")) / (1 << 20));
  std::string text = memory;
  const Json seconds = Member(usage, "gpu_seconds");
  if (seconds.is_number()) {
    char time[64];
    std::snprintf(time, sizeof time, ", GPU time %.1f s",
                  seconds.get<double>());
    text += time;
  }
  return text;
}

}  // namespace holdfast::node
