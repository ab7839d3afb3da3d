// SPDX-License-Identifier: Apache-2.0
#include "deploy/slurm/slurm_job.h"

#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "deploy/slurm/gres_count.h"

extern "C" {
#include <slurm/slurm.h>
}

namespace holdfast::slurm {
std::string ThisNode() {
  if (const char* name = std::getenv("SLURMD_NODENAME")) return name;
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  const std::string_view full = host;
  return std::string(full.substr(0, full.find('.')));
}

uint64_t GresCount(uint32_t job, const std::string& gres) {
  job_info_msg_t* jobs = nullptr;
  if (slurm_load_job(&jobs, job, SHOW_DETAIL) != SLURM_SUCCESS) return 0;
  uint64_t count = 0;
  if (jobs->record_count > 0) {
    const char* const resources = jobs->job_array[0].tres_per_node;
    count = CountIn(resources == nullptr ? "" : resources, gres);
  }
  slurm_free_job_info_msg(jobs);
  return count;
}

void SetAdminComment(uint32_t job, const std::string& comment) {
  job_desc_msg_t change;
  slurm_init_job_desc_msg(&change);
  std::string text = comment;
  change.job_id = job;
  change.admin_comment = text.data();
  slurm_update_job(&change);
}

void DrainThisNode(const std::string& reason) {
  update_node_msg_t change;
  slurm_init_update_node_msg(&change);
  std::string node = ThisNode();
  std::string text = reason;
  change.node_names = node.data();
  change.node_state = NODE_STATE_DRAIN;
  change.reason = text.data();
  change.reason_uid = getuid();
  slurm_update_node(&change);
}

}  // namespace holdfast::slurm
