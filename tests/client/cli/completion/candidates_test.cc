// SPDX-License-Identifier: Apache-2.0
#include "client/cli/completion/candidates.h"

#include <gtest/gtest.h>

#include "client/cli/completion/daemon_names.h"

namespace holdfast::cli {
namespace {

using Words = std::vector<std::string>;
using Names = Candidates::Names;

class CandidatesTest : public ::testing::Test {
 protected:
  CandidatesTest() : app_("test", "test") {
    app_.add_option("--address", text_)->type_name("ADDRESS");
    app_.add_subcommand("devices", "Shows\ndevices");
    app_.add_subcommand("secret")->group("");
    CLI::App* sessions = app_.add_subcommand("sessions");
    CLI::App* end = sessions->add_subcommand("end");
    end->add_option("SESSION", text_);
    end->add_option("--to", text_)->type_name("host|FILE");
    end->add_option("--mode", text_)->check(CLI::IsMember({"fast", "slow"}));
    end->add_option("--count", number_);
    end->add_option("--hidden", number_)->group("");
    CLI::App* save = app_.add_subcommand("collection")->add_subcommand("save");
    save->add_option("NAME", text_);
    save->add_option("FILES", files_);
  }

  Words Of(const Words& words) const {
    Words found;
    for (const Candidate& candidate : Complete(app_, words).words) {
      found.push_back(candidate.word);
    }
    return found;
  }

  std::string text_;
  int number_ = 0;
  Words files_;
  CLI::App app_;
};

TEST_F(CandidatesTest, CommandsComeFromTheTable) {
  EXPECT_EQ(Of({""}), (Words{"devices", "sessions", "collection", "help"}));
  EXPECT_EQ(Of({"se"}), Words{"sessions"});
  EXPECT_EQ(Of({"help", "sessions", ""}), Words{"end"});
  EXPECT_EQ(Complete(app_, {"dev"}).words[0].description, "Shows");
}

TEST_F(CandidatesTest, OptionsAreThoseOfTheCommand) {
  EXPECT_EQ(Of({"sessions", "end", "--"}),
            (Words{"--help", "--to", "--mode", "--count"}));
  EXPECT_EQ(Of({"--addr"}), Words{"--address"});
  EXPECT_EQ(Of({"sessions", "end", "--", "--"}), Words{});
}

TEST_F(CandidatesTest, ValuesThatAreListedAreOffered) {
  EXPECT_EQ(Of({"sessions", "end", "--mode", "f"}), Words{"fast"});
  EXPECT_EQ(Of({"sessions", "end", "--mode", "=", "s"}), Words{"slow"});
  EXPECT_EQ(Of({"sessions", "end", "--mode", "="}).size(), 2U);
  const Candidates whole = Complete(app_, {"sessions", "end", "--mode=f"});
  EXPECT_EQ(whole.prefix, "--mode=");
  EXPECT_EQ(whole.words[0].word, "fast");
  EXPECT_EQ(Of({"--address", "u"}), Words{"unix:"});
}

TEST_F(CandidatesTest, FilesAreOfferedWhereTheyCanStand) {
  const Candidates to = Complete(app_, {"sessions", "end", "--to", ""});
  EXPECT_EQ(to.words[0].word, "host");
  EXPECT_TRUE(to.files);
  EXPECT_FALSE(Complete(app_, {"sessions", "end", "--count", ""}).files);
  EXPECT_FALSE(Complete(app_, {""}).files);
  EXPECT_TRUE(Complete(app_, {"collection", "save", "n", "a", ""}).files);
}

TEST_F(CandidatesTest, NamesAreTheDaemonsOfTheAddress) {
  const Candidates session =
      Complete(app_, {"--address=unix:/a", "sessions", "end", "s"});
  EXPECT_EQ(session.names, Names::kSessions);
  EXPECT_EQ(session.address, "unix:/a");
  EXPECT_FALSE(session.files);
  EXPECT_EQ(Complete(app_, {"collection", "save", ""}).names,
            Names::kCollections);
  EXPECT_EQ(Complete(app_, {"sessions", "end", "s-1", ""}).names, Names::kNone);
}

TEST_F(CandidatesTest, NothingIsOfferedForNothing) {
  EXPECT_EQ(Of({}), Words{});
  EXPECT_EQ(Of({"sessions", "end", "--nonsense="}), Words{});
  EXPECT_EQ(Of({"--mode", "="}), Words{});
}

TEST(IsPlainWordTest, NamesThatAShellWouldReadAreNot) {
  EXPECT_TRUE(IsPlainWord("models/tiny-2"));
  for (const char* name :
       {"", "-rf", "$(reboot)", "a b", "a\nb", "a;b", "`b`", "a'b", "~", "*"}) {
    EXPECT_FALSE(IsPlainWord(name)) << name;
  }
}

}  // namespace
}  // namespace holdfast::cli
