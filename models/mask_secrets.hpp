// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <string>
#include <vector>

namespace superstep::models {

/// Masks every secret in the pieces of one stream (JSON values), even if it is split over several
/// pieces. Texts with the same path are treated as one text; in a path, a list element with a
/// member `index` is identified by that index. The mask `***` is written where the secret begins.
/// Secrets that are too short for without_secret() are not masked.
void mask_secrets(const std::vector<json::value*>& pieces, const std::vector<std::string>& secrets);

} // namespace superstep::models
