// SPDX-License-Identifier: Apache-2.0
//
// Apart from the header, since holds name resources that only their users need
// to know whole.
#include "server/executor/resources/hold_set.h"

#include "server/executor/resources/resources.h"

namespace holdfast::executor {

HoldSet::HoldSet() = default;
HoldSet::~HoldSet() = default;

void HoldSet::Add(Hold hold) { holds_.push_back(std::move(hold)); }

}  // namespace holdfast::executor
