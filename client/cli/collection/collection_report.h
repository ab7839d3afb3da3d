// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CLI_COLLECTION_COLLECTION_REPORT_H_
#define HOLDFAST_CLIENT_CLI_COLLECTION_COLLECTION_REPORT_H_

#include <cstdint>
#include <map>
#include <string>

#include "client/cli/json_writer.h"
#include "holdfast/v1/collections.pb.h"

namespace holdfast::cli {

// Text to stdout or, if `json` is not null, members of the object that it is
// in.
void PrintCollections(const v1::ListCollectionsResponse& list,
                      JsonWriter* json);
void PrintCollection(const v1::DescribeCollectionResponse& description,
                     JsonWriter* json);

// The others print text, or one JSON value if `json` is true. Here a line for
// each change, as it comes.
void PrintChange(const v1::CollectionChange& change, bool json);
// A version that was suspended or resumed, as `act` says, and the bytes that
// have moved.
void PrintMove(const std::string& act, const std::string& name,
               uint64_t version, uint64_t bytes, bool json);
// How arrays differ from files, by name; `arrays` were compared.
void PrintDifferences(size_t arrays,
                      const std::map<std::string, std::string>& differences,
                      bool json);
// SHA-256 by array.
void PrintDigests(const std::map<std::string, std::string>& digests, bool json);

}  // namespace holdfast::cli

#endif  // HOLDFAST_CLIENT_CLI_COLLECTION_COLLECTION_REPORT_H_
