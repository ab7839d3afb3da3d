// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/compile/compile_call.h"

#include "absl/strings/str_cat.h"
#include "client/cpp/connection/daemon_stubs.h"
#include "core/base/status_macros.h"
#include "proto/metadata.h"

namespace holdfast {

void AskForWholeLog(grpc::ClientContext* context) {
  context->AddMetadata(kTrailerBytesKey.name, absl::StrCat(kMaxTrailerBytes));
}

absl::StatusOr<v1::CompileProgress> AwaitDone(
    Daemon& daemon, grpc::ClientReader<v1::CompileProgress>& reader,
    const CompileProgressCallback& on_progress) {
  v1::CompileProgress progress;
  while (reader.Read(&progress)) {
    if (progress.stage() != v1::CompileProgress::STAGE_DONE) {
      on_progress(progress);
    }
  }
  HOLDFAST_RETURN_IF_ERROR(daemon.Explain(reader.Finish()));
  if (progress.stage() != v1::CompileProgress::STAGE_DONE) {
    return absl::DataLossError("the daemon ended a compilation without a word");
  }
  return progress;
}

}  // namespace holdfast
