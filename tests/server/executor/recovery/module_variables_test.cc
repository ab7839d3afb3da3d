// SPDX-License-Identifier: Apache-2.0
//
// Variables of modules by way of their message, and what a session loses that
// does not get them back.
#include "server/executor/recovery/module_variables.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/handle.h"
#include "core/base/memfd.h"
#include "server/account/account.h"
#include "server/executor/command/command_handlers.h"
#include "server/executor/memory/memory_image.h"
#include "server/executor/recovery/restore.h"
#include "server/journal/journal_reader.h"
#include "server/journal/layout.h"
#include "tests/testing/kernels.h"
#include "tests/testing/software_driver.h"
#include "tests/testing/status_matchers.h"

namespace holdfast::executor {
namespace {

using holdfast::testing::StatusIs;

constexpr char kVariables[] =
    ".visible .global .align 4 .u32 counter = 5;\n"
    ".visible .global .align 8 .u64 total = 7;\n";
constexpr const char* kPtx = test_ptx::kModule<kVariables, test_ptx::kEmpty>;

uint64_t NameOf(HandleKind kind, uint32_t index) {
  return holdfast::Handle{kind, 1, index}.Pack();
}
uint64_t ModuleOf(uint32_t index) { return NameOf(HandleKind::kModule, index); }

// A launch of the module's kernel.
void SetLaunch(uint32_t module, v1::GraphNode* node) {
  node->set_id(1);
  v1::Launch& launch = *node->mutable_launch();
  launch.set_kernel(NameOf(HandleKind::kKernel, module));
  for (v1::Dim3* dim : {launch.mutable_grid(), launch.mutable_block()}) {
    dim->set_x(1);
    dim->set_y(1);
    dim->set_z(1);
  }
}

// A session with its journal, in this process.
class Side {
 public:
  Side()
      : memory_(CreateFixedMemfd("journal", journal::kJournalBytes).value()),
        journal_(journal::JournalWriter::Map(memory_.get()).value(), 0),
        resources_(ResourceOptions{
            {.api = &testing::SoftwareDriver().api,
             .account = std::make_shared<Account>(Account::Options{})}}) {}

  Resources& resources() { return resources_; }

  void Run(const v1::Command& command) {
    const CommandContext context{resources_, fetch_, results_, failures_};
    const absl::Status status = Dispatch(context, command);
    EXPECT_OK(status);
    journal_.Note(command, status, resources_);
  }
  // A module, its kernel, and a handle of `counter`.
  void Load(uint32_t index) {
    v1::Command load, kernel, global;
    load.mutable_load_module()->set_module(ModuleOf(index));
    load.mutable_load_module()->set_inline_(kPtx);
    Run(load);
    kernel.mutable_get_kernel()->set_kernel(NameOf(HandleKind::kKernel, index));
    kernel.mutable_get_kernel()->set_module(ModuleOf(index));
    kernel.mutable_get_kernel()->set_name("empty");
    Run(kernel);
    global.mutable_get_global()->set_buffer(NameOf(HandleKind::kBuffer, index));
    global.mutable_get_global()->set_module(ModuleOf(index));
    global.mutable_get_global()->set_name("counter");
    Run(global);
  }

  // A graph that launches the module's kernel, and its instance.
  void MakeGraph(uint32_t index, uint32_t module) {
    v1::Command make, instantiate;
    make.mutable_create_graph()->set_graph(NameOf(HandleKind::kGraph, index));
    SetLaunch(module,
              make.mutable_create_graph()->mutable_definition()->add_nodes());
    Run(make);
    v1::InstantiateGraph& instance = *instantiate.mutable_instantiate_graph();
    instance.set_graph_exec(NameOf(HandleKind::kGraphExec, index));
    instance.set_graph(NameOf(HandleKind::kGraph, index));
    Run(instantiate);
  }
  void DestroyGraph(uint32_t index) {
    v1::Command destroy;
    destroy.mutable_destroy_graph()->set_graph(
        NameOf(HandleKind::kGraph, index));
    Run(destroy);
  }
  // The instance launches the module's kernel from now on.
  void Update(uint32_t index, uint32_t module) {
    v1::Command update;
    v1::UpdateGraphExec& change = *update.mutable_update_graph_exec();
    change.set_graph_exec(NameOf(HandleKind::kGraphExec, index));
    v1::GraphNodeUpdate& node = *change.mutable_nodes()->add_nodes();
    node.set_id(1);
    SetLaunch(module, node.mutable_node());
    Run(update);
  }

