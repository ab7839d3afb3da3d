// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CLI_COLLECTION_COLLECTION_REPORT_H_
#define HOLDFAST_CLIENT_CLI_COLLECTION_COLLECTION_REPORT_H_

#include <cstdint>
#include <map>
#include <string>

#include "client/cli/json_writer.h"
#include "holdfast/v1/collections.pb.h"

namespace holdfast::cli {

// Prints text to stdout if `json` is null. Otherwise adds members to the object
// that `json` is in.
void PrintCollections(const v1::ListCollectionsResponse& list,
                      JsonWriter* json);
void PrintCollection(const v1::DescribeCollectionResponse& description,
                     JsonWriter* json);

// The functions below print text, or one JSON value if `json` is true.

// Prints one line for one change.
void PrintChange(const v1::CollectionChange& change, bool json);
// Prints a version that was suspended or resumed, as `act` says, and the number
// of bytes that were moved.
void PrintMove(const std::string& act, const std::string& name,
               uint64_t version, uint64_t bytes, bool json);
// Prints the differences between arrays and files, by the arrays' names.
// `arrays` is the number of arrays that were compared.
void PrintDifferences(size_t arrays,
                      const std::map<std::string, std::string>& differences,
                      bool json);
// Prints the SHA-256 of each array.
void PrintDigests(const std::map<std::string, std::string>& digests, bool json);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_COLLECTION_COLLECTION_REPORT_H_
