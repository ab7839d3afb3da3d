// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_DEPLOY_SLURM_SITE_H_
#define HOLDFAST_DEPLOY_SLURM_SITE_H_

#include <string>

namespace holdfast::slurm {

// The site's settings of the plugin: the words NAME=VALUE after its path in
// plugstack.conf.
struct Site {
  std::string cli = "/usr/bin/holdfast";
  std::string address = "unix:/run/holdfast/holdfast.sock";
  // The directory through which jobs get their tokens. Root owns it; the plugin
  // makes it if it is missing.
  std::string directory = "/run/holdfast-slurm";
  // The file to which the plugin appends one line of JSON when a job has ended;
  // empty: no file.
  std::string accounting;
  // The generic resource that counts the GiB of a job's device memory. Empty:
  // mem= of the job's option is the limit.
  std::string gres;
};

// Parses the words. Returns false and sets *error if a word is not NAME=VALUE
// with the name of a field of Site.
bool ParseSite(int count, char* words[], Site* site, std::string* error);

}  // namespace holdfast::slurm

#endif  // HOLDFAST_DEPLOY_SLURM_SITE_H_
