// SPDX-License-Identifier: Apache-2.0
#include "core/base/log_scope.h"

#include <atomic>
#include <utility>

namespace holdfast {
namespace {

thread_local const LogScope* t_innermost = nullptr;

// Never deleted: other threads may be writing when the process ends.
std::atomic<const LogFields*> g_process_fields{nullptr};

void FillIn(std::string& field, const std::string& outer) {
  if (field.empty()) field = outer;
}

void FillIn(LogFields& fields, const LogFields& outer) {
  FillIn(fields.session, outer.session);
  FillIn(fields.tenant, outer.tenant);
  if (!fields.trace_id.empty()) return;  // a span belongs to its trace
  fields.trace_id = outer.trace_id;
  fields.span_id = outer.span_id;
}

}  // namespace

LogScope::LogScope(LogFields fields)
    : fields_(std::move(fields)), outer_(t_innermost) {
  FillIn(fields_, Current());
  t_innermost = this;
}

LogScope::~LogScope() { t_innermost = outer_; }

LogFields LogScope::Current() {
  if (t_innermost != nullptr) return t_innermost->fields_;
  const LogFields* const process = g_process_fields.load();
  return process == nullptr ? LogFields() : *process;
}

void SetProcessLogFields(LogFields fields) {
  g_process_fields = new LogFields(std::move(fields));
}

}  // namespace holdfast
