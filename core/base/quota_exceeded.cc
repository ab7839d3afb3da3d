// SPDX-License-Identifier: Apache-2.0
#include "core/base/quota_exceeded.h"

#include <array>
#include <cstring>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"

namespace holdfast {
namespace {

constexpr char kTypeUrl[] = "holdfast/quota_exceeded";

// The payload never leaves the process: three numbers in native byte order,
// then the name.
using Figures = std::array<uint64_t, 3>;

}  // namespace

void SetQuotaExceeded(const QuotaExceeded& exceeded, absl::Status* status) {
  const Figures figures = {exceeded.limit, exceeded.used, exceeded.requested};
  std::string bytes(reinterpret_cast<const char*>(figures.data()),
                    sizeof figures);
  bytes.append(exceeded.quota);
  status->SetPayload(kTypeUrl, absl::Cord(std::move(bytes)));
}

std::optional<QuotaExceeded> GetQuotaExceeded(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(kTypeUrl);
  if (!payload.has_value()) return std::nullopt;
  const std::string bytes(*payload);
  Figures figures;
  if (bytes.size() < sizeof figures) return std::nullopt;
  std::memcpy(figures.data(), bytes.data(), sizeof figures);
  return QuotaExceeded{.quota = bytes.substr(sizeof figures),
                       .limit = figures[0],
                       .used = figures[1],
                       .requested = figures[2]};
}

}  // namespace holdfast
