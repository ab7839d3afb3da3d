// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_TESTS_CONFORMANCE_SERVICE_SERVICE_H_
#define HOLDFAST_TESTS_CONFORMANCE_SERVICE_SERVICE_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "client/cpp/session.h"
#include "core/cuda/driver_loader.h"
#include "holdfast/v1/sessions.pb.h"

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
  // Opens another session of the same daemon.
  static absl::StatusOr<std::unique_ptr<Session>> OpenSession(
      const SessionOptions& options = {}) {
    return Session::Open(*daemon_, options);
  }
  static const cuda::DriverApi& driver() { return driver_->api; }

  // The file of that driver.
  static const std::string& driver_path() { return driver_->path; }

  // A session with a stream.
  struct Side {
    std::unique_ptr<Session> session;
    Stream stream;
    Device device() const { return session->device(0); }
  };
  static absl::StatusOr<Side> Open(const SessionOptions& options = {});

  // The daemon's description of a session; empty if there is none.
  static v1::SessionInfo Info(const Session& session);
  // The daemon's counts of the bytes of device 0 that are reserved, and of
  // those that no session uses any more.
  static uint64_t ReservedBytes();
  static uint64_t OrphanedBytes();

  // Waits up to 30 s for the condition.
  static bool Eventually(const std::function<bool()>& condition);

  // Kills the process that does the session's work.
  static void KillExecutor(const Session& session);

  // Returns true if the device is a GPU, which runs machine code and not PTX.
  static bool IsGpu() { return !driver_->software; }

 private:
  static inline const cuda::Driver* driver_ = nullptr;
  static inline const std::shared_ptr<Daemon>* daemon_ = nullptr;
  static inline Session* session_ = nullptr;
};

}  // namespace holdfast::conformance

#endif  // HOLDFAST_TESTS_CONFORMANCE_SERVICE_SERVICE_H_
