// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace superstep {

struct add_messages;
struct invalid_tool_call;
struct message;
struct message_chunk;
struct token_usage;
struct tool_call;
struct tool_call_chunk;
struct tool_definition;
class message_list;

} // namespace superstep
