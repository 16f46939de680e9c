// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <string>
#include <vector>

namespace superstep::models {

/// Masks every secret in the pieces of one stream (JSON values), even if it is split over several
/// pieces. Texts at the same path of their pieces are treated as one text; list elements with an
/// `index` are matched by it. The mask `***` appears in the piece in which the secret begins.
/// Secrets that are too short to be masked are defined by without_secret().
void mask_secrets(const std::vector<json::value*>& pieces, const std::vector<std::string>& secrets);

} // namespace superstep::models
