// SPDX-License-Identifier: Apache-2.0
//
// Processes that take descriptors of exported memory, and one user of them that
// wants all there are.
#include "server/services/descriptor_server.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "core/base/memfd.h"
#include "server/collections/collection.h"
#include "server/memory/device_memory.h"
#include "server/rpc/unix_socket.h"

namespace holdfast {
namespace {

constexpr uint64_t kSize = 4096;

class DescriptorServerTest : public testing::Test {
 protected:
  DescriptorServerTest() {
    char name[] = "/tmp/holdfast-descriptors-XXXXXX";
    directory_ = mkdtemp(name);
    std::filesystem::permissions(directory_, std::filesystem::perms::all);
    path_ = directory_ + "/socket";
    server_ = DescriptorServer::Serve(
                  ListenOnUnixSocket(path_, SOCK_SEQPACKET, 0666).value(),
                  path_, exports_)
                  .value();
  }
  ~DescriptorServerTest() override {
    server_ = nullptr;
    std::filesystem::remove_all(directory_);
  }

  // A token that can be redeemed many times, perhaps of a collection.
  std::string Export(
      std::shared_ptr<const collections::OpenVersion> version = nullptr) {
    memory_.NoteTaken(0, kSize);
    UniqueFd fd = CreateMemfd("chunk", kSize).value();
    EXPECT_EQ(fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
    SharedResource resource;
    resource.kind = v1::HANDLE_KIND_BUFFER;
    resource.chunk = std::make_shared<SharedChunk>(SharedChunk::Options{
        .descriptor = std::move(fd),
        .size = kSize,
        .owner_ended = std::make_shared<std::atomic<bool>>(false),
        .memory = &memory_});
    resource.size = kSize;
    resource.rights = v1::RIGHTS_READ;
    resource.version = std::move(version);
    v1::ExportResource terms;
    terms.set_rights(v1::RIGHTS_READ);
    terms.set_max_imports(ExportRegistry::kMaxImports);
    terms.set_foreign(v1::FOREIGN_HANDLE_POSIX_DESCRIPTOR);
    return exports_.Export("s-1", std::move(resource), terms).value();
  }

  // Connects and says the token. Returns the server's answer: one zero byte, or
  // why it refuses.
  std::string Take(const std::string& token, UniqueFd* connection) const {
    connection->Reset(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof address.sun_path - 1);
    if (connect(connection->get(), reinterpret_cast<sockaddr*>(&address),
                sizeof address) != 0) {
      return "no connection";
    }
    send(connection->get(), token.data(), token.size(), MSG_NOSIGNAL);
    char text[256];
    const ssize_t size = recv(connection->get(), text, sizeof text, 0);
    return size < 0 ? "no answer" : std::string(text, size);
  }

  std::string directory_;
  std::string path_;
  DeviceMemory memory_;
  ExportRegistry exports_;
  std::unique_ptr<DescriptorServer> server_;
};

const std::string kTaken(1, '\0');

TEST_F(DescriptorServerTest, OneUserHoldsNoMoreThanHalf) {
  const std::string token = Export();
  std::vector<UniqueFd> held;
  for (size_t i = 0; i < DescriptorServer::kMaxHolding / 2; ++i) {
    ASSERT_EQ(Take(token, &held.emplace_back()), kTaken) << i;
  }
  UniqueFd more;
  EXPECT_NE(Take(token, &more).find("over this client's share"),
            std::string::npos);
  // A refusal costs the token nothing, and one that closes makes room.
  held.pop_back();
  std::string answer;
  while ((answer = Take(token, &more)) != kTaken) {
    ASSERT_NE(answer.find("over this client's share"), std::string::npos);
  }
}

TEST_F(DescriptorServerTest, AnotherUserStillFindsRoom) {
  const std::string token = Export();
  std::vector<UniqueFd> held;
  while (Take(token, &held.emplace_back()) == kTaken) {
  }
  std::string answer;
  // The bare call changes this thread's user alone.
  std::thread([&] {
    if (syscall(SYS_setresuid, -1, 12345, -1) != 0) return;
    UniqueFd connection;
    answer = Take(token, &connection);
  }).join();
  if (answer.empty()) GTEST_SKIP() << "this process cannot be another user";
  EXPECT_EQ(answer, kTaken);
}

TEST_F(DescriptorServerTest, AProcessIsAReaderUntilItsConnectionCloses) {
  const auto readers = std::make_shared<collections::Readers>();
  const std::string token =
      Export(std::make_shared<const collections::OpenVersion>(
          std::make_shared<const collections::CollectionVersion>(), readers,
          "s-1"));
  const std::string self = absl::StrCat("pid ", getpid());
  EXPECT_EQ(readers->List(), std::set<std::string>{"s-1"});
  {
    UniqueFd connection;
    ASSERT_EQ(Take(token, &connection), kTaken);
    EXPECT_EQ(readers->List(), (std::set<std::string>{self, "s-1"}));
  }
  while (readers->List().contains(self)) absl::SleepFor(absl::Milliseconds(1));
}

TEST_F(DescriptorServerTest, UnknownTokensHoldNothing) {
  const std::string token = Export();
  for (size_t i = 0; i < 2 * DescriptorServer::kMaxHolding; ++i) {
    UniqueFd connection;
    ASSERT_NE(Take(std::string(ExportRegistry::kTokenBytes, 'x'), &connection),
              kTaken);
  }
  UniqueFd connection;
  EXPECT_EQ(Take(token, &connection), kTaken);
}

}  // namespace
}  // namespace holdfast
