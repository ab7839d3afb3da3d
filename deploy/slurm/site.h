// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_DEPLOY_SLURM_SITE_H_
#define HOLDFAST_DEPLOY_SLURM_SITE_H_

#include <string>

namespace holdfast::slurm {

// How a site has set the plugin up: the words behind its path in
// plugstack.conf, NAME=VALUE each.
struct Site {
  std::string cli = "/usr/bin/holdfast";
  std::string address = "unix:/run/holdfast/holdfast.sock";
  // Where tokens are handed to jobs; root's, made if it is not there.
  std::string directory = "/run/holdfast-slurm";
  // Gets one line of JSON when a job has ended; empty: none.
  std::string accounting;
  // The generic resource of which each job has as many GiB of device memory as
  // Slurm has counted for it; empty: mem= of the job's option is its limit.
  std::string gres;
};

// Returns false and sets *error if a word is none of the above.
bool ParseSite(int count, char* words[], Site* site, std::string* error);

}  // namespace holdfast::slurm

#endif  // HOLDFAST_DEPLOY_SLURM_SITE_H_
