// SPDX-License-Identifier: Apache-2.0
//
// The samples of the installed headers, and of READMEs, as a program outside of
// the tree would have them. headers_test.py compares.
#include <holdfast/holdfast.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace holdfast::samples {

void Produce(std::span<float> values);

absl::Status Library(const std::string& source, std::vector<float>& values,
                     uint64_t bytes, size_t n) {
  HOLDFAST_ASSIGN_OR_RETURN(auto session,
                            Session::Open({.address = "embedded:"}));
  HOLDFAST_ASSIGN_OR_RETURN(Compilation code,
                            Program(source).Compile(session->daemon()));
  HOLDFAST_ASSIGN_OR_RETURN(Module module, session->Load(code.object));
  HOLDFAST_ASSIGN_OR_RETURN(Kernel kernel, module.GetKernel("saxpy"));
  Device device = session->device(0);
  HOLDFAST_ASSIGN_OR_RETURN(Stream stream, device.CreateStream());
  HOLDFAST_ASSIGN_OR_RETURN(Buffer x, device.Allocate(bytes, stream));
  HOLDFAST_RETURN_IF_ERROR(x.Upload(values, stream));
  HOLDFAST_RETURN_IF_ERROR(Launch(stream, {.grid = 196, .block = 256}, kernel,
                                  2.0f, x, uint64_t{n}));
  HOLDFAST_RETURN_IF_ERROR(x.Download(values, stream));
  return absl::OkStatus();
}