  std::string Records() { return journal::ReadRecords(memory_.get()).value(); }
  absl::StatusOr<Losses> Succeed(Side& before,
                                 internal::SavedVariables variables) {
    Inheritance inheritance;
    inheritance.variables = std::move(variables);
    return Restore(resources_, std::move(inheritance), before.Records(),
                   {.fetch_object = fetch_,
                    .journal = journal_,
                    .restore_arena = nullptr,
                    .chunk_released = [](uint64_t) {},
                    .host_memory_released = [](uint64_t) {}});
  }

  // The variable's place, for its bytes.
  DeviceRange Find(uint32_t index, const char* name) {
    ModuleResource* const module =
        resources_.modules.Find(ModuleOf(index)).value();
    const auto global =
        module->module->FindGlobal(name, *device().context).value();
    return {global.address, global.size};
  }
  void Set(uint32_t index, const char* name, uint32_t value) {
    EXPECT_OK(Copier()->Load(Find(index, name),
                             reinterpret_cast<const char*>(&value)));
  }
  uint32_t Get(uint32_t index, const char* name) {
    std::string bytes(Find(index, name).size, '\0');
    EXPECT_OK(Copier()->Save(Find(index, name), bytes.data()));
    uint32_t value = 0;
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }

 private:
  DeviceState& device() { return *resources_.devices.Open(0).value(); }
  std::unique_ptr<MemoryCopier> Copier() {
    return MemoryCopier::Create(device().context,
                                *resources_.account().staging_memory())
        .value();
  }

