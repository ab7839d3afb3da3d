// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_DEPLOY_SLURM_GRES_COUNT_H_
#define HOLDFAST_DEPLOY_SLURM_GRES_COUNT_H_

#include <cstdint>
#include <string_view>

namespace holdfast::slurm {

// Returns the count of the resource `gres` in a list in Slurm's form,
// "gres:gpu:2,gres:holdfast_mem:8"; 1 if the list has the name without a count,
// and 0 if it does not have the name.
uint64_t CountIn(std::string_view list, std::string_view gres);

}  // namespace holdfast::slurm

#endif  // HOLDFAST_DEPLOY_SLURM_GRES_COUNT_H_
