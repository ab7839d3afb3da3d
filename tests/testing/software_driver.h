// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_TESTS_TESTING_SOFTWARE_DRIVER_H_
#define HOLDFAST_TESTS_TESTING_SOFTWARE_DRIVER_H_

#include <memory>

#include "core/cuda/context.h"
#include "core/cuda/driver_loader.h"

namespace holdfast::testing {

// The software driver named by $HOLDFAST_SOFTWARE_DRIVER, loaded once. Ends
// the test program if that fails: without a driver no test means anything.
const cuda::Driver& SoftwareDriver();

// Device 0's primary context through `api`, which defaults to the driver's own
// table and must outlive the context.
std::shared_ptr<const cuda::Context> SoftwareContext();
std::shared_ptr<const cuda::Context> SoftwareContext(
    const cuda::DriverApi& api);

}  // namespace holdfast::testing

#endif  // HOLDFAST_TESTS_TESTING_SOFTWARE_DRIVER_H_
