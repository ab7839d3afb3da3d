// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_BASE_POPULATE_H_
#define HOLDFAST_CORE_BASE_POPULATE_H_

#include <cstddef>

namespace holdfast {

// Allocates all pages of a writable shared mapping now, so that neither its
// first use nor page-locking waits for the kernel to clear them one by one.
// Uses huge pages if the kernel gives them on request, and several threads if
// there are processors for them. Existing pages are only mapped; moving them
// into huge pages costs more than it saves. Bytes are unchanged. `data` and
// `size` are multiples of the page size. Blocks until the work is done. Reports
// no failure: the kernel allocates pages that are still missing on their first
// use.
void Populate(void* data, size_t size);

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_POPULATE_H_
