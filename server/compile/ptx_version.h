// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_COMPILE_PTX_VERSION_H_
#define HOLDFAST_SERVER_COMPILE_PTX_VERSION_H_

#include <string>

#include "absl/strings/string_view.h"
#include "server/objects/object_store.h"

namespace holdfast {

// 90: PTX 9.0; 0 if it does not say. `head` is the module's beginning.
int PtxVersionOf(absl::string_view head);

// Returns the version of an object's PTX; 0 if it is no PTX.
int PtxVersionOf(const StoredObject& object);

// Returns a warning about PTX that this driver cannot load because it is of a
// later version; empty if there is nothing to warn of. `driver_version`: as
// cuDriverGetVersion has it, 13000. 0 stands for unknown.
std::string PtxVersionWarning(int ptx_version, int driver_version);

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_COMPILE_PTX_VERSION_H_
