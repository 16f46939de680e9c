// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/protocols/xml_reader.hpp"

#include <superstep/base/json.hpp>

namespace superstep {

/// Names that are strings anywhere in the schema: what they hold is never read as markup.
[[nodiscard]] raw_names raw_names_of(const json::value& schema);

} // namespace superstep
