// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace superstep {

/// Returns the number of letters to insert, remove or replace to change one word into another.
/// Quadratic in the lengths of the words.
[[nodiscard]] std::size_t edit_distance(std::string_view from, std::string_view to);

/// Returns the known word that a misspelled word probably means; nullopt if none is similar.
/// Quadratic in the lengths of the words.
[[nodiscard]] std::optional<std::string> similar_word(std::string_view word,
                                                      const std::vector<std::string>& known);

} // namespace superstep
