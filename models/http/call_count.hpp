// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>
#include <superstep/models/provider_model.hpp>

#include <cstddef>
#include <string_view>

namespace superstep::models {

/// Counts the tool calls that an answer, or one event of a stream, has at least. Counted before a
/// message is made of them.
[[nodiscard]] std::size_t count_calls(provider_api api, const json::object& answer);

/// Whether a long text has more than `calls_max` tool calls; false for shorter ones and for texts
/// that are not JSON up to that call. Makes no value of any of them: an answer with 100,000 calls takes
/// its thread a sixth of the time of reading it.
/// @param spare readable bytes behind the text: they save a copy
[[nodiscard]] bool has_more_calls(provider_api api, std::string_view text, std::size_t calls_max,
                                  std::size_t spare = 0);

} // namespace superstep::models
