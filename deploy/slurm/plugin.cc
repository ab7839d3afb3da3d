// SPDX-License-Identifier: Apache-2.0
//
// The SPANK plugin: --holdfast of srun, sbatch and salloc. A job's tenant is
// made by its prolog on each node and ended by its epilog there, which run as
// root, once a job, however it ends. slurm_spank_exit is no place for that: it
// is called once a step, and not at all if slurmstepd is killed.
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <ctime>
#include <optional>
#include <string>

#include "core/base/unique_fd.h"
#include "deploy/node/node_daemon.h"
#include "deploy/slurm/handover.h"
#include "deploy/slurm/job_options.h"
#include "deploy/slurm/site.h"
#include "deploy/slurm/slurm_job.h"

extern "C" {
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/spank.h>
}

namespace holdfast::slurm {
namespace {

using node::Answer;
using node::NodeDaemon;
using node::TenantOptions;

constexpr uint64_t kGiB = uint64_t{1} << 30;

// Slurm hands an argument that was left out to a node as this text.
std::string ArgumentOf(const char* argument) {
  if (argument == nullptr || strcmp(argument, "(null)") == 0) return "";
  return argument;
}

int OnOption(int /*value*/, const char* argument, int remote) {
  TenantOptions options;
  std::string error;
  if (ParseJobOptions(ArgumentOf(argument), &options, &error)) {
    return 0;
  }
  if (remote == 0) slurm_error("%s", error.c_str());
  return -1;
}

spank_option g_option = {
    .name = const_cast<char*>("holdfast"),
    .arginfo = const_cast<char*>(
        "mem=SIZE,reserve=SIZE,weight=N,devices=N,group=NAME"),
    .usage = const_cast<char*>(
        "part of each node's Holdfast daemon for the job: HOLDFAST_ADDRESS and "
        "HOLDFAST_TOKEN in its environment"),
    .has_arg = 2,  // may be left out
    .val = 0,
    .cb = OnOption};

// One call of Slurm's in which the plugin does something.
struct Call {
  Site site;
  uint32_t job = 0;

  std::string tenant() const { return "slurm-" + std::to_string(job); }
  NodeDaemon daemon() const { return {site.cli, site.address}; }
  HandoverDirectory handovers() const {
    return HandoverDirectory(site.directory);
  }
};

std::optional<Call> CallOf(spank_t spank, int count, char* words[]) {
  Call call;
  std::string error;
  if (!ParseSite(count, words, &call.site, &error)) {
    slurm_error("holdfast: %s", error.c_str());
    return std::nullopt;
  }
  if (spank_get_item(spank, S_JOB_ID, &call.job) != ESPANK_SUCCESS) {
    slurm_error("holdfast: Slurm does not say which job it is");
    return std::nullopt;
  }
  return call;
}

// The value of --holdfast, in a prolog, where no callback of the option runs;
// nothing if the job does not have it.
std::optional<std::string> OptionOf(spank_t spank) {
  char* argument = nullptr;
  if (spank_option_getopt(spank, &g_option, &argument) != ESPANK_SUCCESS) {
    return std::nullopt;
  }
  return ArgumentOf(argument);
}

// Says on which node and why; the job is queued again by Slurm.
int FailNode(const std::string& reason) {
  slurm_error("holdfast: %s", reason.c_str());
  DrainThisNode("Holdfast: " + reason);
  return -1;
}

// Returns a refusal, empty if there is none.
std::string LimitByGres(const Call& call, TenantOptions* options) {
  if (call.site.gres.empty()) return "";
  const uint64_t gib = GresCount(call.job, call.site.gres);
  if (gib == 0) {
    return "the job has no " + call.site.gres +
           ": add --gres=" + call.site.gres + ":GIB";
  }
  if (options->memory_bytes > gib * kGiB) {
    return "mem= is over the " + std::to_string(gib) +
           " GiB of --gres=" + call.site.gres;
  }
  if (options->memory_bytes == 0) options->memory_bytes = gib * kGiB;
  return "";
}

int StartJob(spank_t spank, const Call& call, const std::string& text) {
  TenantOptions options;
  Handover handover;
  uid_t user = 0;
  if (spank_get_item(spank, S_JOB_UID, &user) != ESPANK_SUCCESS) return -1;
  const NodeDaemon daemon = call.daemon();
  if (const Answer health = daemon.CheckHealth(); !health.done()) {
    return FailNode(health.text);
  }
  if (ParseJobOptions(text, &options, &handover.refusal)) {
    handover.refusal = LimitByGres(call, &options);
  }
  if (handover.refusal.empty()) {
    const Answer created = daemon.CreateTenant(call.tenant(), options);
    if (created.kind == Answer::Kind::kBroken) return FailNode(created.text);
    // A request that cannot be met is the user's to mend: the job's first step
    // fails with the reason, and the node stays in use.
    (created.done() ? handover.token : handover.refusal) = created.text;
  }
  const std::string error = call.handovers().Write(call.job, user, handover);
  return error.empty() ? 0 : FailNode(error);
}

// One line of JSON for each job and node: nodes may share the file.
void Account(const Call& call, const std::string& usage) {
  if (call.site.accounting.empty() || usage.empty()) return;
  const std::string line =
      "{\"job\": " + std::to_string(call.job) + ", \"node\": \"" + ThisNode() +
      "\", \"ended\": " + std::to_string(std::time(nullptr)) +
      ", \"usage\": " + usage + "}\n";
  const UniqueFd file(open(call.site.accounting.c_str(),
                           O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640));
  if (write(file.get(), line.data(), line.size()) !=
      static_cast<ssize_t>(line.size())) {
    slurm_error("holdfast: accounting of job %u: %s: %s", call.job,
                call.site.accounting.c_str(), strerror(errno));
  }
}

int EndJob(const Call& call) {
  const Answer ended =
      call.daemon().EndTenant(call.tenant(), "the Slurm job is over");
  if (!ended.done()) {
    return FailNode("what job " + std::to_string(call.job) +
                    " holds is not freed: " + ended.text);
  }
  Account(call, ended.text);
  call.handovers().Remove(call.job);
  return 0;
}

int EnterJob(spank_t spank, const Call& call) {
  const std::optional<Handover> handover = call.handovers().Read(call.job);
  // Without --holdfast there is none.
  if (!handover.has_value() || !handover->refusal.empty()) return 0;
  const bool set =
      spank_setenv(spank, "HOLDFAST_ADDRESS", call.site.address.c_str(), 1) ==
          ESPANK_SUCCESS &&
      spank_setenv(spank, "HOLDFAST_TOKEN", handover->token.c_str(), 1) ==
          ESPANK_SUCCESS;
  return set ? 0 : -1;
}

// Where the user sees it: the standard error of the job's task.
int TellRefusal(const Call& call) {
  const std::optional<Handover> handover = call.handovers().Read(call.job);
  if (!handover.has_value() || handover->refusal.empty()) return 0;
  fprintf(stderr, "holdfast: %s\n", handover->refusal.c_str());
  return -1;
}

}  // namespace
}  // namespace holdfast::slurm

