// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>
#include <superstep/base/result.hpp>

namespace superstep {

/// Adds the members of a later piece of a stream to those of the earlier ones. A side that is
/// absent or null yields to the other. Strings concatenate, except equal `id`, `model_provider` and
/// `output_version` and an `index` that begins with `lc_`; unequal integers add, but the later
/// `index`, `created` or `timestamp` wins; objects are merged likewise, lists by merge_lists();
/// equal values of other kinds stay. Values of different kinds, and unequal ones of other kinds,
/// are an error that names the member; `into` must not be used after it.
[[nodiscard]] result<> merge_members(json::object& into, const json::object& more);

/// Adds the elements of a later piece. An object with an `index` (an integer, or text that begins
/// with `lc_`) is merged into the first one with that index, unless both have an `id` and these
/// differ; of its `type` the first one counts. Everything else is appended.
[[nodiscard]] result<> merge_lists(json::array& into, const json::array& more);

} // namespace superstep
