// SPDX-License-Identifier: Apache-2.0
#include "client/cpp/transfer/transfer_target.h"

#include "absl/strings/str_cat.h"

namespace holdfast {

absl::Status TransferTarget::CheckRange() const {
  if (offset <= buffer_size && size <= buffer_size - offset) {
    return absl::OkStatus();
  }
  return absl::OutOfRangeError(absl::StrCat(size, " bytes at offset ", offset,
                                            " of a buffer of ", buffer_size,
                                            " bytes"));
}

}  // namespace holdfast
