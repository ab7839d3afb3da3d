// SPDX-License-Identifier: Apache-2.0
#include "client/cudart/errors.h"
#include "client/cudart/not_served.h"

namespace holdfast::libcudart {

int Refuse() { return Record(cudaErrorNotSupported); }

}  // namespace holdfast::libcudart
