// SPDX-License-Identifier: Apache-2.0
//
// The programs of a batch are one shared library, each in a namespace of its
// own. Floating point is that of IEEE 754 as it is written, integers wrap.
#include "tests/conformance/random_c/reference.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"

namespace holdfast::random_c {
namespace {

constexpr char kOptions[] =
    " -std=c++17 -O1 -w -fPIC -shared -fwrapv -fno-strict-aliasing"
    " -ffp-contract=off ";

// A folder that goes with its files.
class Folder {
 public:
  Folder() {
    std::string name =
        (std::filesystem::temp_directory_path() / "random_c.XXXXXX").string();
    if (mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~Folder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string File(const std::string& name) const {
    return absl::StrCat(path_, "/", name);
  }

 private:
  std::string path_;
};

std::string Compiler() {
  const char* chosen = getenv("CXX");
  if (chosen != nullptr && *chosen != '\0') return chosen;
  for (const char* name : {"clang++", "clang++-19", "g++", "c++"}) {
    if (access(absl::StrCat("/usr/bin/", name).c_str(), X_OK) == 0) return name;
  }
  return "c++";
}

std::string ContentsOf(const std::string& file) {
  std::ifstream from(file);
  return {std::istreambuf_iterator<char>(from), {}};
}

std::string Number(const char* name, size_t i) {
  return absl::StrCat(name, "_", i);
}

std::string TextOf(const std::vector<Program>& programs,
                   const std::set<int>& without) {
  std::string text = kPrelude;
  for (size_t i = 0; i < programs.size(); ++i) {
    absl::StrAppend(&text, "#define Fill Fill_", i, "\n#define Run Run_", i,
                    "\nnamespace n", i, " {\nusing ::hash;\n",
                    DeviceTextOf(programs[i], without), programs[i].host,
                    "}\n#undef Fill\n#undef Run\n");
  }
  return text;
}

using Fill = uint64_t(uint32_t, uint8_t*);
using Run = void(uint8_t**);

// Runs the program over all its threads.
void MakeCase(const Program& program, const std::set<int>& without, Fill* fill,
              Run* run, Case* one) {
  one->seed = program.seed;
  one->blocks = program.blocks;
  one->width = program.width;
  one->height = program.height;
  one->source = DeviceTextOf(program, without);
  one->parameters = program.parameters;
  for (uint32_t i = 0; i < program.parameters.size(); ++i) {
    Bytes bytes(fill(i, nullptr));
    fill(i, bytes.data());
    one->inputs.push_back(std::move(bytes));
  }
  one->expected = one->inputs;
  std::vector<uint8_t*> arguments;
  for (Bytes& bytes : one->expected) arguments.push_back(bytes.data());
  run(arguments.data());
}

template <typename T>
void Put(const T& value, std::ostream& to) {
  to.write(reinterpret_cast<const char*>(&value), sizeof(value));
}

template <typename T>
void Get(T* value, std::istream& from) {
  from.read(reinterpret_cast<char*>(value), sizeof(*value));
}

template <typename List>
void PutList(const List& list, std::ostream& to) {
  Put<uint64_t>(list.size(), to);
  to.write(reinterpret_cast<const char*>(list.data()),
           static_cast<std::streamsize>(list.size()));
}

template <typename List>
void GetList(List* list, std::istream& from) {
  uint64_t size = 0;
  Get(&size, from);
  if (!from) return;
  list->resize(size);
  from.read(reinterpret_cast<char*>(list->data()),
            static_cast<std::streamsize>(size));
}

}  // namespace

std::string MakeCases(const std::vector<Program>& programs,
                      const std::set<int>& without, std::vector<Case>* cases) {
  const Folder folder;
  std::ofstream(folder.File("programs.cc")) << TextOf(programs, without);
  const std::string command =
      absl::StrCat(Compiler(), kOptions, folder.File("programs.cc"), " -o ",
                   folder.File("programs.so"), " -lm 2> ", folder.File("log"));
  if (std::system(command.c_str()) != 0) {
    return absl::StrCat(command, "\n", ContentsOf(folder.File("log")));
  }
  void* library = dlopen(folder.File("programs.so").c_str(), RTLD_NOW);
  if (library == nullptr) return dlerror();
  cases->resize(programs.size());
  for (size_t i = 0; i < programs.size(); ++i) {
    auto* fill =
        reinterpret_cast<Fill*>(dlsym(library, Number("Fill", i).c_str()));
    auto* run =
        reinterpret_cast<Run*>(dlsym(library, Number("Run", i).c_str()));
    MakeCase(programs[i], without, fill, run, &(*cases)[i]);
  }
  dlclose(library);
  return "";
}

void Write(const Case& one, std::ostream& to) {
  Put(one.seed, to);
  Put(one.blocks, to);
  Put(one.width, to);
  Put(one.height, to);
  PutList(one.source, to);
  Put<uint64_t>(one.parameters.size(), to);
  for (size_t i = 0; i < one.parameters.size(); ++i) {
    Put(one.parameters[i], to);
    PutList(one.inputs[i], to);
    PutList(one.expected[i], to);
  }
}

bool Read(std::istream& from, Case* one) {
  *one = {};
  uint64_t count = 0;
  Get(&one->seed, from);
  Get(&one->blocks, from);
  Get(&one->width, from);
  Get(&one->height, from);
  GetList(&one->source, from);
  Get(&count, from);
  if (!from) return false;
  one->parameters.resize(count);
  one->inputs.resize(count);
  one->expected.resize(count);
  for (size_t i = 0; i < count; ++i) {
    Get(&one->parameters[i], from);
    GetList(&one->inputs[i], from);
    GetList(&one->expected[i], from);
  }
  return static_cast<bool>(from);
}

}  // namespace holdfast::random_c
