// SPDX-License-Identifier: Apache-2.0
#include "agents/limited_model.hpp"

#include <superstep/agents/agent.hpp>
#include <superstep/models/protocols/make_protocol.hpp>
#include <superstep/models/protocols/protocol_middleware.hpp>

#include <fmt/format.h>

#include <map>
#include <utility>

namespace superstep {

namespace {

template <class... Fs>
struct overloaded : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
overloaded(Fs...) -> overloaded<Fs...>; // clang 16 does not deduce aggregates

model_limits_options limits_of(const agent_spec& spec) {
  auto out = model_limits_options{};
  out.model_calls = spec.limits.model_calls;
  out.requests_per_minute = spec.limits.rpm;
  out.tokens_per_minute = spec.limits.tpm;
  return out;
}

result<chat_model_ptr> limited(result<chat_model_ptr> made, const agent_spec& spec) {
  if (!made)
    return made;
  return detail::limit_model(std::move(made).value(), limits_of(spec));
}

result<chat_model_ptr> make_model(const agent_spec& spec, const std::shared_ptr<io_runtime>& io) {
  return std::visit(
      overloaded{
          [](std::monostate) { return result<chat_model_ptr>{chat_model_ptr{}}; },
          [&](const recorded_model_options& o) { return limited(make_recorded_model(o), spec); },
          [&](const scripted_model_options& o) { return limited(make_scripted_model(o), spec); },
          [&](const replayed_model_options& o) { return limited(make_replayed_model(o), spec); },
          [&](const provider_model_options& o) {
            return make_provider_model(o, *io, std::make_shared<model_limits>(limits_of(spec)));
          }},
      spec.model);
}

/// What the provider says is recorded, not what a protocol makes of it: that is computed again.
result<chat_model_ptr> recorded(result<chat_model_ptr> made, const agent_spec& spec) {
  if (!made || spec.record.empty())
    return made;
  return record_model(std::move(*made), spec.record);
}

/// Outside the limits: a question that is asked again counts again.
result<chat_model_ptr> in_protocol(result<chat_model_ptr> made, const agent_spec& spec) {
  if (!made || spec.protocol.empty())
    return made;
  auto protocol = make_protocol(spec.protocol);
  if (!protocol)
    return protocol.error();
  auto options = protocol_options{};
  options.protocol = std::move(*protocol);
  options.retries = spec.protocol_retries;
  return chat_model_ptr{
      wrap_model(std::move(*made), {make_protocol_middleware(std::move(options))})};
}

result<tool_ptr> make_http_get_tool(const http_get_options& o, io_runtime& io) {
  auto client = http_client::make(io, http_client_options{});
  if (!client)
    return client.error();
  return make_http_get(std::make_shared<const http_client>(std::move(client).value()), o);
}

result<tool_ptr> make_tool_of(const tool_spec& spec, const std::shared_ptr<io_runtime>& io) {
  return std::visit(
      overloaded{
          [](const calculator_options& o) { return result<tool_ptr>{make_calculator(o)}; },
          [](const current_time_options& o) { return result<tool_ptr>{make_current_time(o)}; },
          [&](const http_get_options& o) { return make_http_get_tool(o, *io); },
          [](const sqlite_query_options& o) { return make_sqlite_query(o); },
          [](const read_file_options& o) { return make_read_file(o); },
          [&](const command_options& o) { return make_command(io, o); },
          [](const simulated_options& o) { return make_simulated(o); }},
      spec.options);
}

/// The tools of the file; a fault for each that cannot be made, or whose name is taken.
tool_list make_tools(const agent_spec& spec, const std::shared_ptr<io_runtime>& io,
                     std::vector<agent_fault>& faults) {
  auto out = tool_list{};
  auto keys = std::map<std::string, std::string>{};
  for (const auto& described : spec.tools) {
    auto made = make_tool_of(described, io);
    if (!made) {
      faults.push_back({spec.file, described.line, described.key, made.error().text});
      continue;
    }
    const auto& name = (*made)->definition().name;
    const auto [first, is_new] = keys.emplace(name, described.key);
    if (!is_new)
      faults.push_back({spec.file, described.line, described.key,
                        fmt::format("the name '{}' is taken by {}", name, first->second)});
    out.push_back(std::move(*made));
  }
  return out;
}

react_agent_options react_options(const agent_spec& spec, chat_model_ptr model, tool_list tools) {
  auto out = react_agent_options{};
  out.name = spec.name;
  out.model = std::move(model);
  out.tools = std::move(tools);
  out.prompt = spec.prompt;
  out.version = spec.version;
  out.tool_limit = limiter{spec.limits.tool_calls};
  return out;
}

} // namespace

agent::agent(agent_spec spec, chat_model_ptr model, tool_list tools)
    : spec_{std::move(spec)}, model_{std::move(model)}, tools_{std::move(tools)},
      graph_{make_react_agent(react_options(spec_, model_, tools_))} {}

std::string agent::fingerprint() const {
  auto out = json::object{};
  out["name"] = spec_.name;
  out["prompt"] = spec_.prompt;
  out["version"] = spec_.version == react_version::v1 ? "v1" : "v2";
  out["recursion_limit"] = spec_.recursion_limit;
  return to_canonical_text(out);
}

std::string agent::tools_fingerprint() const {
  auto out = json::array{};
  for (const auto& tool : tools_) {
    const auto& definition = tool->definition();
    auto one = json::object{};
    one["name"] = definition.name;
    one["description"] = definition.description;
    one["parameters"] = definition.parameters;
    out.push_back(std::move(one));
  }
  return spec_.tools_text + to_canonical_text(out);
}

agent_building build_agent(agent_reading reading, const std::shared_ptr<io_runtime>& io) {
  auto out = agent_building{{}, std::move(reading.faults)};
  auto& spec = reading.spec;
  auto model = in_protocol(recorded(make_model(spec, io), spec), spec);
  if (!model)
    out.faults.push_back({spec.file, spec.model_line, "model", model.error().text});
  auto tools = make_tools(spec, io, out.faults);
  if (out.faults.empty())
    out.agent.emplace(std::move(spec), std::move(*model), std::move(tools));
  return out;
}

} // namespace superstep
