// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_COMPILE_PTX_VERSION_H_
#define HOLDFAST_SERVER_COMPILE_PTX_VERSION_H_

#include <string>

#include "absl/strings/string_view.h"
#include "server/objects/object_store.h"

namespace holdfast {

// Returns the PTX version that a module declares, such as 90 for PTX 9.0; 0 if
// there is no valid .version directive in `head`, the module's beginning.
int PtxVersionOf(absl::string_view head);

// Returns the version of an object's PTX; 0 if the object is not PTX.
int PtxVersionOf(const StoredObject& object);

// Returns a warning if this driver cannot load the PTX because the PTX version
// is too new; otherwise an empty string. `driver_version` is the result of
// cuDriverGetVersion, such as 13000. For both arguments 0 means unknown, which
// gives no warning.
std::string PtxVersionWarning(int ptx_version, int driver_version);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_COMPILE_PTX_VERSION_H_
