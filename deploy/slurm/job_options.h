// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_DEPLOY_SLURM_JOB_OPTIONS_H_
#define HOLDFAST_DEPLOY_SLURM_JOB_OPTIONS_H_

#include <string>
#include <string_view>

#include "deploy/node/tenant_options.h"

namespace holdfast::slurm {

// Parses the value of --holdfast, a job's request to the daemon on each of its
// nodes: "mem=8G,reserve=4G,weight=2,devices=1,group=batch". Each part may be
// left out. Sizes have the suffix K, M, G or T, for powers of 1024, or none.
// Returns false for any other text, and sets *error to a sentence that names
// the wrong part.
bool ParseJobOptions(std::string_view text, node::TenantOptions* options,
                     std::string* error);

}  // namespace holdfast::slurm

#endif  // HOLDFAST_DEPLOY_SLURM_JOB_OPTIONS_H_
