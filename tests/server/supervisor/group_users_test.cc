// SPDX-License-Identifier: Apache-2.0
#include "server/supervisor/group_users.h"

#include <gtest/gtest.h>

#include <memory>

namespace holdfast::supervisor {
namespace {

class GroupUsersTest : public testing::Test {
 protected:
  // Two users that no process of a machine has.
  const std::shared_ptr<UserRange> range_ =
      UserRange::Parse("2000000001-2000000002").value();
  GroupUsers users_{[this] {
    return std::make_shared<const UserRange::Lease>(UserRange::Take(range_));
  }};
};

TEST_F(GroupUsersTest, ExecutorsOfAGroupHaveOneUserWhileThePolicyHasTheGroup) {
  const uid_t first = users_.Of("a")->user();
  EXPECT_NE(first, 0u);
  EXPECT_EQ(users_.Of("a")->user(), first);
  EXPECT_NE(users_.Of("b")->user(), first);
  users_.Retain({{.group = "a", .thread_percentage = 10}, {.group = "b"}});
  EXPECT_EQ(users_.Of("a")->user(), first);
}

TEST_F(GroupUsersTest, AGroupThatIsGoneGivesItsUserBackWithItsLastExecutor) {
  GroupUsers::Lease executor = users_.Of("a");
  const uid_t first = executor->user();
  EXPECT_NE(users_.Of("b")->user(), 0u);
  users_.Retain({{.group = "b"}});
  EXPECT_EQ(users_.Of("c")->user(), 0u);
  executor = nullptr;
  EXPECT_EQ(users_.Of("c")->user(), first);
}

TEST_F(GroupUsersTest, AGroupThatComesBackHasTheUserOfItsExecutors) {
  const GroupUsers::Lease executor = users_.Of("a");
  users_.Retain({});
  EXPECT_EQ(users_.Of("a"), executor);
}

TEST_F(GroupUsersTest, AGroupThatFoundNoUserAsksAgain) {
  GroupUsers::Lease other = users_.Of("a");
  EXPECT_NE(users_.Of("b")->user(), 0u);
  EXPECT_EQ(users_.Of("c")->user(), 0u);
  other = nullptr;
  users_.Retain({{.group = "b"}, {.group = "c"}});
  EXPECT_NE(users_.Of("c")->user(), 0u);
}

}  // namespace
}  // namespace holdfast::supervisor