  const UniqueFd memory_;
  const ObjectFetcher fetch_ = [](absl::string_view) {
    return absl::StatusOr<FetchedObject>(absl::NotFoundError("none"));
  };
  const std::shared_ptr<ResultQueue> results_ = std::make_shared<ResultQueue>();
  v1::FenceResult failures_;
  SessionJournal journal_;
  Resources resources_;
};

internal::SavedVariables Saved(Side& side) {
  const UniqueFd memory = SaveVariables(side.resources()).value();
  return ReadVariables(memory.get()).value();
}

// Not all of its bytes come back.
void Damage(uint64_t module, internal::SavedVariables* variables) {
  for (auto& variable : *variables->mutable_variables()) {
    if (variable.module() == module) variable.mutable_value()->pop_back();
  }
}

TEST(ModuleVariablesTest, AreAsTheyWere) {
  Side side;
  side.Load(0);
  side.Set(0, "counter", 42);
  const internal::SavedVariables variables = Saved(side);
  ASSERT_EQ(variables.variables_size(), 2);
  side.Set(0, "counter", 1);
  RestoreVariables(side.resources(), variables,
                   [](uint64_t, const absl::Status& why) { EXPECT_OK(why); });
  EXPECT_EQ(side.Get(0, "counter"), 42u);
  EXPECT_EQ(side.Get(0, "total"), 7u);
}

// A fatbin's variables cannot be listed, and its handle may be gone.
TEST(ModuleVariablesTest, OneThatWasRestoredIsSavedAgain) {
  Side before, after;
  before.Load(0);
  after.Load(0);
  after.resources().modules.Find(ModuleOf(0)).value()->variables.clear();
  RestoreVariables(after.resources(), Saved(before),
                   [](uint64_t, const absl::Status& why) { EXPECT_OK(why); });
  EXPECT_EQ(Saved(after).variables_size(), 2);
}

TEST(ModuleVariablesTest, HandlesThatWereFreedTakeNoMemory) {
  Side side;
  side.Load(0);
  v1::Command get, free;
  get.mutable_get_global()->set_module(ModuleOf(0));
  get.mutable_get_global()->set_name("counter");
  for (uint32_t generation = 1; generation <= 1000; ++generation) {
    const uint64_t buffer =
        holdfast::Handle{HandleKind::kBuffer, generation, 1}.Pack();
    get.mutable_get_global()->set_buffer(buffer);
    free.mutable_free_buffer()->set_buffer(buffer);
    side.Run(get);
    side.Run(free);
  }
  const ModuleResource& module =
      *side.resources().modules.Find(ModuleOf(0)).value();
  EXPECT_LT(module.globals.size(), 100u);
  EXPECT_TRUE(module.globals.contains(NameOf(HandleKind::kBuffer, 0)));
}

// A fatbin's variables cannot be listed.
TEST(ModuleVariablesTest, OneWithAHandleIsSavedThoughItsNameWasNotRead) {
  Side side;
  side.Load(0);
  ModuleResource* const module =
      side.resources().modules.Find(ModuleOf(0)).value();
  module->variables.clear();
  v1::Command global;
  global.mutable_get_global()->set_buffer(NameOf(HandleKind::kBuffer, 1));
  global.mutable_get_global()->set_module(ModuleOf(0));
  global.mutable_get_global()->set_name("total");
  side.Run(global);
  const internal::SavedVariables variables = Saved(side);
  ASSERT_EQ(variables.variables_size(), 1);
  EXPECT_EQ(variables.variables(0).name(), "total");
}

TEST(ModuleVariablesTest, NamesCountAsWell) {
  Side side;
  side.Load(0);
  ModuleResource* const module =
      side.resources().modules.Find(ModuleOf(0)).value();
  // The driver reads a name up to its first zero.
  std::string name = "counter";
  name.append(size_t{81} << 20, '\0');
  module->variables = {name};
  EXPECT_THAT(SaveVariables(side.resources()).status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, "their names"));
}

TEST(ModuleVariablesTest, NamesAreBytes) {
  Side side;
  side.Load(0);
  ModuleResource* const module =
      side.resources().modules.Find(ModuleOf(0)).value();
  const std::string name("counter\0\xff", 9);
  module->variables = {name};
  EXPECT_EQ(Saved(side).variables(0).name(), name);
}

TEST(ModuleVariablesTest, AModuleThatDoesNotGetThemIsLostAndNoOther) {
  Side before, after;
  before.Load(0);
  before.Load(1);
  before.Set(1, "counter", 42);
  internal::SavedVariables variables = Saved(before);
  Damage(ModuleOf(0), &variables);
  const auto losses = after.Succeed(before, variables);
  ASSERT_OK(losses);
  // With its kernel and the handle of its variable.
  EXPECT_EQ(losses->count, 3u);
  EXPECT_THAT(
      after.resources().kernels.Find(NameOf(HandleKind::kKernel, 0)).status(),
      StatusIs(absl::StatusCode::kDataLoss, "variable counter"));
  EXPECT_TRUE(after.resources().IsInError(ModuleOf(0)));
  EXPECT_TRUE(after.resources().IsInError(NameOf(HandleKind::kBuffer, 0)));
  EXPECT_EQ(after.Get(1, "counter"), 42u);
}

// It would compute with first values.
TEST(ModuleVariablesTest, AGraphOfAModuleThatIsLostIsLost) {
  Side before, after;
  before.Load(0);
  before.Load(1);
  before.MakeGraph(0, /*module=*/0);
  before.MakeGraph(1, /*module=*/1);
  before.MakeGraph(2, /*module=*/0);
  before.DestroyGraph(2);
  before.MakeGraph(3, /*module=*/1);
  before.Update(3, /*module=*/0);
  internal::SavedVariables variables = Saved(before);
  Damage(ModuleOf(0), &variables);
  const auto losses = after.Succeed(before, variables);
  ASSERT_OK(losses);
  Resources& resources = after.resources();
  EXPECT_THAT(resources.graphs.Find(NameOf(HandleKind::kGraph, 0)).status(),
              StatusIs(absl::StatusCode::kDataLoss, "variable counter"));
  for (const uint32_t lost : {0, 2, 3}) {
    EXPECT_TRUE(resources.IsInError(NameOf(HandleKind::kGraphExec, lost)))
        << lost;
  }
  // The module, its kernel, its variable, a graph and three instances.
  EXPECT_EQ(losses->count, 7u);
  EXPECT_TRUE(resources.Contains(NameOf(HandleKind::kGraph, 1)));
  EXPECT_TRUE(resources.Contains(NameOf(HandleKind::kGraphExec, 1)));
  EXPECT_TRUE(resources.Contains(NameOf(HandleKind::kGraph, 3)));
}

TEST(ModuleVariablesTest, ThoseOfAModuleThatIsLostAreLeftOut) {
  Side before, after;
  before.Load(0);
  internal::SavedVariables variables = Saved(before);
  for (auto& variable : *variables.mutable_variables()) {
    variable.set_module(ModuleOf(7));
  }
  const auto losses = after.Succeed(before, variables);
  ASSERT_OK(losses);
  EXPECT_EQ(losses->count, 0u);
}

}  // namespace
}  // namespace holdfast::executor
