// SPDX-License-Identifier: Apache-2.0
#include "protocols/coerce_schema.hpp"
#include "protocols/json_recovery.hpp"
#include "protocols/parse_answer_tools.hpp"

#include <superstep/protocols/coerce.hpp>
#include <superstep/protocols/parse_answer.hpp>
#include <superstep/protocols/relaxed_json.hpp>

#include <algorithm>
#include <utility>

namespace superstep {

namespace {

bool is_call(const parsed_part& part) {
  return std::holds_alternative<parsed_call>(part);
}

void coerce_call(parsed_call& call, const std::vector<protocol_tool>& tools) {
  const auto* tool = find_tool(tools, call.name);
  if (tool == nullptr)
    return;
  auto parsed = parse_lenient_json(call.arguments);
  if (!parsed)
    return;
  const auto coerced = coerce(std::move(*parsed), tool->schema);
  if (!coerced.is_null() || schema::allows_null(schema::unwrap(tool->schema)))
    call.arguments = to_text(coerced);
}

} // namespace

std::vector<parsed_part> parse_answer(const tool_protocol& protocol, std::string_view text,
                                      const std::vector<protocol_tool>& tools,
                                      const protocol_error_handler& on_error) {
  auto parts = protocol.parse(text, tools, on_error);
  if (std::ranges::none_of(parts, is_call))
    if (auto recovered = recover_json_call(text, tools))
      parts = std::move(*recovered);
  for (auto& part : parts)
    if (auto* call = std::get_if<parsed_call>(&part))
      coerce_call(*call, tools);
  return parts;
}

} // namespace superstep
