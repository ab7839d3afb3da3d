// SPDX-License-Identifier: Apache-2.0
#include "server/restart/processes_handover.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/unique_fd.h"

namespace holdfast {
namespace {

UniqueFd Descriptor() {
  return UniqueFd(open("/dev/null", O_RDWR | O_CLOEXEC));
}

HandedProcesses TwoChildren() {
  HandedProcesses handed;
  handed.spawner = 7;
  handed.channel = Descriptor();
  for (const uint64_t number : {3, 4}) {
    HandedProcesses::Child child;
    child.record.set_child(number);
    child.record.set_pid(static_cast<int64_t>(100 + number));
    child.record.set_device(static_cast<uint32_t>(number));
    child.record.add_arguments("--role=executor");
    child.process = Descriptor();
    child.channel = Descriptor();
    handed.children.push_back(std::move(child));
  }
  return handed;
}

// The names pass through their text, as by execve.
std::vector<KeptDescriptor> Passed(std::vector<KeptDescriptor> named) {
  for (KeptDescriptor& one : named) {
    one.name = KeptName::Parse(one.name.ToString()).value();
  }
  return named;
}

TEST(ProcessesHandoverTest, TheNextDaemonGetsEveryProcess) {
  auto named = Passed(NameProcesses(TwoChildren()).value());
  named.push_back({{"listener", {1}}, Descriptor()});
  const HandedProcesses taken = TakeProcesses(&named);
  ASSERT_EQ(named.size(), 1u);
  EXPECT_EQ(named[0].name.kind, "listener");
  EXPECT_EQ(taken.spawner, 7);
  EXPECT_TRUE(taken.channel.valid());
  ASSERT_EQ(taken.children.size(), 2u);
  EXPECT_EQ(taken.children[1].record.pid(), 104);
  EXPECT_EQ(taken.children[1].record.device(), 4u);
  EXPECT_EQ(taken.children[1].record.arguments(0), "--role=executor");
  EXPECT_TRUE(taken.children[1].process.valid());
  EXPECT_TRUE(taken.children[1].channel.valid());
}

TEST(ProcessesHandoverTest, AProcessWithoutAllOfItsDescriptorsIsLeftOut) {
  auto named = NameProcesses(TwoChildren()).value();
  std::erase_if(named, [](const KeptDescriptor& one) {
    return one.name.kind == "process" && one.name.numbers.front() == 3;
  });
  const HandedProcesses taken = TakeProcesses(&named);
  ASSERT_EQ(taken.children.size(), 1u);
  EXPECT_EQ(taken.children[0].record.child(), 4u);
  EXPECT_TRUE(named.empty());
}

TEST(ProcessesHandoverTest, WithoutARecordThereAreNoProcesses) {
  auto named = NameProcesses(TwoChildren()).value();
  std::erase_if(named, [](const KeptDescriptor& one) {
    return one.name.kind == "processes";
  });
  EXPECT_EQ(TakeProcesses(&named).spawner, 0);
  EXPECT_TRUE(named.empty());
}

}  // namespace
}  // namespace holdfast
