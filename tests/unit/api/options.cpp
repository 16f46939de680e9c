// SPDX-License-Identifier: Apache-2.0
// Every option struct is an aggregate whose members all have initial values: designated
// initialisers of some members compile without warnings (-Wmissing-field-initializers).
#include <superstep/actors/engine.hpp>
#include <superstep/agents/agent_file.hpp>
#include <superstep/agents/agent_options.hpp>
#include <superstep/agents/create_agent.hpp>
#include <superstep/agents/multi_agent.hpp>
#include <superstep/agents/prebuilt_middleware.hpp>
#include <superstep/batch/batch.hpp>
#include <superstep/batch/row_runner.hpp>
#include <superstep/checkpoint/checkpointer.hpp>
#include <superstep/checkpoint/sqlite.hpp>
#include <superstep/checkpoint/store.hpp>
#include <superstep/messages/history.hpp>
#include <superstep/models/chat_model.hpp>
#include <superstep/models/model_retry.hpp>
#include <superstep/models/provider_model.hpp>
#include <superstep/models/recorded_model.hpp>
#include <superstep/models/scripted_model.hpp>
#include <superstep/net/http_client.hpp>
#include <superstep/protocols/protocol_middleware.hpp>
#include <superstep/protocols/tool_protocol.hpp>
#include <superstep/runtime/drawing.hpp>
#include <superstep/runtime/json_graph.hpp>
#include <superstep/runtime/node_options.hpp>
#include <superstep/runtime/run_config.hpp>
#include <superstep/tools/built_in_tools.hpp>
#include <superstep/tools/command.hpp>
#include <superstep/tools/human_review.hpp>
#include <superstep/tools/tool_node.hpp>
#include <superstep/tools/validation_node.hpp>

#include <iostream>

namespace ss = superstep;

namespace {

template <class Options>
void accept(const Options&) {}

} // namespace

int main() {
  accept(ss::engine_options{.workers = {}});
  accept(ss::sub_agent_options{.name = {}});
  accept(ss::agent_limits{.model_calls = {}});
  accept(ss::response_format{.schema = {}});
  accept(ss::agent_options<>{.name = {}});
  accept(ss::react_agent_options<>{.model = {}});
  accept(ss::handoff_options{.agent = {}});
  accept(ss::supervisor_options{.model = {}});
  accept(ss::swarm_options{.agents = {}});
  accept(ss::review_options{.tools = {}});
  accept(ss::model_call_limit_options{.thread_max = {}});
  accept(ss::tool_call_limit_options{.tool = {}});
  accept(ss::context_editing_options{.tokens_max = {}});
  accept(ss::pii_options{.kind = {}});
  accept(ss::retry_options{.then_throw = {}});
  accept(ss::summarisation_options{.model = {}});
  accept(ss::todo_list_options{.prompt = {}});
  accept(ss::job_fingerprint{.agent = {}});
  accept(ss::batch_options{.input = {}});
  accept(ss::row_request{.key = {}});
  accept(ss::checkpoint_query{.before = {}});
  accept(ss::prune_options{.thread_id = {}});
  accept(ss::sqlite_checkpointer_options{.busy_timeout = {}});
  accept(ss::sqlite_store_options{.busy_timeout = {}});
  accept(ss::sqlite_cache_options{.entries_max = {}});
  accept(ss::store_query{.prefix = {}});
  accept(ss::namespace_query{.prefix = {}});
  accept(ss::store_put_options{.index = {}});
  accept(ss::memory_store_options{.embed = {}});
  accept(ss::trim_options{.tokens_max = {}});
  accept(ss::buffer_options{.human_prefix = {}});
  accept(ss::model_request{.system = {}});
  accept(ss::model_retry_options{.attempts_max = {}});
  accept(ss::model_limits_options{.model_calls = {}});
  accept(ss::provider_model_options{.api = {}});
  accept(ss::recorded_model_options{.path = {}});
  accept(ss::replayed_model_options{.path = {}});
  accept(ss::scripted_model_options{.path = {}});
  accept(ss::http_client_options{.connections_per_host_max = {}});
  accept(ss::http_request{.method = {}});
  accept(ss::protocol_options{.protocol = {}});
  accept(ss::stream_options{.emit_raw_on_error = {}});
  accept(ss::draw_options{.expand = {}});
  accept(ss::json_graph_options{.ignore_unknown_channels = {}});
  accept(ss::json_cache_policy{.key = {}});
  accept(ss::json_node_options{.reads = {}});
  accept(ss::retry_policy{.max_attempts = {}});
  accept(ss::timeout_policy{.run = {}});
  accept(ss::cache_policy{.key = {}});
  accept(ss::node_options{.destinations = {}});
  accept(ss::compile_options{.name = {}});
  accept(ss::thread_options{.checkpoint_id = {}});
  accept(ss::run_config{.run_id = {}});
  accept(ss::calculator_options{.length_max = {}});
  accept(ss::current_time_options{.default_zone = {}});
  accept(ss::http_get_options{.allow_hosts = {}});
  accept(ss::remember_options{.ns = {}});
  accept(ss::recall_options{.ns = {}});
  accept(ss::read_file_options{.root = {}});
  accept(ss::simulated_options{.name = {}});
  accept(ss::sqlite_query_options{.path = {}});
  accept(ss::command_sandbox{.is_on = {}});
  accept(ss::command_options{.name = {}});
  accept(ss::human_interrupt_config{.allow_ignore = {}});
  accept(ss::tool_limit{.tool = {}});
  accept(ss::tool_node_options{.errors = {}});
  accept(ss::validation_node_options{.format_error = {}});
  std::cout << "ok\n";
}
