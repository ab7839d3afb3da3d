// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_DEPLOY_SLURM_GRES_COUNT_H_
#define HOLDFAST_DEPLOY_SLURM_GRES_COUNT_H_

#include <cstdint>
#include <string_view>

namespace holdfast::slurm {

// Returns the number behind a resource's name in a list as Slurm writes it,
// "gres:gpu:2,gres:holdfast_mem:8"; 1 if there is none behind it, and 0 if it
// is not in the list.
uint64_t CountIn(std::string_view list, std::string_view gres);

}  // namespace holdfast::slurm

#endif  // HOLDFAST_DEPLOY_SLURM_GRES_COUNT_H_
