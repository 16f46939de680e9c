// SPDX-License-Identifier: Apache-2.0
// The schema of a struct as a response format, and the errors of responses that do not match it.
#include <superstep/agents/structured_response.hpp>
#include <superstep/base/error.hpp>

#include <algorithm>
#include <system_error>
#include <utility>

namespace superstep::detail {

namespace {

void make_nullable(json::object& schema);

/// Applies make_nullable() to all schemas inside of a schema.
void make_nullable_within(json::object& schema) {
  make_nullable(schema);
  for (const auto* name : {"items", "additionalProperties"})
    if (auto* inner = schema.if_contains(name))
      if (auto* object = inner->if_object())
        make_nullable_within(*object);
}

/// Makes all members of an object required, and those that were optional nullable.
void make_nullable(json::object& schema) {
  auto* properties = schema.if_contains("properties");
  if (properties == nullptr || !properties->is_object())
    return;
  const auto* listed = schema.if_contains("required");
  const auto required = listed != nullptr ? listed->as_array() : json::array{};
  auto all = json::array{};
  for (auto& member : properties->get_object()) {
    make_nullable_within(member.value().as_object());
    all.emplace_back(member.key());
    if (std::ranges::find(required, json::value(member.key())) != required.end())
      continue;
    auto either = json::array{std::move(member.value()), json::object{{"type", "null"}}};
    member.value() = json::object{{"anyOf", std::move(either)}};
  }
  schema["required"] = std::move(all);
}

/// Returns the name of a type without its namespace, with the letters that providers accept.
std::string title_of(const std::string& type) {
  const auto arguments = std::min(type.find('<'), type.size());
  const auto colon = type.rfind(':', arguments);
  auto title = type.substr(colon == std::string::npos ? 0 : colon + 1);
  for (auto& c : title)
    if ((c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9'))
      c = '_';
  return title;
}

} // namespace

response_format format_of_struct(json::object schema, const std::string& type) {
  make_nullable(schema);
  schema["title"] = title_of(type);
  auto out = response_format{};
  out.schema = std::move(schema);
  return out;
}

void throw_bad_response(const std::vector<argument_fault>& faults, const std::string& type) {
  auto text = "the structured response is not a valid " + type + ": ";
  for (const auto& fault : faults)
    text += (&fault == &faults.front() ? "" : "; ") +
            (fault.path.empty() ? std::string{} : fault.path + ' ') + fault.text;
  throw std::system_error{make_error_code(errc::parse_failed), text};
}

void throw_no_response() {
  throw std::system_error{make_error_code(errc::not_found),
                          "the run has no structured response: set agent_options::response, and "
                          "check that the run has finished"};
}

} // namespace superstep::detail
