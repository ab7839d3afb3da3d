// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/submission/filling_batch.h"

#include "absl/strings/str_cat.h"

namespace holdfast {

absl::Status FillingBatch::Refuse(size_t before, size_t bytes) {
  batch_->bytes.Truncate(batch_->empty() ? 0 : before);
  return absl::InvalidArgumentError(absl::StrCat("the command has ", bytes,
                                                 " bytes, the limit is ",
                                                 limits_.command_bytes));
}

void FillingBatch::Clear() {
  batch_->bytes.Truncate(0);
  batch_->commands = 0;
}

}  // namespace holdfast
