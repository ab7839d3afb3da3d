// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SHARING_SHARED_RECORD_H_
#define HOLDFAST_SERVER_SHARING_SHARED_RECORD_H_

#include "holdfast/internal/restart.pb.h"
#include "server/sharing/export_registry.h"

namespace holdfast {

// Returns the record from which the next daemon shares the resource again. The
// record names a chunk by the session that made it and the chunk's number in
// this session.
internal::SharedRange RecordOf(const SharedResource& resource);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SHARING_SHARED_RECORD_H_
