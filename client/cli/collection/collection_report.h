// SPDX-License-Identifier: Apache-2.0
#ifndef HOLDFAST_CLIENT_CLI_COLLECTION_COLLECTION_REPORT_H_
#define HOLDFAST_CLIENT_CLI_COLLECTION_COLLECTION_REPORT_H_

#include <cstdint>
#include <map>
#include <string>

#include "holdfast/v1/collections.pb.h"

namespace holdfast::cli {

// To stdout: text, or one JSON value.
void PrintCollections(const v1::ListCollectionsResponse& list, bool json);
void PrintCollection(const v1::DescribeCollectionResponse& description,
                     bool json);
// A line for each change, as it comes.
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
