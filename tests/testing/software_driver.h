// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_TESTS_TESTING_SOFTWARE_DRIVER_H_
#define HOLDFAST_TESTS_TESTING_SOFTWARE_DRIVER_H_

#include <memory>

#include "core/cuda/context.h"
#include "core/cuda/driver_loader.h"

namespace holdfast::testing {

// Returns the software driver that $HOLDFAST_SOFTWARE_DRIVER names. Loads it at
// the first call, and ends the test program if that fails.
const cuda::Driver& SoftwareDriver();

// Returns device 0's primary context. Its calls go through `api`, which must
// outlive the context; by default, through the driver's own table.
std::shared_ptr<const cuda::Context> SoftwareContext();
std::shared_ptr<const cuda::Context> SoftwareContext(
    const cuda::DriverApi& api);

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_TESTING_SOFTWARE_DRIVER_H_
