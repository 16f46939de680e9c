// SPDX-License-Identifier: Apache-2.0
// Reads the keys `hooks`, `response` and `store` of agent files; see agent_file.cpp.
#include "agents/hook_fields.hpp"

#include "agents/overrides.hpp"

#include <utility>

namespace superstep::detail {

void read_hooks(fields& root, agent_spec& into) {
  const auto node = root.take("hooks");
  if (!node.IsDefined() || node.IsNull())
    return;
  auto at = fields{node, "hooks", root.faults()};
  if (const auto trim = at.take("trim"); trim.IsDefined() && !trim.IsNull()) {
    auto& options = into.trim.emplace();
    auto keys = fields{trim, "hooks.trim", root.faults()};
    keys.number("tokens", options.tokens_max, 1).done();
  }
  if (const auto summarise = at.take("summarise"); summarise.IsDefined() && !summarise.IsNull()) {
    auto& options = into.summarise.emplace();
    auto keys = fields{summarise, "hooks.summarise", root.faults()};
    keys.number("tokens", options.tokens_max, 1)
        .number("keep", options.messages_kept, 1)
        .text("prompt", options.prompt)
        .done();
  }
  if (into.trim && into.summarise)
    root.wrong("hooks", "trim and summarise cannot be combined; remove one of them");
  at.done();
  into.hooks_line = line_of(node);
}

void read_response(fields& root, agent_spec& into) {
  const auto node = root.take("response");
  auto method = std::string{"json_schema"};
  root.text("response_method", method);
  if (method == "tool_call")
    into.response_method = structured_method::tool_call;
  else if (method == "json_object")
    into.response_method = structured_method::json_object;
  else if (method != "json_schema")
    root.wrong("response_method",
               "must be json_schema, json_object or tool_call, got '" + method + "'");
  const auto* provider = std::get_if<provider_model_options>(&into.model);
  if (method == "json_object" && provider && provider->api == provider_api::anthropic)
    root.wrong("response_method",
               "json_object: Anthropic has no such mode; use json_schema or tool_call");
  if (!node.IsDefined() || node.IsNull())
    return;
  into.response_line = line_of(node);
  if (!node.IsMap())
    return root.wrong("response", "must be a JSON Schema of type object");
  auto schema = to_json(node, "response", root.faults());
  if (!schema)
    return;
  const auto* type = schema->get_object().if_contains("type");
  if (type == nullptr || *type != "object")
    return root.wrong("response",
                      "must be a JSON Schema of type object; providers accept no other type");
  check_schema(node, schema->get_object(), "response", root.faults());
  into.response = std::move(schema->get_object());
}

void read_store(fields& root, const std::string& folder, agent_spec& into) {
  const auto node = root.take("store");
  if (!node.IsDefined() || node.IsNull())
    return;
  into.store_line = line_of(node);
  auto at = fields{node, "store", root.faults()};
  at.required_text("path", into.store).done();
  into.store = in_folder(folder, into.store);
}

} // namespace superstep::detail
