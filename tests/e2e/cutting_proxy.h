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

// A network that breaks: forwards TCP connections on loopback, and while it is
// told to, resets all of them at random moments, whatever is on its way.
class CuttingProxy {
 public:
  // `target`: "127.0.0.1:PORT". Equal seeds make the same pauses between cuts.
  CuttingProxy(const std::string& target, uint64_t seed);
  ~CuttingProxy();

  // "tcp:127.0.0.1:PORT"
  std::string address() const;

  // Cuts every 50 to 200 ms, from now on and no more.
  void StartCutting() { cutting_ = true; }
  void StopCutting() { cutting_ = false; }
  // Cuts everything, and resets new connections at once.
  void Unplug();

  // Connections that were cut.
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
