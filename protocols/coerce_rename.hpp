// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

namespace superstep {

/// In an object of a closed schema that lacks exactly one required member and has exactly one too
/// many, gives the stray one its name, if it is the same name in another case style or number.
void rename_member(json::object& o, const json::value& schema);

} // namespace superstep
