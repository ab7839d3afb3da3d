// SPDX-License-Identifier: Apache-2.0
#include "client/cli/find_kernel.h"

#include <algorithm>
#include <vector>

#include "core/base/source_name.h"
#include "core/base/status_macros.h"

namespace holdfast::cli {

absl::StatusOr<Kernel> FindKernel(const Module& module,
                                  const ObjectCode& object,
                                  const std::string& name) {
  if (object.symbols.contains(name)) return module.GetKernel(name);
  HOLDFAST_ASSIGN_OR_RETURN(std::vector<std::string> names,
                            module.KernelNames());
  const bool is_exact =
      std::find(names.begin(), names.end(), name) != names.end();
  std::erase_if(names, [&](const std::string& symbol) {
    return SourceName(symbol) != name;
  });
  // An ambiguous name fails with a list of the kernels.
  return module.GetKernel(is_exact || names.size() != 1 ? name : names.front());
}

}  // namespace holdfast::cli
