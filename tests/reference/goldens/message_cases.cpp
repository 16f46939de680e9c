// SPDX-License-Identifier: Apache-2.0
// Recorded cases of messages: conversion, merging and provider formats.
#include "message_form.hpp"
#include "messages/merge.hpp"
#include "messages/partial_json.hpp"

#include <superstep/messages/message_json.hpp>
#include <superstep/messages/messages.hpp>

namespace superstep::conformance {

namespace {

bool is_chunk(const json::value& form) {
  return form.at("type").as_string().ends_with("Chunk");
}

json::value construct_case(const json::object& input) {
  const auto& form = input.at("message");
  const auto m = message_in(form);
  auto written = is_chunk(form) ? form_of(value_of(chunk_from_json(form))) : form_of(m);
  return {{"message", std::move(written)}, {"text", text_of(m)}};
}

json::value convert_case(const json::object& input) {
  auto forms = json::array{};
  for (const auto& m : value_of(messages_from_json(input.at("messages"))))
    forms.push_back(form_of(m));
  return json::object{{"messages", std::move(forms)}};
}

json::value to_dict_case(const json::object& input) {
  const auto& form = input.at("message");
  return json::object{{"dict", is_chunk(form) ? to_dict(value_of(chunk_from_json(form)))
                                              : to_dict(message_in(form))}};
}

json::value from_dict_case(const json::object& input) {
  const auto& dict = input.at("dict");
  if (!is_chunk(dict))
    return json::object{{"message", form_of(value_of(message_from_dict(dict)))}};
  auto data = dict.at("data").as_object();
  data["type"] = dict.at("type");
  return json::object{{"message", form_of(value_of(chunk_from_json(data)))}};
}

json::value chunk_add_case(const json::object& input) {
  const auto& chunks = input.at("chunks").as_array();
  auto sum = value_of(chunk_from_json(chunks.at(0)));
  for (auto i = std::size_t{1}; i < chunks.size(); ++i) {
    append(sum, value_of(chunk_from_json(chunks[i]))).value();
    read_calls(sum);
  }
  return {{"merged", form_of(sum)}, {"message", form_of(to_message(sum))}};
}

json::value partial_json_case(const json::object& input) {
  return json::object{{"value", value_of(parse_partial_json(input.at("text").as_string()))}};
}

json::value merge_dicts_case(const json::object& input) {
  auto sum = input.at("left").as_object();
  merge_members(sum, input.at("right").as_object()).value();
  return json::object{{"value", std::move(sum)}};
}

json::value merge_lists_case(const json::object& input) {
  const auto& left = input.at("left");
  const auto& right = input.at("right");
  if (left.is_null() || right.is_null())
    return json::object{{"value", left.is_null() ? right : left}};
  auto sum = left.as_array();
  merge_lists(sum, right.as_array()).value();
  return json::object{{"value", std::move(sum)}};
}

json::value to_openai_case(const json::object& input) {
  const auto format =
      input.at("text_format") == "string" ? text_format::string : text_format::block;
  return json::object{{"messages", value_of(to_openai_messages(messages_in(input), format))}};
}

json::value content_blocks_case(const json::object& input) {
  const auto& form = input.at("message");
  auto blocks = is_chunk(form) ? content_blocks(value_of(chunk_from_json(form)))
                               : content_blocks(message_in(form));
  return json::object{{"content_blocks", form_of_blocks(value_of(std::move(blocks)))}};
}

json::value init_content_blocks_case(const json::object& input) {
  auto form = input;
  form["content"] = "";
  form.erase("content_blocks");
  auto m = message_in(form);
  auto made = message_of_blocks(m.type, input.at("content_blocks").as_array());
  made.tool_call_id = m.tool_call_id;
  return json::object{{"message", form_of(made)}};
}

using usage_operation = result<token_usage> (*)(const token_usage&, const token_usage&);

case_function usage_case(usage_operation combine) {
  return [combine](const json::object& input) -> json::value {
    const auto& left = input.at("left");
    const auto& right = input.at("right");
    auto usage = token_usage{};
    if (left.is_object() && right.is_object())
      usage = value_of(combine(value_of(usage_from_json(left)), value_of(usage_from_json(right))));
    else if (left.is_object() || right.is_object())
      usage = value_of(usage_from_json(left.is_object() ? left : right));
    return json::object{{"usage", to_json(usage)}};
  };
}

} // namespace

void add_message_cases(case_table& table) {
  table["msg.construct"] = construct_case;
  table["msg.convert"] = convert_case;
  table["msg.to_dict"] = to_dict_case;
  table["msg.from_dict"] = from_dict_case;
  table["msg.chunk_add"] = chunk_add_case;
  table["msg.to_openai"] = to_openai_case;
  table["msg.content_blocks"] = content_blocks_case;
  table["msg.init_content_blocks"] = init_content_blocks_case;
  table["msg.partial_json"] = partial_json_case;
  table["msg.merge_dicts"] = merge_dicts_case;
  table["msg.merge_lists"] = merge_lists_case;
  table["msg.usage_add"] = usage_case(add_usage);
  table["msg.usage_subtract"] = usage_case(subtract_usage);
}

} // namespace superstep::conformance