extern "C" {

// Not SPANK_PLUGIN(): its constants have internal linkage in C++.
extern const char plugin_name[] = "holdfast";
extern const char plugin_type[] = "spank";
extern const unsigned int plugin_version = SLURM_VERSION_NUMBER;
extern const unsigned int spank_plugin_version = 1;

int slurm_spank_init(spank_t spank, int /*count*/, char** /*words*/) {
  return spank_option_register(spank, &holdfast::slurm::g_option) ==
                 ESPANK_SUCCESS
             ? 0
             : -1;
}

// As root on the node, before the job's first process.
int slurm_spank_job_prolog(spank_t spank, int count, char** words) {
  const auto option = holdfast::slurm::OptionOf(spank);
  if (!option.has_value()) return 0;
  const auto call = holdfast::slurm::CallOf(spank, count, words);
  return call.has_value() ? holdfast::slurm::StartJob(spank, *call, *option)
                          : -1;
}

// In slurmstepd, with the effective user already the job's.
int slurm_spank_user_init(spank_t spank, int count, char** words) {
  const auto call = holdfast::slurm::CallOf(spank, count, words);
  return call.has_value() ? holdfast::slurm::EnterJob(spank, *call) : -1;
}

// In the task's own process, as the job's user.
int slurm_spank_task_init(spank_t spank, int count, char** words) {
  const auto call = holdfast::slurm::CallOf(spank, count, words);
  return call.has_value() ? holdfast::slurm::TellRefusal(*call) : -1;
}

// As root in slurmstepd at the end of a step: the last moment at which Slurm
// takes a comment, and only if the job ends by itself. A job has one comment,
// so only the step's first node writes it, and the comment names that node.
int slurm_spank_exit(spank_t spank, int count, char** words) {
  if (spank_context() != S_CTX_REMOTE) return 0;
  const auto call = holdfast::slurm::CallOf(spank, count, words);
  uint32_t node_of_step = 0;
  if (!call.has_value() || !call->handovers().Read(call->job).has_value() ||
      spank_get_item(spank, S_JOB_NODEID, &node_of_step) != ESPANK_SUCCESS ||
      node_of_step != 0) {
    return 0;
  }
  const auto usage = call->daemon().Usage(call->tenant());
  if (usage.done()) {
    holdfast::slurm::SetAdminComment(
        call->job, holdfast::node::DescribeUsage(usage.text) + " on " +
                       holdfast::slurm::ThisNode());
  }
  return 0;
}

// As root on the node, after the job's last process.
int slurm_spank_job_epilog(spank_t spank, int count, char** words) {
  const auto call = holdfast::slurm::CallOf(spank, count, words);
  if (!call.has_value()) return -1;
  if (!call->handovers().Read(call->job).has_value()) return 0;
  return holdfast::slurm::EndJob(*call);
}

}  // extern "C"
