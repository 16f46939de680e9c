// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace superstep::models {

/// The content of models/prices.json.
extern const std::string_view built_in_prices;

} // namespace superstep::models
