// SPDX-License-Identifier: Apache-2.0
//
// The samples of the installed headers that read messages of the protocol.
#include <holdfast/holdfast.h>
#include <holdfast/v1/graph_file.pb.h>

namespace holdfast::samples {

absl::Status Write(const GraphDefinition& definition, const Kernel& scale,
                   const Buffer& x) {
  GraphFileWriter writer;
  writer.Name(scale, "kernels.cu", "scale");
  writer.Name(x, "x");
  HOLDFAST_ASSIGN_OR_RETURN(const v1::GraphFile file, writer.Write(definition));
  return absl::OkStatus();
}

}  // namespace holdfast::samples
