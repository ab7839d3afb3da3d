// SPDX-License-Identifier: Apache-2.0
//
// Two of our libraries in one process, libholdfast.so.0 and libcuda.so.1, each
// have the messages of holdfast.v1, and share the distribution's
// libprotobuf.so. Its table of message types takes a name once, and ends the
// process at the second try.
//
// protoc gives each .pb.cc a static AddDescriptorsRunner, whose constructor
// registers the file. This constructor, which each of the two libraries keeps
// to itself, takes the place of protobuf's: where the same file is registered
// already, the library uses that registration. Programs that link protobuf's
// archive have one copy of the messages, and do without.
#include <string>
#include <utility>

#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor.pb.h"
#include "google/protobuf/generated_message_reflection.h"
#include "google/protobuf/message.h"

namespace google::protobuf::internal {
namespace {

// Compares contents, too: two versions of our libraries may have different
// files of one name.
bool IsRegistered(const DescriptorTable& table) {
  const FileDescriptor* file =
      DescriptorPool::generated_pool()->FindFileByName(table.filename);
  if (file == nullptr) return false;
  FileDescriptorProto registered, own;
  file->CopyTo(&registered);
  return own.ParseFromArray(table.descriptor, table.size) &&
         own.SerializeAsString() == registered.SerializeAsString();
}

// The loader runs constructors of libraries one at a time.
void Register(const DescriptorTable& table) {
  if (std::exchange(table.is_initialized, true)) return;
  for (int i = 0; i < table.num_deps; ++i) {
    if (table.deps[i] != nullptr) Register(*table.deps[i]);
  }
  if (IsRegistered(table)) return;
  InitProtobufDefaults();
  // Ends the process if another file has one of the names.
  DescriptorPool::InternalAddGeneratedFile(table.descriptor, table.size);
  MessageFactory::InternalRegisterGeneratedFile(&table);
}

}  // namespace

AddDescriptorsRunner::AddDescriptorsRunner(const DescriptorTable* table) {
  Register(*table);
}

}  // namespace google::protobuf::internal
