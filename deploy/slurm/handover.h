// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_DEPLOY_SLURM_HANDOVER_H_
#define HOLDFAST_DEPLOY_SLURM_HANDOVER_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace holdfast::slurm {

// The contents of a job's file: a token, or the reason why there is no token.
struct Handover {
  std::string token;
  std::string refusal;  // empty if there is a token
};

// A directory that belongs to root, with one file for each job on this node.
// The prolog, as root, writes the file; only the job's user and root can read
// it. The files outlive Slurm's processes. The epilog learns from the file that
// the job may have a tenant to end.
class HandoverDirectory {
 public:
  explicit HandoverDirectory(std::string path) : path_(std::move(path)) {}

  // Writes the job's file, and replaces a file of an earlier run of the job.
  // Returns an error text, or "" on success. REQUIRES: the caller is root.
  std::string Write(uint32_t job, uid_t user, const Handover& handover) const;

  // Returns nullopt if the job has no file, or the caller may not read it.
  std::optional<Handover> Read(uint32_t job) const;

  void Remove(uint32_t job) const;

 private:
  std::string FileOf(uint32_t job) const;

  const std::string path_;
};

}  // namespace holdfast::slurm

#endif  // HOLDFAST_DEPLOY_SLURM_HANDOVER_H_
