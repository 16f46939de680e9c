// SPDX-License-Identifier: Apache-2.0
#pragma once

// Everything that a program with graphs and agents needs. The headers of the components cost less
// time to compile: <superstep/actors/engine.hpp> alone is enough for a graph over a struct.

#include <superstep/actors/engine.hpp>
#include <superstep/agents/create_agent.hpp>
#include <superstep/agents/create_react_agent.hpp>
#include <superstep/agents/create_supervisor.hpp>
#include <superstep/agents/create_swarm.hpp>
#include <superstep/agents/handoff.hpp>
#include <superstep/checkpoint/memory_checkpointer.hpp>
#include <superstep/checkpoint/sqlite_checkpointer.hpp>
#include <superstep/checkpoint/store.hpp>
#include <superstep/models/init_chat_model.hpp>
#include <superstep/models/make_model.hpp>
#include <superstep/models/scripted_model.hpp>
#include <superstep/runtime/channel_graph.hpp>
#include <superstep/runtime/graph.hpp>
#include <superstep/runtime/json_graph.hpp>
#include <superstep/tools/command.hpp>
#include <superstep/tools/make_tool.hpp>
