// SPDX-License-Identifier: Apache-2.0
#include "models/openai_request.hpp"

#include <superstep/messages/openai_json.hpp>
#include <superstep/models/model_error.hpp>

#include <array>
#include <string_view>

namespace superstep::models {

result<std::string> write_request(const openai_model_options& options,
                                  const model_request& request) {
  auto parameters = json::object{};
  parameters["model"] = options.model;
  if (options.temperature)
    parameters["temperature"] = *options.temperature;
  if (options.max_tokens)
    parameters["max_tokens"] = *options.max_tokens;
  constexpr auto own =
      std::array<std::string_view, 5>{"messages", "tools", "stream", "stream_options", "n"};
  for (const auto& [name, value] : request.parameters) {
    for (const auto reserved : own)
      if (name == reserved)
        return error{model_errc::bad_request,
                     "parameter \"" + std::string{name} +
                         "\" is set by the agent and cannot be overridden"};
    parameters[name] = value;
  }
  if (options.stream) {
    auto with_usage = json::object{};
    with_usage["include_usage"] = true;
    parameters["stream"] = true;
    parameters["stream_options"] = std::move(with_usage);
  }

  auto out = to_text(parameters);
  out.pop_back(); // the object goes on
  out += ",\"messages\":[";
  if (request.system)
    append_openai(out, *request.system);
  for (const auto& m : request.messages) {
    if (out.back() != '[')
      out += ',';
    append_openai(out, m);
  }
  out += ']';
  if (request.tools && !request.tools->empty()) {
    auto tools = json::array{};
    for (const auto& definition : *request.tools)
      tools.push_back(to_openai(definition));
    out += ",\"tools\":";
    append_text(out, tools);
  }
  out += '}';
  return out;
}

} // namespace superstep::models
