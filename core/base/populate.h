// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CORE_BASE_POPULATE_H_
#define HOLDFAST_CORE_BASE_POPULATE_H_

#include <cstddef>

namespace holdfast {

// Gives a writable shared mapping all its pages now, so that neither its first
// use nor the driver that page-locks it has to wait for the kernel to clear
// them one by one: in huge pages where the kernel gives them to who asks, by
// several threads where there are processors for them. Pages that are there
// are only mapped, never moved to make huge ones of them: that costs more than
// it saves. Bytes stay as they are.
// `data` and `size` are multiples of the page size. Best effort: what is left
// out comes when it is touched.
void Populate(void* data, size_t size);

}  // namespace holdfast

#endif  // HOLDFAST_CORE_BASE_POPULATE_H_
