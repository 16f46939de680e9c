// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace superstep {

class argument_schema;
class tool;
class tool_errors;
class tool_node;
class tool_state;
class validation_node;
struct action_request;
struct calculator_options;
struct command_options;
struct current_time_options;
struct http_get_options;
struct human_interrupt;
struct human_interrupt_config;
struct human_response;
struct read_file_options;
struct simulated_options;
struct sqlite_query_options;
struct injection;
struct tool_answer;
struct tool_command;
struct tool_context;
struct tool_node_input;
struct tool_node_options;
struct tool_node_output;
struct tool_output;
struct tool_request;
struct tool_environment;
struct tool_update;
struct validation_node_options;

} // namespace superstep
