// SPDX-License-Identifier: Apache-2.0
#include "client/cli/json_writer.h"

#include <gtest/gtest.h>

namespace holdfast::cli {
namespace {

TEST(JsonWriterTest, NestsAndSeparates) {
  JsonWriter json;
  json.BeginObject()
      .Member("a", 1)
      .BeginArray("b")
      .Value("x")
      .Value(true)
      .EndArray()
      .BeginObject("c")
      .EndObject()
      .Member("d", std::string("y"))
      .EndObject();
  EXPECT_EQ(json.text(), R"({"a": 1, "b": ["x", true], "c": {}, "d": "y"})");
}

TEST(JsonWriterTest, TextIsEscaped) {
  JsonWriter json;
  json.BeginArray().Value("a\"b\\c\n\x01{").Value(1).EndArray();
  EXPECT_EQ(json.text(), R"(["a\"b\\c\u000a\u0001{", 1])");
}

}  // namespace
}  // namespace holdfast::cli
