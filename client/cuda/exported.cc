// SPDX-License-Identifier: Apache-2.0
#include "client/cuda/exported.h"

#include <utility>

#include "core/base/status_macros.h"
#include "core/base/steady_time.h"

namespace holdfast::libcuda {
namespace {

// The most that a daemon grants.
constexpr absl::Duration kLifetime = absl::Hours(24);
constexpr uint32_t kMaxImports = 65536;

}  // namespace

absl::StatusOr<std::string> Exported::Token(const Resource& resource,
                                            ExportOptions options,
                                            const std::string& tenant) {
  absl::MutexLock lock(&mutex_);
  const absl::Time now = SteadyNow();
  if (export_ != nullptr && now < renewal_) return export_->token();
  options.tenant = tenant;
  options.lifetime = kLifetime;
  options.max_imports = kMaxImports;
  HOLDFAST_ASSIGN_OR_RETURN(auto made, ScopedExport::Create(resource, options));
  previous_ = std::exchange(export_, std::move(made));
  renewal_ = now + kLifetime / 2;
  return export_->token();
}

}  // namespace holdfast::libcuda
