// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace superstep {

/// Returns the known word that a misspelled word probably means; nullopt if none is similar.
/// Quadratic in the lengths of the words.
[[nodiscard]] std::optional<std::string> similar_word(std::string_view word,
                                                      const std::vector<std::string>& known);

} // namespace superstep
