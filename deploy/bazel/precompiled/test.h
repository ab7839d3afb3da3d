// SPDX-License-Identifier: Apache-2.0
//
// The headers that tests include most.
#ifndef DEPLOY_BAZEL_PRECOMPILED_TEST_H_
#define DEPLOY_BAZEL_PRECOMPILED_TEST_H_

#include <random>

#include "deploy/bazel/precompiled/wire.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#endif  // DEPLOY_BAZEL_PRECOMPILED_TEST_H_
