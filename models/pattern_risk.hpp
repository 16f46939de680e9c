// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace superstep::schema {

/// Whether a pattern of patternProperties is ignored, because a backtracking engine could need
/// exponential time for it: it is longer than 128 characters, contains a back-reference, repeats a
/// group that contains a repetition or alternatives, or repeats the same character twice in
/// succession, as in `a+a+`.
///
/// Source: compileSafePatternPropertyRegex in @ai-sdk-tool/parser 4.1.26.
[[nodiscard]] bool is_risky_pattern(std::string_view pattern);

} // namespace superstep::schema
