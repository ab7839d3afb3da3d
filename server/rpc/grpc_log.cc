// SPDX-License-Identifier: Apache-2.0
#include "server/rpc/grpc_log.h"

#include <grpc/support/log.h>

#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "core/base/log.h"
#include "core/base/printable.h"

namespace holdfast {
namespace {

void Write(gpr_log_func_args* args) {
  const LogLevel level = args->severity == GPR_LOG_SEVERITY_ERROR
                             ? LogLevel::kWarning
                             : LogLevel::kDebug;
  absl::string_view file = args->file;
  file.remove_prefix(file.rfind('/') + 1);
  LogFor("gRPC", level, "gRPC, ", file, ":", args->line, ": ",
         ToPrintable(absl::StripSuffix(args->message, "\n")));
}

}  // namespace

void WriteGrpcMessagesToLog() { gpr_set_log_function(Write); }

}  // namespace holdfast
