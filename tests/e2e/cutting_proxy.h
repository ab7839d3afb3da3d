// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_TESTS_E2E_CUTTING_PROXY_H_
#define HOLDFAST_TESTS_E2E_CUTTING_PROXY_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/base/unique_fd.h"

namespace holdfast::e2e {

// Simulates a network that breaks. Forwards TCP connections on loopback, and,
// between StartCutting and StopCutting, resets all of them at random moments.
// Bytes in transit are lost.
class CuttingProxy {
 public:
  // `target`: "127.0.0.1:PORT". Equal seeds give equal pauses between cuts.
  CuttingProxy(const std::string& target, uint64_t seed);
  ~CuttingProxy();

  // Returns "tcp:127.0.0.1:PORT", where clients connect.
  std::string address() const;

  // StartCutting cuts all connections every 50 to 200 ms, until StopCutting.
  void StartCutting() { cutting_ = true; }
  void StopCutting() { cutting_ = false; }
  // Cuts all connections, and closes new connections at once from now on.
  void Unplug();

  // Returns the number of connections that were cut.
  uint64_t cuts() const { return cuts_; }

 private:
  struct Connection;

  void Accept();
  void CutAtRandom(uint64_t seed);
  void CutAll();

  const std::string target_;
  const UniqueFd listener_;
  std::atomic<bool> stopping_{false};
  std::atomic<bool> cutting_{false};
  std::atomic<bool> unplugged_{false};
  std::atomic<uint64_t> cuts_{0};
  absl::Mutex mutex_;
  std::vector<std::unique_ptr<Connection>> connections_ ABSL_GUARDED_BY(mutex_);
  std::thread acceptor_;
  std::thread cutter_;
};

}  // namespace holdfast::e2e

#endif  // HOLDFAST_TESTS_E2E_CUTTING_PROXY_H_
