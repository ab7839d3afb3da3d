// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_COMPILE_PTX_VERSION_H_
#define HOLDFAST_SERVER_COMPILE_PTX_VERSION_H_

#include <string>

#include "absl/strings/string_view.h"
#include "server/objects/object_store.h"

namespace holdfast {

// Returns the PTX version of a module, 90 for PTX 9.0; 0 if it has none. `head`
// is the module's beginning.
int PtxVersionOf(absl::string_view head);

// Returns the version of an object's PTX; 0 if the object is not PTX.
int PtxVersionOf(const StoredObject& object);

// Returns a warning if this driver cannot load the PTX because its version is
// too new; otherwise empty. `driver_version` is the result of
// cuDriverGetVersion, such as 13000. 0 means unknown, for both.
std::string PtxVersionWarning(int ptx_version, int driver_version);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_COMPILE_PTX_VERSION_H_
