// SPDX-License-Identifier: Apache-2.0
//
// The node, and queries to slurmctld.
#ifndef HOLDFAST_DEPLOY_SLURM_SLURM_JOB_H_
#define HOLDFAST_DEPLOY_SLURM_SLURM_JOB_H_

#include <cstdint>
#include <string>

namespace holdfast::slurm {

// Returns the name that Slurm has for this node.
std::string ThisNode();

// Returns how much of the generic resource Slurm has counted for the job on
// each of its nodes; 0 if none, or if slurmctld does not answer.
uint64_t GresCount(uint32_t job, const std::string& gres);

// Sets the job's AdminComment, which users cannot change. Slurm refuses it once
// the job has ended; then nothing happens. REQUIRES: root.
void SetAdminComment(uint32_t job, const std::string& comment);

// No new jobs for this node, until the administrator resumes it.
void DrainThisNode(const std::string& reason);

}  // namespace holdfast::slurm

#endif  // HOLDFAST_DEPLOY_SLURM_SLURM_JOB_H_
