// SPDX-License-Identifier: Apache-2.0
#include "server/supervisor/executor_work.h"

#include <utility>

namespace holdfast::supervisor {

void ExecutorWork::Assign(std::shared_ptr<const Tenant> tenant,
                          std::shared_ptr<ExecutionTotals> session) {
  sums_ = tenant->executions();
  if (session != nullptr) sums_.push_back(std::move(session));
  tenant_ = std::move(tenant);
}

void ExecutorWork::Open(const UniqueFd& counters,
                        const std::vector<uint32_t>& devices) {
  if (!counters.valid()) return;
  counts_ = totals_.Open(counters, sums_);
  if (counts_ != nullptr) turns_ = pacer_.Join(*counts_, tenant_, devices);
}

void ExecutorWork::End(bool lost) {
  turns_ = nullptr;
  if (counts_ != nullptr) counts_->End();
  if (!lost) return;
  totals_.NoteLost();
  for (const auto& sum : sums_) sum->NoteLost();
}

}  // namespace holdfast::supervisor
