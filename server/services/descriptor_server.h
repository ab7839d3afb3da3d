// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_SERVER_SERVICES_DESCRIPTOR_SERVER_H_
#define HOLDFAST_SERVER_SERVICES_DESCRIPTOR_SERVER_H_

#include <cstddef>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/unique_fd.h"
#include "server/rpc/fair_share.h"
#include "server/sharing/export_registry.h"

namespace holdfast {

// Where processes of this machine that have a CUDA context of their own take
// descriptors of exported memory: one message with a token, answered by one
// with the descriptor; the connection then stays open for as long as the
// process uses the memory. The supervisor cannot see another process's
// mappings, so it counts the memory until that connection closes, which the
// kernel does for a process that dies. Its input is hostile: connections
// that say nothing do not pile up, and those that hold memory are shared fairly
// among the users of the machine.
class DescriptorServer {
 public:
  static constexpr size_t kMaxSilent = 16;  // the oldest goes
  // All users share it as FairShare says: one alone gets half.
  static constexpr size_t kMaxHolding = 1024;

  // Serves `socket`, of type SOCK_SEQPACKET, which listens at `path` and is
  // removed in the end. `exports` must outlive the server.
  static absl::StatusOr<std::unique_ptr<DescriptorServer>> Serve(
      UniqueFd socket, std::string path, ExportRegistry& exports);
  ~DescriptorServer();
  DescriptorServer(const DescriptorServer&) = delete;
  DescriptorServer& operator=(const DescriptorServer&) = delete;

  // "unix:/path"
  std::string address() const { return "unix:" + path_; }

 private:
  struct Connection {
    UniqueFd socket;
    std::shared_ptr<SharedChunk> held;  // null: has said nothing yet
    std::unique_ptr<ShareHold> share;   // of holding_; null likewise
    // The process as a reader of a collection's version; null: of none.
    std::shared_ptr<const collections::OpenVersion> reader;
  };
  using Connections = std::list<Connection>;

  DescriptorServer(UniqueFd socket, UniqueFd stop, std::string path,
                   ExportRegistry& exports);
  void Loop();
  void Accept();
  // Takes note of what a connection says; false: it ends.
  bool Attend(Connection& connection);
  absl::Status Hand(Connection& connection, const std::string& token);

  const UniqueFd socket_;
  const UniqueFd stop_;  // an eventfd
  const std::string path_;
  ExportRegistry& exports_;
  // Connections that hold memory.
  FairShare holding_{"descriptors of exported memory", kMaxHolding};
  Connections connections_;  // of the thread; the oldest first
  std::thread thread_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SERVICES_DESCRIPTOR_SERVER_H_
