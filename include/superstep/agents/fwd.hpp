// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace superstep {

class agent;
struct agent_context;
struct agent_fault;
struct agent_reading;
struct agent_spec;
struct chat_state;
struct react_agent_options;

} // namespace superstep
