// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>
#include <superstep/base/json.hpp>

namespace superstep {

/// Merges the members of a later piece of a stream into those of the earlier pieces:
/// - An absent or null member takes the value of the other side.
/// - Strings are concatenated. Equal values of `id`, `model_provider` and `output_version` are kept
///   once, and so are equal `index` values that begin with `lc_`.
/// - Integers are added if they differ. For `index`, `created` and `timestamp` the later one
///   replaces the earlier.
/// - Objects are merged recursively, lists by merge_lists().
/// - Other values must be equal.
///
/// @return an error that names the member if two values have different types or cannot be merged;
/// `into` is then in an unspecified state
///
/// Source: `merge_dicts` in langchain-core 1.7.2, utils/_merge.py.
[[nodiscard]] result<> merge_members(json::object& into, const json::object& more);

/// Merges the elements of a later list into an earlier one. An object whose `index` is an integer,
/// or a string that begins with `lc_`, is merged into the first object with the same index, unless
/// both have an `id` and the ids differ. The first object's `type` is kept. All other elements are
/// appended.
///
/// @return an error if two elements cannot be merged; `into` is then in an unspecified state
///
/// Source: `merge_lists` in langchain-core 1.7.2, utils/_merge.py.
[[nodiscard]] result<> merge_lists(json::array& into, const json::array& more);

} // namespace superstep
