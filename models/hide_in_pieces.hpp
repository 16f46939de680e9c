// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <string>
#include <vector>

namespace superstep::models {

/// Replaces every secret in the texts of the pieces of one stream (JSON values), also one that is
/// split over several pieces. Texts at the same place of their pieces are looked at as one text;
/// elements of a list that have an `index` are matched by it. The replacement is in the piece in
/// which the secret begins. See without_secret() for which secrets are too short to be replaced.
void hide_in_pieces(const std::vector<json::value*>& pieces,
                    const std::vector<std::string>& secrets);

} // namespace superstep::models
