// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/messages/message_list.hpp>

#include <string>

namespace superstep {

/// A message for people: a rule with who speaks, the text, and under it the calls with their
/// arguments. Blocks that are no text are named by their type. Not meant to be read back.
[[nodiscard]] std::string pretty_text(const message& m);
/// All of them, an empty line between two.
[[nodiscard]] std::string pretty_text(const message_list& messages);

} // namespace superstep
