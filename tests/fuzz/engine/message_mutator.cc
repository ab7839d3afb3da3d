// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/engine/message_mutator.h"

#include <google/protobuf/descriptor.h>

#include <cmath>
#include <limits>
#include <string>

namespace holdfast::fuzz {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

void MessageMutator::Mutate(Message* message, uint64_t edits, Random& random) {
  for (; edits > 0; --edits) {
    // An edit may drop messages, so they are collected anew each time.
    MessageMutator mutator(message, random);
    mutator.Edit(random.Pick(mutator.messages_));
  }
}

MessageMutator::MessageMutator(Message* message, Random& random)
    : random_(random) {
  Collect(message);
}

void MessageMutator::Collect(Message* message) {
  messages_.push_back(message);
  const Reflection& reflection = *message->GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(*message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->is_map()) continue;
    if (field->type() == FieldDescriptor::TYPE_FIXED64) {
      const int count =
          field->is_repeated() ? reflection.FieldSize(*message, field) : 1;
      for (int i = 0; i < count; ++i) {
        handles_.push_back(
            field->is_repeated()
                ? reflection.GetRepeatedUInt64(*message, field, i)
                : reflection.GetUInt64(*message, field));
      }
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      const int count =
          field->is_repeated() ? reflection.FieldSize(*message, field) : 1;
      for (int i = 0; i < count; ++i) {
        Collect(field->is_repeated()
                    ? reflection.MutableRepeatedMessage(message, field, i)
                    : reflection.MutableMessage(message, field));
      }
    }
  }
}

void MessageMutator::Edit(Message* message) {
  const auto& type = *message->GetDescriptor();
  if (type.field_count() == 0) return;
  const Reflection& reflection = *message->GetReflection();
  std::vector<const FieldDescriptor*> present;
  reflection.ListFields(*message, &present);
  // Mostly a field that is there; else any.
  const FieldDescriptor* const field =
      present.empty() || random_.OneIn(4)
          ? type.field(static_cast<int>(random_.Below(type.field_count())))
          : random_.Pick(present);
  if (random_.OneIn(8)) {
    reflection.ClearField(message, field);
  } else if (field->is_map()) {
    return;
  } else if (field->is_repeated()) {
    EditRepeated(message, field);
  } else {
    EditValue(message, field);
  }
}

void MessageMutator::EditRepeated(Message* message, const Field* field) {
  const Reflection& reflection = *message->GetReflection();
  const int size = reflection.FieldSize(*message, field);
  const auto any = [&] { return static_cast<int>(random_.Below(size)); };
  const bool messages = field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
  if (size == 0 || random_.OneIn(4)) {  // One more, mostly a copy.
    if (!messages) {
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_UINT64) {
        reflection.AddUInt64(message, field, NewHandle(0));
      } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_UINT32) {
        reflection.AddUInt32(message, field,
                             static_cast<uint32_t>(NewNumber(0)));
      }
      return;
    }
    Message* const added = reflection.AddMessage(message, field);
    if (size > 0) {
      added->CopyFrom(reflection.GetRepeatedMessage(*message, field, any()));
    }
  } else if (random_.OneIn(3)) {
    reflection.SwapElements(message, field, any(), any());
    reflection.RemoveLast(message, field);
  } else if (messages && random_.OneIn(3)) {
    Edit(reflection.MutableRepeatedMessage(message, field, any()));
  } else {
    reflection.SwapElements(message, field, any(), any());
  }
}

uint64_t MessageMutator::NewHandle(uint64_t old) {
  switch (random_.Below(8)) {
    case 0:
      return random_.Boundary();
    case 1:  // The next generation, or the one before.
      return old + (uint64_t{1} << 32) * (random_.OneIn(2) ? 1 : ~uint64_t{0});
    case 2:  // Another kind.
      return (old & ~(uint64_t{0xff} << 56)) | random_.Below(20) << 56;
    case 3:  // Another index, at the limit or beside this one.
      return random_.OneIn(2) ? old + 1 : (old | random_.Boundary() >> 44);
    default:
      return handles_.empty() ? random_.Next() : random_.Pick(handles_);
  }
}

uint64_t MessageMutator::NewNumber(uint64_t old) {
  switch (random_.Below(6)) {
    case 0:
      return old + 1;
    case 1:
      return old - 1;
    case 2:
      return old * 2;
    case 3:
      return old / 2;
    default:
      return random_.Boundary();
  }
}

void MessageMutator::EditValue(Message* message, const Field* field) {
  const Reflection& reflection = *message->GetReflection();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_UINT64: {
      const uint64_t old = reflection.GetUInt64(*message, field);
      const bool handle = field->type() == FieldDescriptor::TYPE_FIXED64;
      return reflection.SetUInt64(message, field,
                                  handle ? NewHandle(old) : NewNumber(old));
    }
    case FieldDescriptor::CPPTYPE_INT64:
      return reflection.SetInt64(message, field,
                                 static_cast<int64_t>(NewNumber(
                                     reflection.GetInt64(*message, field))));
    case FieldDescriptor::CPPTYPE_UINT32:
      return reflection.SetUInt32(message, field,
                                  static_cast<uint32_t>(NewNumber(
                                      reflection.GetUInt32(*message, field))));
    case FieldDescriptor::CPPTYPE_INT32:
      return reflection.SetInt32(message, field,
                                 static_cast<int32_t>(NewNumber(
                                     reflection.GetInt32(*message, field))));
    case FieldDescriptor::CPPTYPE_ENUM:
      return reflection.SetEnumValue(message, field,
                                     static_cast<int>(random_.Boundary()));
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection.SetBool(message, field,
                                !reflection.GetBool(*message, field));
    case FieldDescriptor::CPPTYPE_FLOAT: {
      constexpr float kFloats[] = {0, -1, 2, INFINITY, -INFINITY, NAN};
      return reflection.SetFloat(message, field, random_.Pick(kFloats));
    }
    case FieldDescriptor::CPPTYPE_DOUBLE: {
      constexpr double kDoubles[] = {0, -1, 2, INFINITY, -INFINITY, NAN};
      return reflection.SetDouble(message, field, random_.Pick(kDoubles));
    }
    case FieldDescriptor::CPPTYPE_STRING: {
      std::string text = reflection.GetString(*message, field);
      if (random_.OneIn(4)) {
        text.resize(random_.Below(100'000), 'x');
      } else if (random_.OneIn(3)) {
        text.resize(random_.Below(text.size() + 1));
      } else if (random_.OneIn(2) && !text.empty()) {
        // Strings stay valid UTF-8, or nothing would be parsed.
        text[random_.Below(text.size())] =
            static_cast<char>(random_.Below(128));
      } else {
        text.clear();
      }
      return reflection.SetString(message, field, text);
    }
    case FieldDescriptor::CPPTYPE_MESSAGE:
      // Sets it; of a oneof, instead of the others.
      return Edit(reflection.MutableMessage(message, field));
  }
}

}  // namespace holdfast::fuzz
