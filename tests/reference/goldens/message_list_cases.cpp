// SPDX-License-Identifier: Apache-2.0
// Recorded cases of operations on message lists: trimming, filtering, merging and rendering.
#include "message_form.hpp"

#include <superstep/messages/history.hpp>
#include <superstep/messages/message_json.hpp>

#include <array>
#include <sstream>
#include <stdexcept>

namespace superstep::conformance {

namespace {

json::value forms_of(const message_list& messages) {
  auto forms = json::array{};
  for (const auto& m : messages)
    forms.push_back(form_of(m));
  return json::object{{"messages", std::move(forms)}};
}

std::string text_of(const json::value& v) {
  return std::string{v.as_string()};
}

/// Returns the texts under a key, which holds one text or a list of texts.
std::vector<std::string> texts_in(const json::object& input, std::string_view key) {
  auto out = std::vector<std::string>{};
  const auto* value = input.if_contains(key);
  if (value && value->is_string())
    out.push_back(text_of(*value));
  else if (value && value->is_array())
    for (const auto& item : value->get_array())
      out.push_back(text_of(item));
  return out;
}

message_type type_named(std::string_view name) {
  constexpr auto types = std::array{message_type::human, message_type::ai,   message_type::system,
                                    message_type::tool,  message_type::chat, message_type::function,
                                    message_type::remove};
  for (const auto type : types)
    if (to_string(type) == name)
      return type;
  throw std::invalid_argument{"no message type"};
}

std::vector<message_type> types_in(const json::object& input, std::string_view key) {
  auto out = std::vector<message_type>{};
  for (const auto& name : texts_in(input, key))
    out.push_back(type_named(name));
  return out;
}

bool is_set(const json::object& input, std::string_view key) {
  const auto* value = input.if_contains(key);
  return value != nullptr && *value == true;
}

std::int64_t words_of(const message& m) {
  auto in = std::istringstream{superstep::text_of(m)};
  auto count = std::int64_t{0};
  for (auto word = std::string{}; in >> word;)
    ++count;
  return count;
}

json::value trim_case(const json::object& input) {
  auto options = trim_options{};
  options.tokens_max = input.at("max_tokens").to_number<std::int64_t>();
  if (input.at("token_counter") == "words")
    options.count = words_of;
  else if (input.at("token_counter") == "messages")
    options.count = [](const message&) { return std::int64_t{1}; };
  const auto* strategy = input.if_contains("strategy");
  if (strategy && *strategy == "first")
    options.strategy = trim_strategy::first;
  options.allow_partial = is_set(input, "allow_partial");
  options.include_system = is_set(input, "include_system");
  options.start_on = types_in(input, "start_on");
  options.end_on = types_in(input, "end_on");
  return forms_of(value_of(trim_messages(messages_in(input), options)));
}

json::value filter_case(const json::object& input) {
  auto filter = message_filter{};
  filter.include_names = texts_in(input, "include_names");
  filter.exclude_names = texts_in(input, "exclude_names");
  filter.include_ids = texts_in(input, "include_ids");
  filter.exclude_ids = texts_in(input, "exclude_ids");
  filter.include_types = types_in(input, "include_types");
  filter.exclude_types = types_in(input, "exclude_types");
  filter.exclude_all_calls = is_set(input, "exclude_tool_calls");
  filter.exclude_calls = texts_in(input, "exclude_tool_calls");
  return forms_of(filter_messages(messages_in(input), filter));
}

json::value merge_runs_case(const json::object& input) {
  const auto* separator = input.if_contains("chunk_separator");
  return forms_of(
      value_of(merge_message_runs(messages_in(input), separator ? text_of(*separator) : "\n")));
}

json::value buffer_string_case(const json::object& input) {
  const auto* format = input.if_contains("format");
  if (format && *format == "xml")
    return json::object{{"text", buffer_xml(messages_in(input))}};
  auto options = buffer_options{};
  if (const auto* prefix = input.if_contains("human_prefix"))
    options.human_prefix = text_of(*prefix);
  if (const auto* prefix = input.if_contains("ai_prefix"))
    options.ai_prefix = text_of(*prefix);
  return json::object{{"text", buffer_string(messages_in(input), options)}};
}

json::value count_case(const json::object& input) {
  return json::object{{"tokens", count_tokens_approximately(messages_in(input))}};
}

} // namespace

void add_message_list_cases(case_table& table) {
  table["msg.trim"] = trim_case;
  table["msg.filter"] = filter_case;
  table["msg.merge_runs"] = merge_runs_case;
  table["msg.buffer_string"] = buffer_string_case;
  table["msg.count_tokens_approximately"] = count_case;
}

} // namespace superstep::conformance
