// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_DEPLOY_SLURM_HANDOVER_H_
#define HOLDFAST_DEPLOY_SLURM_HANDOVER_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace holdfast::slurm {

// The file that root's prolog leaves for the job's user: a token, or the reason
// why there is none.
struct Handover {
  std::string token;
  std::string refusal;
};

// A directory of root's with one file for each job on this node, which only the
// job's user can read. It outlives every process of Slurm's, so that whoever
// ends the job finds out that it has a tenant.
class HandoverDirectory {
 public:
  explicit HandoverDirectory(std::string path) : path_(std::move(path)) {}

  // Replaces what an earlier run of the job has left. Returns an error text,
  // empty if there is none. REQUIRES: root.
  std::string Write(uint32_t job, uid_t user, const Handover& handover) const;

  // Returns nothing if the job has none, or this user may not read it.
  std::optional<Handover> Read(uint32_t job) const;

  void Remove(uint32_t job) const;

 private:
  std::string FileOf(uint32_t job) const;

  const std::string path_;
};

}  // namespace holdfast::slurm

#endif  // HOLDFAST_DEPLOY_SLURM_HANDOVER_H_
