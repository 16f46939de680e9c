// SPDX-License-Identifier: Apache-2.0
// Converts values that simdjson has parsed to JSON values and messages, for the rows of the input.
#include "element_json.hpp"

#include "base/utf8.hpp"
#include "json_text.hpp"

#include <superstep/messages/message_json.hpp>

#include <simdjson.h>

#include <algorithm>
#include <optional>

namespace superstep::detail {
namespace {

namespace dom = simdjson::dom;

json::array to_json_array(dom::array list) {
  auto out = json::array{};
  out.reserve(list.size());
  for (auto item : list)
    out.push_back(to_json_value(item));
  return out;
}

std::optional<message_type> simple_role(std::string_view role) noexcept {
  if (role == "user")
    return message_type::human;
  if (role == "system")
    return message_type::system;
  if (role == "assistant")
    return message_type::ai;
  return std::nullopt;
}

/// Reads a message that has only a role and a text. Returns false for any other message, which the
/// caller then reads with message_from_json().
bool read_simple_message(dom::element element, message& into) {
  auto object = dom::object{};
  auto role = std::string_view{};
  auto content = std::string_view{};
  if (element.get(object) != simdjson::SUCCESS || object.size() != 2 ||
      object.at_key("role").get(role) != simdjson::SUCCESS ||
      object.at_key("content").get(content) != simdjson::SUCCESS)
    return false;
  const auto type = simple_role(role);
  if (!type)
    return false;
  into.type = *type;
  into.content = content;
  return true;
}

} // namespace

json::object to_json_object(dom::object object) {
  auto out = json::object{};
  for (auto [name, value] : object)
    out.insert_or_assign(name, to_json_value(value));
  return out;
}

json::value to_json_value(dom::element element) {
  switch (element.type()) {
  case dom::element_type::ARRAY:
    return to_json_array(element.get_array().value_unsafe());
  case dom::element_type::OBJECT:
    return to_json_object(element.get_object().value_unsafe());
  case dom::element_type::INT64:
    return element.get_int64().value_unsafe();
  case dom::element_type::UINT64:
    return element.get_uint64().value_unsafe();
  case dom::element_type::DOUBLE:
    return element.get_double().value_unsafe();
  case dom::element_type::STRING: {
    auto text = element.get_string().value_unsafe();
    return json::value(json::string_view{text.data(), text.size()});
  }
  case dom::element_type::BOOL:
    return element.get_bool().value_unsafe();
  case dom::element_type::NULL_VALUE:
    break;
  }
  return nullptr;
}

std::optional<dom::element> value_at(dom::object from, std::string_view path) noexcept {
  auto value = dom::element{};
  if (from.at_key(path).get(value) == simdjson::SUCCESS)
    return value;
  const auto dot = path.find('.');
  auto inner = dom::object{};
  if (dot == std::string_view::npos ||
      from.at_key(path.substr(0, dot)).get(inner) != simdjson::SUCCESS)
    return std::nullopt;
  return value_at(inner, path.substr(dot + 1));
}

result<message_ptr> read_message(dom::element element, std::string_view list, std::size_t index) {
  auto out = std::make_shared<message>();
  if (read_simple_message(element, *out))
    return message_ptr{std::move(out)};
  auto read = message_from_json(to_json_value(element),
                                std::string{list} + '[' + std::to_string(index) + ']');
  if (!read)
    return read.error();
  *out = *std::move(read);
  return message_ptr{std::move(out)};
}

error bad_member(std::string_view name, std::string_view must_be) {
  auto text = '"' + std::string{name} + "\" must be ";
  return {errc::parse_failed, text.append(must_be)};
}

std::string quoted_excerpt(std::string_view text) {
  constexpr auto bytes_max = std::size_t{80};
  const auto shown = utf8_prefix(text, bytes_max);
  auto out = std::string{};
  append_quoted(out, shown);
  return shown.size() < text.size() ? out + "…" : out;
}

} // namespace superstep::detail
