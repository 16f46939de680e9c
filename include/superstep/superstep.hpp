// SPDX-License-Identifier: Apache-2.0
#pragma once

// Includes everything that a program with graphs and agents needs, also BOOST_DESCRIBE_STRUCT,
// std::string, std::vector and std::optional. Including single headers instead saves compile time:
// <superstep/actors/engine.hpp> is enough to build and run a graph<State>.

#include <superstep/actors/engine.hpp>
#include <superstep/agents/create_agent.hpp>
#include <superstep/agents/graph_tool.hpp>
#include <superstep/agents/multi_agent.hpp>
#include <superstep/agents/open_calls.hpp>
#include <superstep/agents/prebuilt_middleware.hpp>
#include <superstep/agents/structured_response.hpp>
#include <superstep/base/await.hpp>
#include <superstep/checkpoint/memory_checkpointer.hpp>
#include <superstep/checkpoint/sqlite.hpp>
#include <superstep/checkpoint/store.hpp>
#include <superstep/checkpoint/write_cache.hpp>
#include <superstep/messages/history.hpp>
#include <superstep/messages/message_json.hpp>
#include <superstep/models/chat_model.hpp>
#include <superstep/models/model_retry.hpp>
#include <superstep/models/provider_model.hpp>
#include <superstep/models/recorded_model.hpp>
#include <superstep/models/scripted_model.hpp>
#include <superstep/runtime/channel_graph.hpp>
#include <superstep/runtime/drawing.hpp>
#include <superstep/runtime/graph.hpp>
#include <superstep/runtime/json_graph.hpp>
#include <superstep/threads/snapshot.hpp>
#include <superstep/tools/built_in_tools.hpp>
#include <superstep/tools/command.hpp>
#include <superstep/tools/make_tool.hpp>
#include <superstep/tools/tool_wrappers.hpp>
#include <superstep/tools/validation_node.hpp>

#include <boost/describe/class.hpp>

#include <optional>
#include <string>
#include <vector>
