// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <string>
#include <string_view>

namespace superstep::providers {

/// Returns "" if the model stopped by itself, otherwise a text for errors: `the answer was cut
/// (length)`. Providers have many names for limits and filters, so every reason that is not known
/// to be a normal end counts as a cut.
[[nodiscard]] std::string why_cut(std::string_view reason);

/// Returns this text for the metadata of an answer, in the form of any provider.
[[nodiscard]] std::string why_cut(const json::object& metadata);

/// Returns this text for a stream, which must report a reason before it ends.
[[nodiscard]] std::string why_cut_stream(const json::object& metadata);

} // namespace superstep::providers
