// SPDX-License-Identifier: Apache-2.0
//
// Definitions as files. A file has numbers in the place of a session's handles;
// Rebind (rebind.h) replaces numbers by handles.
#ifndef HOLDFAST_CLIENT_CPP_GRAPH_GRAPH_FILE_H_
#define HOLDFAST_CLIENT_CPP_GRAPH_GRAPH_FILE_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/cpp/buffer.h"
#include "client/cpp/event.h"
#include "client/cpp/graph/definition/graph_definition.h"
#include "client/cpp/graph/graph_text.h"
#include "client/cpp/graph/rebind.h"
#include "client/cpp/kernel.h"

namespace holdfast {

namespace v1 {
class GraphFile;
}  // namespace v1

enum class GraphFileFormat { kJson, kTextProto };

// Returns the format by the extension: .json or .textproto. INVALID_ARGUMENT:
// the path has another extension.
absl::StatusOr<GraphFileFormat> FormatOfPath(absl::string_view path);

// Parses and checks a file: every used number is declared exactly once, and the
// definition is valid. INVALID_ARGUMENT names the line, the node or the number.
absl::StatusOr<v1::GraphFile> ParseGraphFile(absl::string_view text,
                                             GraphFileFormat format);
// Returns the text of a file. INVALID_ARGUMENT: the message cannot be written
// as JSON.
absl::StatusOr<std::string> FormatGraphFile(const v1::GraphFile& file,
                                            GraphFileFormat format);

// Returns the names in the file, by number, for ToString and ToDot
// (graph_text.h).
GraphNames NamesOf(const v1::GraphFile& file);

// Makes a file from a definition. The caller names its kernels, buffers and
// events first. <holdfast/v1/graph_file.pb.h> has the class of the file.
//
//   GraphFileWriter writer;
//   writer.Name(scale, "kernels.cu", "scale");
//   writer.Name(x, "x");
//   HOLDFAST_ASSIGN_OR_RETURN(const v1::GraphFile file,
//                             writer.Write(definition));
class GraphFileWriter {
 public:
  GraphFileWriter();
  ~GraphFileWriter();

  // Declare a kernel of the source file `source`, a buffer or an event under
  // `name`. `scratch`: the buffer begins with zeros, and a run of the file
  // takes no data for it.
  void Name(const Kernel& kernel, const std::string& source,
            const std::string& name);
  void Name(const Buffer& buffer, const std::string& name,
            bool scratch = false);
  void Name(const Event& event, const std::string& name);

  // Returns the file. INVALID_ARGUMENT: a node uses a resource without a name.
  absl::StatusOr<v1::GraphFile> Write(const GraphDefinition& definition) const;

 private:
  const std::unique_ptr<v1::GraphFile> file_;
  GraphBinding numbers_;  // by handle
};

}  // namespace holdfast

#endif  // HOLDFAST_CLIENT_CPP_GRAPH_GRAPH_FILE_H_
