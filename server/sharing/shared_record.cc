// SPDX-License-Identifier: Apache-2.0
#include "server/sharing/shared_record.h"

namespace holdfast {

internal::SharedRange RecordOf(const SharedResource& resource) {
  internal::SharedRange record;
  record.set_session(resource.maker);
  record.set_chunk(resource.chunk_number);
  record.set_kind(static_cast<uint32_t>(resource.kind));
  record.set_device(resource.device);
  record.set_offset(resource.offset);
  record.set_size(resource.size);
  record.set_rights(resource.rights);
  record.set_event(resource.event != nullptr);
  return record;
}

}  // namespace holdfast
