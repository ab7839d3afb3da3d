// SPDX-License-Identifier: Apache-2.0
#include "server/compile/compile_key.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace holdfast {
namespace {

v1::CompileRequest Request() {
  v1::CompileRequest request;
  request.set_source("source");
  request.set_language(v1::SOURCE_LANGUAGE_CUDA_CPP);
  request.set_name("a.cu");
  request.set_target(v1::OBJECT_FORMAT_PTX);
  request.set_arch("90");
  request.add_options("-DA");
  request.add_options("-DB");
  request.add_name_expressions("f<int>");
  (*request.mutable_headers())["a.h"] = "1";
  (*request.mutable_headers())["b.h"] = "2";
  return request;
}

using Change = std::function<void(v1::CompileRequest*)>;

const std::map<std::string, Change>& Changes() {
  static const auto& changes = *new std::map<std::string, Change>{
      {"source", [](auto* r) { r->set_source("sourcf"); }},
      {"language",
       [](auto* r) { r->set_language(v1::SOURCE_LANGUAGE_NVVM_IR); }},
      {"name", [](auto* r) { r->set_name("b.cu"); }},
      {"target", [](auto* r) { r->set_target(v1::OBJECT_FORMAT_CUBIN); }},
      {"arch", [](auto* r) { r->set_arch("90a"); }},
      {"options", [](auto* r) { r->add_options("-DC"); }},
      {"name_expressions",
       [](auto* r) { r->set_name_expressions(0, "f<long>"); }},
      {"headers", [](auto* r) { (*r->mutable_headers())["a.h"] = "3"; }},
      {"extra_sources",
       [](auto* r) { r->add_extra_sources()->set_source("more"); }}};
  return changes;
}

v1::LinkRequest Link() {
  v1::LinkRequest request;
  request.set_target(v1::OBJECT_FORMAT_CUBIN);
  request.set_arch("90");
  request.add_options("-lto");
  v1::LinkInput& input = *request.add_inputs();
  input.set_sha256("a");
  input.set_format(v1::OBJECT_FORMAT_LTOIR);
  input.set_name("a");
  return request;
}

TEST(CompileKeyTest, EqualRequestsHaveEqualKeys) {
  EXPECT_EQ(CompileKey("NVRTC", Request()).size(), 32u);
  v1::CompileRequest other = Request();
  other.clear_headers();
  (*other.mutable_headers())["b.h"] = "2";
  (*other.mutable_headers())["a.h"] = "1";
  EXPECT_EQ(CompileKey("NVRTC", Request()), CompileKey("NVRTC", other));
}

TEST(CompileKeyTest, EveryFieldChangesTheKey) {
  std::set<std::string> keys = {CompileKey("NVRTC", Request())};
  const auto* descriptor = v1::CompileRequest::descriptor();
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const std::string& field = descriptor->field(i)->name();
    ASSERT_TRUE(Changes().contains(field)) << field << " needs a change here";
    v1::CompileRequest request = Request();
    Changes().at(field)(&request);
    EXPECT_TRUE(keys.insert(CompileKey("NVRTC", request)).second) << field;
  }
}

TEST(LinkKeyTest, EveryFieldAndEveryPartOfAnInputChangesTheKey) {
  using LinkChange = std::function<void(v1::LinkRequest*)>;
  const std::vector<LinkChange> changes = {
      [](auto* r) { r->set_target(v1::OBJECT_FORMAT_PTX); },
      [](auto* r) { r->set_arch("90a"); },
      [](auto* r) { r->add_options("-G"); },
      [](auto* r) { r->mutable_inputs(0)->set_sha256("b"); },
      [](auto* r) { r->mutable_inputs(0)->set_format(v1::OBJECT_FORMAT_PTX); },
      [](auto* r) { r->mutable_inputs(0)->set_name("b"); },
      [](auto* r) { *r->add_inputs() = r->inputs(0); }};
  std::set<std::string> keys = {LinkKey("nvJitLink", Link()),
                                LinkKey("nvJitLink 2", Link())};
  ASSERT_EQ(keys.size(), 2u);
  EXPECT_EQ(LinkKey("nvJitLink", Link()), LinkKey("nvJitLink", Link()));
  for (const LinkChange& change : changes) {
    v1::LinkRequest request = Link();
    change(&request);
    EXPECT_TRUE(keys.insert(LinkKey("nvJitLink", request)).second)
        << request.DebugString();
  }
}

TEST(CompileKeyTest, AnotherCompilerHasAnotherKey) {
  EXPECT_NE(CompileKey("NVRTC 13.0", Request()),
            CompileKey("NVRTC 13.1", Request()));
}

TEST(CompileKeyTest, BytesCannotMoveBetweenFields) {
  v1::CompileRequest one = Request(), two = Request(), swapped = Request();
  one.set_options(0, "-DA-DB");
  one.mutable_options()->RemoveLast();
  EXPECT_NE(CompileKey("NVRTC", one), CompileKey("NVRTC", two));
  swapped.mutable_options()->SwapElements(0, 1);
  EXPECT_NE(CompileKey("NVRTC", swapped), CompileKey("NVRTC", two));
  two.set_source("");
  EXPECT_NE(CompileKey("NVRTC" + two.SerializeAsString(), {}),
            CompileKey("NVRTC", two));
}

}  // namespace
}  // namespace holdfast
