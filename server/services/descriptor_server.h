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

// Gives descriptors of exported memory to processes of this machine with their
// own CUDA context. A process connects, sends a token and gets the descriptor.
// It keeps the connection open while it uses the memory. The supervisor cannot
// see the mappings of another process, so it holds the memory until the
// connection closes; the kernel closes it if the process dies. Input is
// hostile: the number of connections that have not sent a token is limited, and
// connections that hold memory are shared fairly among the machine's users.
class DescriptorServer {
 public:
  // The most connections that have not sent a token. Beyond, the oldest one is
  // closed.
  static constexpr size_t kMaxSilent = 16;
  // The most connections that hold memory. One user gets at most half
  // (FairShare).
  static constexpr size_t kMaxHolding = 1024;

  // Serves `socket`, a SOCK_SEQPACKET that listens at `path`. The destructor
  // removes the path. `exports` must outlive the server.
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
    std::shared_ptr<SharedChunk> held;  // null: no message yet
    std::unique_ptr<ShareHold> share;   // of holding_; null: no message yet
    // Keeps the process in the list of readers of a collection's version; null:
    // the memory belongs to no collection.
    std::shared_ptr<const collections::OpenVersion> reader;
  };
  using Connections = std::list<Connection>;

  DescriptorServer(UniqueFd socket, UniqueFd stop, std::string path,
                   ExportRegistry& exports);
  void Loop();
  void Accept();
  // Handles input of a connection. Returns false if the connection must be
  // closed.
  bool Attend(Connection& connection);
  // Redeems the token, and sends the descriptor to the connection.
  absl::Status Hand(Connection& connection, const std::string& token);

  const UniqueFd socket_;
  const UniqueFd stop_;  // an eventfd
  const std::string path_;
  ExportRegistry& exports_;
  // Connections that hold memory.
  FairShare holding_{"descriptors of exported memory", kMaxHolding};
  Connections connections_;  // oldest first; used by thread_ only
  std::thread thread_;
};

}  // namespace holdfast

#endif  // HOLDFAST_SERVER_SERVICES_DESCRIPTOR_SERVER_H_
