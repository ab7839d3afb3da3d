// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_TESTS_CONFORMANCE_SERVICE_SERVICE_H_
#define HOLDFAST_TESTS_CONFORMANCE_SERVICE_SERVICE_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "client/cpp/session.h"
#include "core/cuda/driver_loader.h"

namespace holdfast::conformance {

// A session of the daemon at $HOLDFAST_ADDRESS, and that machine's driver
// without a daemon, with device 0's primary context current. Without an
// address: an embedded daemon and the software driver.
class ServiceTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite();
  static void TearDownTestSuite();

  static Session& session() { return *session_; }
  static Daemon& daemon() { return session_->daemon(); }
  // Another one of the same daemon.
  static absl::StatusOr<std::unique_ptr<Session>> OpenSession(
      const SessionOptions& options = {}) {
    return Session::Open(*daemon_, options);
  }
  static const cuda::DriverApi& driver() { return driver_->api; }

  // The file of that driver.
  static const std::string& driver_path() { return driver_->path; }

  // Kills the process that does the session's work.
  static void KillExecutor(const Session& session);

  // The device runs machine code, not PTX.
  static bool IsGpu() { return !driver_->software; }

 private:
  static inline const cuda::Driver* driver_ = nullptr;
  static inline const std::shared_ptr<Daemon>* daemon_ = nullptr;
  static inline Session* session_ = nullptr;
};

}  // namespace holdfast::conformance

#endif  // HOLDFAST_TESTS_CONFORMANCE_SERVICE_SERVICE_H_
