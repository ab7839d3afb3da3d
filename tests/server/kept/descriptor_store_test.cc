// SPDX-License-Identifier: Apache-2.0
#include "server/kept/descriptor_store.h"

#include <linux/kcmp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

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
    address_.assign(address.sun_path, size - offsetof(sockaddr_un, sun_path));
    address_[0] = '@';
    setenv("NOTIFY_SOCKET", address_.c_str(), 1);
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

  // The next message's descriptor.
  UniqueFd TakeDescriptor() {
    char text[512];
    iovec bytes = {.iov_base = text, .iov_len = sizeof text};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message = {};
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    if (recvmsg(manager_.get(), &message, MSG_DONTWAIT) < 0) return UniqueFd();
    const cmsghdr* const header = CMSG_FIRSTHDR(&message);
    if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return UniqueFd();
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
    return UniqueFd(fd);
  }

  const UniqueFd manager_;
  std::string address_;
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
  // At no instant the manager has none.
  EXPECT_EQ(Told(), (Lines{"FDSTORE=1\nFDPOLL=0\nFDNAME=hf.session.1~1",
                           "FDSTOREREMOVE=1\nFDNAME=hf.session.1"}));
  ASSERT_EQ(store.CopyAll().size(), 1u);
  EXPECT_EQ(store.CopyAll()[0].name.ToString(), "hf.session.1~1");
  kept = DescriptorStore::Kept();
  EXPECT_EQ(Told(), Lines{"FDSTOREREMOVE=1\nFDNAME=hf.session.1~1"});
}

TEST_F(DescriptorStoreTest, WithoutRoomForBothOneTakesTheOthersPlace) {
  setenv("FDSTORE", "1", 1);
  DescriptorStore store;
  store.Settle();
  auto kept = store.Keep({"chunk", {1}}, memory_.get());
  Told();
  {
    const auto next =
        store.KeepInPlaceOf({"chunk", {1}}, {"saved", {1}}, memory_.get());
    EXPECT_TRUE(Told().empty());
  }
  // That one was given up.
  EXPECT_TRUE(Told().empty());
  auto next =
      store.KeepInPlaceOf({"chunk", {1}}, {"saved", {1}}, memory_.get());
  kept = DescriptorStore::Kept();
  EXPECT_EQ(Told(), (Lines{"FDSTOREREMOVE=1\nFDNAME=hf.chunk.1",
                           "FDSTORE=1\nFDPOLL=0\nFDNAME=hf.saved.1"}));
  next = DescriptorStore::Kept();
  EXPECT_EQ(Told(), Lines{"FDSTOREREMOVE=1\nFDNAME=hf.saved.1"});
}

TEST_F(DescriptorStoreTest, WithRoomForBothNeitherIsMissingAtAnyInstant) {
  DescriptorStore store;
  store.Settle();
  auto kept = store.Keep({"chunk", {1}}, memory_.get());
  Told();
  const auto next =
      store.KeepInPlaceOf({"chunk", {1}}, {"saved", {1}}, memory_.get());
  kept = DescriptorStore::Kept();
  EXPECT_EQ(Told(), (Lines{"FDSTORE=1\nFDPOLL=0\nFDNAME=hf.saved.1",
                           "FDSTOREREMOVE=1\nFDNAME=hf.chunk.1"}));
}

