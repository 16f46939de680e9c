// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/models/providers/provider_format.hpp>

namespace superstep::providers {

/// The content of one turn as Anthropic takes it, as a list of blocks. Of an answer the calls that
/// are no block yet come last.
[[nodiscard]] result<json::array> anthropic_blocks(const message& m);

/// An image, file or text-plain block with a `source`.
[[nodiscard]] result<json::object> anthropic_data_block(const json::object& block);

} // namespace superstep::providers
