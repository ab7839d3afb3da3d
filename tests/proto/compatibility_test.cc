// SPDX-License-Identifier: Apache-2.0
//
// The protocol may grow, and must not change: every field, enum value and rpc
// that the golden file lists has to be there, with the same number, type and
// shape. New ones have to be listed, so that they are guarded from then on.

#include <fstream>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "gtest/gtest.h"
#include "holdfast/v1/admin.pb.h"
#include "holdfast/v1/collections.pb.h"
#include "holdfast/v1/commands.pb.h"
#include "holdfast/v1/compile.pb.h"
#include "holdfast/v1/devices.pb.h"
#include "holdfast/v1/objects.pb.h"
#include "holdfast/v1/sessions.pb.h"
#include "holdfast/v1/transfers.pb.h"

namespace holdfast {
namespace {

using ::google::protobuf::Descriptor;
using ::google::protobuf::EnumDescriptor;
using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::FileDescriptor;
using ::google::protobuf::MethodDescriptor;
using ::google::protobuf::ServiceDescriptor;

using Lines = std::set<std::string>;

std::string TypeOf(const FieldDescriptor& field) {
  if (field.type() == FieldDescriptor::TYPE_MESSAGE) {
    return field.message_type()->full_name();
  }
  if (field.type() == FieldDescriptor::TYPE_ENUM) {
    return field.enum_type()->full_name();
  }
  return field.type_name();
}

void Describe(const EnumDescriptor& type, Lines& lines) {
  for (int i = 0; i < type.value_count(); ++i) {
    lines.insert(absl::StrCat("enum ", type.full_name(), " ",
                              type.value(i)->number(), " ",
                              type.value(i)->name()));
  }
}

void Describe(const Descriptor& message, Lines& lines) {
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    const auto* oneof = field.real_containing_oneof();
    lines.insert(absl::StrCat(
        "field ", message.full_name(), " ", field.number(), " ", field.name(),
        " ", field.is_repeated() ? "repeated " : "", TypeOf(field),
        oneof != nullptr ? absl::StrCat(" oneof ", oneof->name()) : ""));
  }
  for (int i = 0; i < message.nested_type_count(); ++i) {
    Describe(*message.nested_type(i), lines);
  }
  for (int i = 0; i < message.enum_type_count(); ++i) {
    Describe(*message.enum_type(i), lines);
  }
}

void Describe(const ServiceDescriptor& service, Lines& lines) {
  for (int i = 0; i < service.method_count(); ++i) {
    const MethodDescriptor& method = *service.method(i);
    lines.insert(absl::StrCat("rpc ", method.full_name(), " ",
                              method.client_streaming() ? "stream " : "",
                              method.input_type()->full_name(), " -> ",
                              method.server_streaming() ? "stream " : "",
                              method.output_type()->full_name()));
  }
}

// The file and all that it imports of the package.
void Describe(const FileDescriptor& file, Lines& lines) {
  if (file.package() != "holdfast.v1") return;
  for (int i = 0; i < file.dependency_count(); ++i) {
    Describe(*file.dependency(i), lines);
  }
  for (int i = 0; i < file.message_type_count(); ++i) {
    Describe(*file.message_type(i), lines);
  }
  for (int i = 0; i < file.enum_type_count(); ++i) {
    Describe(*file.enum_type(i), lines);
  }
  for (int i = 0; i < file.service_count(); ++i) {
    Describe(*file.service(i), lines);
  }
}

Lines Protocol() {
  Lines lines;
  for (const FileDescriptor* file :
       {v1::GetServerInfoRequest::descriptor()->file(),
        v1::Command::descriptor()->file(),
        v1::ListCollectionsRequest::descriptor()->file(),
        v1::CompileRequest::descriptor()->file(),
        v1::ListDevicesRequest::descriptor()->file(),
        v1::PutObjectRequest::descriptor()->file(),
        v1::OpenSessionRequest::descriptor()->file(),
        v1::UploadRequest::descriptor()->file()}) {
    Describe(*file, lines);
  }
  return lines;
}

Lines Golden() {
  std::ifstream in("tests/proto/holdfast_v1.golden");
  Lines lines;
  for (std::string line; std::getline(in, line);) lines.insert(line);
  return lines;
}

TEST(CompatibilityTest, NothingThatClientsUseIsRemovedOrChanged) {
  const Lines golden = Golden();
  ASSERT_FALSE(golden.empty()) << "no golden file";
  const Lines now = Protocol();
  for (const std::string& line : golden) {
    EXPECT_TRUE(now.count(line)) << "incompatible change; was: " << line;
  }
}

TEST(CompatibilityTest, EverythingNewIsGuarded) {
  const Lines golden = Golden();
  for (const std::string& line : Protocol()) {
    EXPECT_TRUE(golden.count(line))
        << "add to tests/proto/holdfast_v1.golden:\n"
        << line;
  }
}

}  // namespace
}  // namespace holdfast
