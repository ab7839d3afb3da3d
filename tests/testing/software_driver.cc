// SPDX-License-Identifier: Apache-2.0
#include "tests/testing/software_driver.h"

#include <cstdio>
#include <cstdlib>

#include "core/cuda/device.h"

namespace holdfast::testing {
namespace {

template <typename T>
T OrDie(absl::StatusOr<T> value) {
  if (!value.ok()) {
    std::fprintf(stderr, "%s\n", value.status().ToString().c_str());
    std::abort();
  }
  return *std::move(value);
}

}  // namespace

const cuda::Driver& SoftwareDriver() {
  static const cuda::Driver& driver =
      *OrDie(cuda::LoadDriver({
                 .choice = cuda::DriverChoice::kSoftware,
             }))
           .release();
  return driver;
}

std::shared_ptr<const cuda::Context> SoftwareContext() {
  return SoftwareContext(SoftwareDriver().api);
}

std::shared_ptr<const cuda::Context> SoftwareContext(
    const cuda::DriverApi& api) {
  return OrDie(cuda::Context::RetainPrimary(OrDie(cuda::Device::Get(api, 0))));
}

}  // namespace holdfast::testing