absl::Status FirstPage(const char* source, std::vector<float>& values) {
  HOLDFAST_ASSIGN_OR_RETURN(auto session, Session::Open({.name = "scale"}));
  HOLDFAST_ASSIGN_OR_RETURN(const Stream stream,
                            session->device(0).CreateStream());
  HOLDFAST_ASSIGN_OR_RETURN(const Compilation compiled,
                            Program(source).Compile(session->daemon()));
  HOLDFAST_ASSIGN_OR_RETURN(const Module module,
                            session->Load(compiled.object));
  HOLDFAST_ASSIGN_OR_RETURN(const Kernel scale, module.GetKernel("scale"));
  HOLDFAST_ASSIGN_OR_RETURN(
      const Buffer x,
      session->device(0).Allocate(values.size() * sizeof(float), stream));
  HOLDFAST_RETURN_IF_ERROR(x.Upload(values, stream));
  HOLDFAST_RETURN_IF_ERROR(
      Launch(stream, {.grid = 196, .block = 256}, scale, x, 3.0f, int{50'000}));
  HOLDFAST_RETURN_IF_ERROR(x.Download(values, stream));
  return absl::OkStatus();
}

absl::Status Graphs(const std::unique_ptr<Session>& session,
                    const Stream& stream, const Kernel& saxpy, const Buffer& x,
                    const Buffer& y) {
  GraphDefinition definition;
  HOLDFAST_ASSIGN_OR_RETURN(const GraphNode zero,
                            definition.Add(FillNode(y, 0.0f)));
  HOLDFAST_ASSIGN_OR_RETURN(
      const GraphNode step,
      definition.Add(KernelNode({.grid = 64, .block = 256}, saxpy, 2.0f, x, y),
                     {zero}));
  HOLDFAST_ASSIGN_OR_RETURN(const Graph graph,
                            Graph::Create(*session, definition));
  HOLDFAST_ASSIGN_OR_RETURN(const GraphExec exec, graph.Instantiate());
  for (int i = 0; i < 1000; ++i) HOLDFAST_RETURN_IF_ERROR(exec.Launch(stream));
  HOLDFAST_RETURN_IF_ERROR(exec.Update(
      step, KernelNode({.grid = 64, .block = 256}, saxpy, 3.0f, x, y)));
  return absl::OkStatus();
}

absl::Status Tile(const Buffer& tile, const Buffer& image, uint64_t offset,
                  const Stream& stream) {
  // A tile of 64 x 64 floats of an image whose rows have 4096.
  CopyBox({.width = 64 * sizeof(float), .height = 64}, {tile},
          {image, offset, 4096 * sizeof(float)}, stream);
  return absl::OkStatus();
}

void Claim(const std::unique_ptr<Session>& session) {
  auto claim = WriteClaim::Wait(*session, "weights");
  if ((*claim)->writes()) { /* fill, commit */
  }
  auto weights = Collection::Open(*session, "weights");
}

absl::Status Link(const Compilation& first, const Compilation& second,
                  const std::shared_ptr<Daemon>& daemon) {
  Linker linker;
  linker.Add(first.object, "first").Add(second.object, "second");
  HOLDFAST_ASSIGN_OR_RETURN(Compilation linked, linker.Link(*daemon));
  return absl::OkStatus();
}

absl::Status Compile(const std::string& source,
                     const std::shared_ptr<Daemon>& daemon) {
  const Program program(source, {.arch = "sm_90"});
  HOLDFAST_ASSIGN_OR_RETURN(const Compilation compiled,
                            program.Compile(*daemon, {"vector_add<float>"}));
  // session->Load(compiled.object)
  return absl::OkStatus();
}

absl::Status Allocate(const std::unique_ptr<Session>& session, uint64_t n) {
  const Device device = session->device(0);
  HOLDFAST_ASSIGN_OR_RETURN(const Stream stream, device.CreateStream());
  HOLDFAST_ASSIGN_OR_RETURN(const Buffer x, device.Allocate(n, stream));
  return absl::OkStatus();
}

void NoteFault(const Stream& stream) {
  const absl::Status status = stream.Synchronize();
  if (const auto fault = SummarizeFault(status); fault.has_value()) {
    // Every handle is valid, and device memory is as it was left. Commands
    // after fault->submitted_through have not run.
  }
}

absl::Status MakeGraph(const std::unique_ptr<Session>& session, const Buffer& x,
                       const Kernel& step) {
  GraphDefinition definition;
  HOLDFAST_ASSIGN_OR_RETURN(const GraphNode a,
                            definition.Add(FillNode(x, 0.0f)));
  HOLDFAST_ASSIGN_OR_RETURN(
      const GraphNode b,
      definition.Add(KernelNode({.grid = 64, .block = 256}, step, x), {a}));
  HOLDFAST_ASSIGN_OR_RETURN(const Graph graph,
                            Graph::Create(*session, definition));
  return absl::OkStatus();
}

void Nest(GraphDefinition& definition, const Kernel& step, const Buffer& x,
          GraphNode a) {
  const GraphCondition more = definition.CreateCondition(1);
  GraphDefinition body;  // a kernel of it sets the condition
  body.Add(KernelNode({.grid = 1, .block = 256}, step, x, more));
  definition.Add(WhileNode(more, body), {a});
}

void Update(GraphDefinition& definition, GraphExec& exec, GraphNode node,
            const Kernel& scale, const Buffer& x, const Buffer& y) {
  definition.Add(KernelNode({.grid = 64, .block = 256}, scale, x, 2.0f));
  exec.Update(node, KernelNode({.grid = 64, .block = 256}, scale, y, 3.0f));
}

absl::Status Capture(const Stream& main, const Stream& side,
                     const LaunchConfig& config, const Kernel& first,
                     const Kernel& second, const Buffer& x, const Buffer& y) {
  HOLDFAST_ASSIGN_OR_RETURN(auto capture, StreamCapture::Begin(main));
  HOLDFAST_RETURN_IF_ERROR(Launch(main, config, first, x));
  HOLDFAST_RETURN_IF_ERROR(side.Wait(main));  // fork
  HOLDFAST_RETURN_IF_ERROR(Launch(side, config, second, y));
  HOLDFAST_RETURN_IF_ERROR(main.Wait(side));  // join
  HOLDFAST_ASSIGN_OR_RETURN(GraphDefinition graph, capture.End());
  return absl::OkStatus();
}

void Open() {
  auto session = holdfast::Session::Open({.address = "embedded:"});
}

void LaunchThree(const Stream& stream, const Kernel& kernel, const Buffer& a,
                 const Buffer& b, const Buffer& c, size_t n) {
  Launch(stream, {.grid = 196, .block = 256}, kernel, a, b, c, uint64_t{n});
}

void SetPriority() {
  LaunchAttributes attributes;
  attributes.priority = -1;
}

absl::Status Load(const std::unique_ptr<Session>& session,
                  const Compilation& compilation) {
  HOLDFAST_ASSIGN_OR_RETURN(const Module module,
                            session->Load(compilation.object));
  HOLDFAST_ASSIGN_OR_RETURN(const Kernel kernel,
                            module.GetKernel("vector_add<float>"));
  return absl::OkStatus();
}

absl::Status Occupy(const Kernel& kernel) {
  HOLDFAST_ASSIGN_OR_RETURN(auto size,
                            Occupancy(kernel).MaxPotentialBlockSize());
  return absl::OkStatus();
}

void OpenDevice() {
  auto session = Session::Open({.address = "embedded:"});
  Device device = (*session)->device(0);
}

absl::Status Order(const Stream& stream, const Semaphore& semaphore,
                   const LaunchConfig& config, const Kernel& produce,
                   const Kernel& consume, const Buffer& x) {
  // The producer:
  HOLDFAST_RETURN_IF_ERROR(Launch(stream, config, produce, x));
  HOLDFAST_RETURN_IF_ERROR(semaphore.Signal(1, stream));
  // The consumer:
  HOLDFAST_RETURN_IF_ERROR(semaphore.Wait(1, stream));
  HOLDFAST_RETURN_IF_ERROR(Launch(stream, config, consume, x));
  return absl::OkStatus();
}

absl::Status Give(const std::unique_ptr<Session>& session, uint64_t bytes,
                  const Stream& stream, const LaunchConfig& config,
                  const Kernel& produce, const Kernel& consume) {
  // The process that makes the memory:
  HOLDFAST_ASSIGN_OR_RETURN(const Buffer x,
                            session->device(0).AllocateShared(bytes));
  HOLDFAST_RETURN_IF_ERROR(Launch(stream, config, produce, x));
  HOLDFAST_RETURN_IF_ERROR(stream.Synchronize());
  HOLDFAST_ASSIGN_OR_RETURN(
      const std::string token,
      x.Export({.rights = Rights::kReadWrite, .max_imports = 2}));

  // A process that has received the token:
  HOLDFAST_ASSIGN_OR_RETURN(const Buffer y, session->device(0).Import(token));
  HOLDFAST_RETURN_IF_ERROR(Launch(stream, config, consume, y));
  return absl::OkStatus();
}

absl::Status Run(const Buffer& x, std::vector<float>& values,
                 const Stream& stream, const Kernel& kernel, int n) {
  HOLDFAST_RETURN_IF_ERROR(x.Upload(values, stream));
  HOLDFAST_RETURN_IF_ERROR(
      Launch(stream, {.grid = 196, .block = 256}, kernel, x, n));
  HOLDFAST_RETURN_IF_ERROR(x.Download(values, stream));  // waits
  return absl::OkStatus();
}

absl::Status UseArena(const std::unique_ptr<Session>& session, size_t n,
                      const Buffer& buffer, const Stream& stream) {
  HOLDFAST_ASSIGN_OR_RETURN(auto arena, session->CreateArena(64 << 20));
  HOLDFAST_ASSIGN_OR_RETURN(ArenaSpan x, arena->Allocate(n * sizeof(float)));
  Produce(x.As<float>());
  HOLDFAST_RETURN_IF_ERROR(buffer.CopyFrom(x, stream));
  return absl::OkStatus();
}

void Flag(const Place& flag, const Stream& stream) {
  const ValueOperation wait[] = {
      {.kind = ValueKind::kWaitEqual, .place = flag, .value = 1}};
  BatchValues(wait, stream);
}

void Ranges(uint64_t base, uint64_t size) {
  FreeRanges free;
  free.Add(base, size);
  std::optional<uint64_t> place = free.Take(4096, /*alignment=*/4096);
  if (place) free.Add(*place, 4096);
}

absl::Status ReturnEarly(const Device& device) {
  HOLDFAST_ASSIGN_OR_RETURN(const Stream stream, device.CreateStream());
  HOLDFAST_RETURN_IF_ERROR(stream.Synchronize());
  return absl::OkStatus();
}

std::string Explain(const absl::Status& status) {
  return GetErrorDetail(status).value_or(ErrorDetail()).log;
}

}  // namespace holdfast::samples