TEST_F(DescriptorStoreTest, OfTwoVersionsTheNewerIsKeptAndTheOtherGoes) {
  DescriptorStore store({"hf.chunk.1~f", "hf.chunk.1~10", "hf.chunk.11"});
  auto kept = store.Keep({"chunk", {1}}, memory_.get());
  EXPECT_TRUE(Told().empty());
  store.Settle();
  EXPECT_EQ(Told(), (Lines{"FDSTOREREMOVE=1\nFDNAME=hf.chunk.11",
                           "FDSTOREREMOVE=1\nFDNAME=hf.chunk.1~f"}));
  kept = store.Keep({"chunk", {1}}, memory_.get());
  EXPECT_EQ(Told(), (Lines{"FDSTORE=1\nFDPOLL=0\nFDNAME=hf.chunk.1~11",
                           "FDSTOREREMOVE=1\nFDNAME=hf.chunk.1~10"}));
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

TEST_F(DescriptorStoreTest, AnInheritedDescriptorStaysWithTheManagerUntouched) {
  DescriptorStore store({"hf.chunk.1", "hf.chunk.2"});
  auto stays = store.Keep({"chunk", {1}}, memory_.get());
  { const auto goes = store.Keep({"chunk", {2}}, memory_.get()); }
  // A kill at this instant loses neither.
  EXPECT_TRUE(Told().empty());
  store.Settle();
  EXPECT_EQ(Told(), Lines{"FDSTOREREMOVE=1\nFDNAME=hf.chunk.2"});
  stays = DescriptorStore::Kept();
  EXPECT_EQ(Told(), Lines{"FDSTOREREMOVE=1\nFDNAME=hf.chunk.1"});
}

TEST_F(DescriptorStoreTest, AnInheritedRecordIsReplacedByTheOneThatHolds) {
  DescriptorStore store({"hf.version.1"});
  const auto kept =
      store.KeepRecord({"version", {1}}, internal::VersionRecord());
  EXPECT_EQ(Told(), (Lines{"FDSTORE=1\nFDPOLL=0\nFDNAME=hf.version.1~1",
                           "FDSTOREREMOVE=1\nFDNAME=hf.version.1"}));
  store.Settle();
  EXPECT_TRUE(Told().empty());
}

// A manager drops what it has no room for without a word.
TEST_F(DescriptorStoreTest, AFullManagerLetsGoOfTheOldRecordFirst) {
  DescriptorStore store({"hf.version.1", "hf.version.2", "hf.version.3"});
  const auto kept =
      store.KeepRecord({"version", {1}}, internal::VersionRecord());
  EXPECT_EQ(Told(), (Lines{"FDSTOREREMOVE=1\nFDNAME=hf.version.1",
                           "FDSTORE=1\nFDPOLL=0\nFDNAME=hf.version.1~1"}));
}

// systemd takes two descriptors of one open file description for one.
TEST_F(DescriptorStoreTest, TwoNamesOfOneFileGetDescriptionsOfTheirOwn) {
  DescriptorStore store;
  const auto first = store.Keep({"code", {1, 5}}, memory_.get());
  const auto second = store.Keep({"code", {2, 5}}, memory_.get());
  const UniqueFd a = TakeDescriptor();
  const UniqueFd b = TakeDescriptor();
  ASSERT_TRUE(a.valid() && b.valid());
  const auto same = [](int one, int other) {
    return syscall(SYS_kcmp, getpid(), getpid(), KCMP_FILE, one, other);
  };
  if (same(a.get(), a.get()) != 0) GTEST_SKIP() << "the kernel has no kcmp";
  EXPECT_NE(same(a.get(), b.get()), 0);
  EXPECT_NE(same(a.get(), memory_.get()), 0);
  struct stat kept = {}, own = {};
  ASSERT_EQ(fstat(a.get(), &kept), 0);
  ASSERT_EQ(fstat(memory_.get(), &own), 0);
  EXPECT_EQ(kept.st_ino, own.st_ino);
}

TEST_F(DescriptorStoreTest, HandsOverNoMoreThanTheManagerHolds) {
  DescriptorStore store;
  std::vector<DescriptorStore::Kept> kept;
  for (uint64_t i = 0; i < 5; ++i) {
    kept.push_back(store.Keep({"chunk", {i}}, memory_.get()));
  }
  EXPECT_EQ(Told().size(), 3u);
  EXPECT_EQ(store.CopyAll().size(), 5u);
}

// The manager has died, and another one knows nothing.
TEST_F(DescriptorStoreTest, MovesEverythingUnderItsNamesToAnotherManager) {
  DescriptorStore store;
  store.Settle();
  auto chunk = store.Keep({"chunk", {1}}, memory_.get());
  auto record = store.Keep({"session", {1}}, memory_.get());
  record = store.Keep({"session", {1}}, memory_.get());
  Told();
  setenv("NOTIFY_SOCKET", "@holdfast-no-such-manager", 1);
  auto late = store.Keep({"chunk", {2}}, memory_.get());
  const auto moved = store.MoveTo([this] {
    setenv("NOTIFY_SOCKET", address_.c_str(), 1);
    return absl::OkStatus();
  });
  EXPECT_EQ(moved.value_or(0), 3u);
  EXPECT_EQ(Told(), (Lines{"FDSTORE=1\nFDPOLL=0\nFDNAME=hf.chunk.1",
                           "FDSTORE=1\nFDPOLL=0\nFDNAME=hf.chunk.2",
                           "FDSTORE=1\nFDPOLL=0\nFDNAME=hf.session.1~1"}));
  late = DescriptorStore::Kept();  // The manager is full.
  EXPECT_EQ(Told(), Lines{"FDSTOREREMOVE=1\nFDNAME=hf.chunk.2"});
  record = store.Keep({"session", {1}}, memory_.get());
  EXPECT_EQ(Told(), (Lines{"FDSTORE=1\nFDPOLL=0\nFDNAME=hf.session.1~2",
                           "FDSTOREREMOVE=1\nFDNAME=hf.session.1~1"}));
}

TEST_F(DescriptorStoreTest, AMoveThatFailsCanBeTriedAgain) {
  DescriptorStore store;
  store.Settle();
  const auto kept = store.Keep({"chunk", {1}}, memory_.get());
  Told();
  EXPECT_TRUE(absl::IsNotFound(
      store.MoveTo([] { return absl::NotFoundError("none"); }).status()));
  const auto gone = store.MoveTo([] {
    setenv("NOTIFY_SOCKET", "@holdfast-no-such-manager", 1);
    return absl::OkStatus();
  });
  EXPECT_TRUE(absl::IsUnavailable(gone.status())) << gone.status();
  setenv("NOTIFY_SOCKET", address_.c_str(), 1);
  EXPECT_EQ(store.MoveTo([] { return absl::OkStatus(); }).value_or(0), 1u);
  EXPECT_EQ(Told(), Lines{"FDSTORE=1\nFDPOLL=0\nFDNAME=hf.chunk.1"});
}

TEST_F(DescriptorStoreTest, NamesFitIntoTheEnvironmentExceptThroughAKeeper) {
  setenv("FDSTORE", "60000", 1);
  size_t told[2] = {};
  for (const bool keeper : {false, true}) {
    if (keeper) setenv("HOLDFAST_KEEPER", "1", 1);
    DescriptorStore store;
    std::vector<DescriptorStore::Kept> kept;
    for (uint64_t i = 0; i < 2100; ++i) {
      kept.push_back(store.Keep({"chunk", {i}}, memory_.get()));
      told[keeper] += Told().size();
    }
    while (!kept.empty()) {
      kept.pop_back();
      Told();  // Its queue is short.
    }
  }
  unsetenv("HOLDFAST_KEEPER");
  EXPECT_EQ(told[0], 2000u);
  EXPECT_EQ(told[1], 2100u);
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
