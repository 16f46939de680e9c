// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/providers/provider_format.hpp"

namespace superstep::providers {

/// Returns the content of a message as a list of Anthropic's blocks. Tool calls of an AI message
/// that have no block are appended. Returns model_errc::bad_request for a block that the API does
/// not support.
[[nodiscard]] result<json::array> anthropic_blocks(const message& m);

/// Converts an image, file or text-plain block to a block with a `source`.
[[nodiscard]] result<json::object> anthropic_data_block(const json::object& block);

} // namespace superstep::providers
