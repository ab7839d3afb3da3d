// SPDX-License-Identifier: Apache-2.0
#include "server/restart/descriptor_store.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/base/memfd.h"
#include "gtest/gtest.h"
#include "holdfast/internal/restart.pb.h"

namespace holdfast {
namespace {

// A service manager: all that it is told, in order.
class DescriptorStoreTest : public testing::Test {
 protected:
  DescriptorStoreTest()
      : manager_(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    bind(manager_.get(), reinterpret_cast<sockaddr*>(&address),
         sizeof(sa_family_t));
    socklen_t size = sizeof address;
    getsockname(manager_.get(), reinterpret_cast<sockaddr*>(&address), &size);
    std::string path(address.sun_path, size - offsetof(sockaddr_un, sun_path));
    path[0] = '@';
    setenv("NOTIFY_SOCKET", path.c_str(), 1);
    setenv("FDSTORE", "3", 1);
  }
  ~DescriptorStoreTest() override {
    unsetenv("NOTIFY_SOCKET");
    unsetenv("FDSTORE");
  }

  std::vector<std::string> Told() {
    std::vector<std::string> all;
    char text[512];
    ssize_t size = 0;
    while ((size = recv(manager_.get(), text, sizeof text, MSG_DONTWAIT)) > 0) {
      all.emplace_back(text, static_cast<size_t>(size));
    }
    return all;
  }

  const UniqueFd manager_;
  const UniqueFd memory_ = *CreateMemfd("kept", 4096);
};

using Lines = std::vector<std::string>;

TEST_F(DescriptorStoreTest, TellsTheManagerForAsLongAsItIsKept) {
  DescriptorStore store;
  EXPECT_TRUE(store.outlives_kill());
  store.Settle();
  {
    const auto kept = store.Keep({"chunk", {7}}, memory_.get());
    EXPECT_EQ(Told(), Lines{"FDSTORE=1\nFDPOLL=0\nFDNAME=hf.chunk.7"});
  }
  EXPECT_EQ(Told(), Lines{"FDSTOREREMOVE=1\nFDNAME=hf.chunk.7"});
}

TEST_F(DescriptorStoreTest, AnewUnderTheSameNameReplaces) {
  DescriptorStore store;
  store.Settle();
  auto kept = store.Keep({"session", {1}}, memory_.get());
  Told();
  kept = store.Keep({"session", {1}}, memory_.get());
  EXPECT_EQ(Told(), (Lines{"FDSTOREREMOVE=1\nFDNAME=hf.session.1",
                           "FDSTORE=1\nFDPOLL=0\nFDNAME=hf.session.1"}));
  EXPECT_EQ(store.CopyAll().size(), 1u);
}

TEST_F(DescriptorStoreTest, LetsGoOfNothingBeforeTheStartHasSucceeded) {
  DescriptorStore store({"hf.session.1", "hf.session.2"});
  { const auto kept = store.Keep({"chunk", {9}}, memory_.get()); }
  const auto kept = store.Keep({"session", {2}}, memory_.get());
  for (const std::string& told : Told()) {
    EXPECT_EQ(told.find("hf.session.1"), std::string::npos) << told;
  }
  store.Settle();
  EXPECT_EQ(Told(), Lines{"FDSTOREREMOVE=1\nFDNAME=hf.session.1"});
}

TEST_F(DescriptorStoreTest, WithoutAManagerItKeepsForAnUpgradeOnly) {
  unsetenv("FDSTORE");
  DescriptorStore store;
  EXPECT_FALSE(store.outlives_kill());
  const auto kept = store.Keep({"chunk", {7}}, memory_.get());
  EXPECT_TRUE(Told().empty());
  const auto all = store.CopyAll();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_NE(all[0].fd.get(), memory_.get());
}

TEST_F(DescriptorStoreTest, ReadsRecordsThatNobodyCanHaveChanged) {
  DescriptorStore store;
  internal::CollectionRecord record;
  record.set_name("weights");
  const auto kept = store.KeepRecord({"collection", {1}}, record);
  internal::CollectionRecord read;
  const auto all = store.CopyAll();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_TRUE(ReadRecord(all[0].fd.get(), &read).ok());
  EXPECT_EQ(read.name(), "weights");

  EXPECT_TRUE(absl::IsInvalidArgument(ReadRecord(memory_.get(), &read)));
  EXPECT_TRUE(absl::IsInvalidArgument(ReadRecord(manager_.get(), &read)));
  EXPECT_TRUE(absl::IsInvalidArgument(ReadRecord(-1, &read)));
  const UniqueFd noise = *CreateSealedMemfd("noise", "\xff\xff\xff");
  EXPECT_TRUE(absl::IsInvalidArgument(ReadRecord(noise.get(), &read)));
}

}  // namespace
}  // namespace holdfast
