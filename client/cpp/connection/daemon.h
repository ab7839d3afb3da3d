// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CPP_CONNECTION_DAEMON_H_
#define HOLDFAST_CLIENT_CPP_CONNECTION_DAEMON_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/cpp/connection/address.h"
#include "client/cpp/connection/embedded_daemon.h"

namespace grpc {
class Channel;
class Status;
}  // namespace grpc

namespace holdfast {

namespace v1 {
class ClearCacheResponse;
class DescribeDeviceResponse;
class GetCacheStatisticsResponse;
class GetServerInfoResponse;
class ListCacheEntriesResponse;
class ListDevicesResponse;
class ListSessionsResponse;
class SessionInfo;
}  // namespace v1

struct DaemonStubs;

// A connection to a daemon, for calls without a session. An embedded: address
// starts a daemon that ends with this object. Thread-safe.
//
// A process that is forked after the first connection cannot use it or make
// another: there every call fails with FAILED_PRECONDITION, and destroying the
// object does nothing.
class Daemon {
 public:
  // Connects to a daemon, or starts an embedded one. Blocks until the daemon
  // answers. `address`: see address.h; empty means DefaultAddress().
  // UNAVAILABLE: there is no daemon.
  static absl::StatusOr<std::shared_ptr<Daemon>> Connect(
      absl::string_view address = "");
  ~Daemon();

  const Address& address() const { return address_; }
  const std::shared_ptr<grpc::Channel>& channel() const;
  // True if the daemon ends with this object.
  bool is_embedded() const { return embedded_ != nullptr; }

  absl::StatusOr<v1::GetServerInfoResponse> Info();
  // Return all devices without attributes, or one device with all attributes.
  absl::StatusOr<v1::ListDevicesResponse> Devices();
  absl::StatusOr<v1::DescribeDeviceResponse> DescribeDevice(uint32_t ordinal);
  // Returns the sessions, oldest first.
  absl::StatusOr<std::vector<v1::SessionInfo>> Sessions();
  // Returns the sessions, with the sums over all sessions.
  absl::StatusOr<v1::ListSessionsResponse> ListSessions();
  // Return figures of the cache of compiled programs, return its entries, or
  // clear it. ClearCache returns the number of entries that the cache had.
  // `max_entries` 0 means as many as the daemon allows. CacheEntries returns
  // all entries if the caller is an operator, else those of its tenant.
  // PERMISSION_DENIED: the caller of CacheStatistics or ClearCache is not an
  // operator.
  absl::StatusOr<v1::GetCacheStatisticsResponse> CacheStatistics();
  absl::StatusOr<v1::ListCacheEntriesResponse> CacheEntries(
      uint32_t max_entries = 0);
  absl::StatusOr<v1::ClearCacheResponse> ClearCache();

  // The services' stubs, for the classes that use them.
  DaemonStubs& stubs() const;

  // Converts the status of a call to this daemon. If the connection is broken,
  // returns UNAVAILABLE with the daemon's address. In a forked process, returns
  // FAILED_PRECONDITION.
  absl::Status Explain(const grpc::Status& status) const;

 private:
  Daemon(Address address, std::unique_ptr<EmbeddedDaemon> embedded,
         std::shared_ptr<grpc::Channel> channel);

  const Address address_;
  const std::unique_ptr<EmbeddedDaemon> embedded_;
  const std::shared_ptr<grpc::Channel> channel_;
  const std::unique_ptr<DaemonStubs> stubs_;
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_CONNECTION_DAEMON_H_
