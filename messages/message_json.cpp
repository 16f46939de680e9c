// SPDX-License-Identifier: Apache-2.0
// Writes messages as JSON, as a tree and directly as text. The lenient reader is
// message_reader.cpp, the strict one for checkpoints message_stored.cpp.
#include <superstep/messages/message_json.hpp>
#include <superstep/messages/messages.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace superstep {

namespace {

constexpr auto message_types = static_cast<std::size_t>(message_type::function) + 1;

/// langchain-core writes absent texts inside tool calls as null.
json::value text_or_null(const std::string& text) {
  return text.empty() ? json::value{} : json::value(text);
}

json::object calls_member(const tool_call& c) {
  return {{"name", c.name}, {"args", c.args}, {"id", text_or_null(c.id)}, {"type", "tool_call"}};
}

json::object calls_member(const invalid_tool_call& c) {
  return {{"name", text_or_null(c.name)},
          {"args", c.args},
          {"id", text_or_null(c.id)},
          {"error", text_or_null(c.error)},
          {"type", "invalid_tool_call"}};
}

/// Adds a list of calls unless it is empty.
template <class Call>
void add_calls(json::object& into, std::string_view key, const std::vector<Call>& calls) {
  if (calls.empty())
    return;
  auto list = json::array{};
  list.reserve(calls.size());
  for (const auto& c : calls)
    list.emplace_back(calls_member(c));
  into[key] = std::move(list);
}

/// The name of a member as it is written after another member: `,"name":`. It is made during
/// compilation, so that one call appends it. The name must not need escapes.
class member_name {
public:
  template <std::size_t N>
  consteval member_name(const char (&name)[N]) : size_{N + 3} { // NOLINT: names convert implicitly
    static_assert(N + 3 <= size_max);
    text_[0] = ',';
    text_[1] = text_[N + 1] = '"';
    for (auto i = std::size_t{0}; i + 1 < N; ++i)
      text_[i + 2] = name[i];
    text_[N + 2] = ':';
  }
  [[nodiscard]] std::string_view text() const noexcept { return {text_, size_}; }

private:
  static constexpr auto size_max = std::size_t{24};
  char text_[size_max] = {};
  std::size_t size_;
};

/// Writes the members of one JSON object with commas between them. foreign_key() is for names that
/// are not known and may need escapes.
class object_writer {
public:
  explicit object_writer(std::string& out) : out_{out} { out_ += '{'; }
  /// @param start the start of the object: a brace, members, and the name of a member whose value
  /// the caller writes
  object_writer(std::string& out, std::string_view start) : out_{out}, first_{false} {
    out_ += start;
  }

  std::string& key(const member_name& name) {
    out_ += name.text().substr(std::exchange(first_, false) ? 1 : 0);
    return out_;
  }
  std::string& foreign_key(std::string_view name) {
    if (!std::exchange(first_, false))
      out_ += ',';
    append_quoted(out_, name);
    out_ += ':';
    return out_;
  }
  void text(const member_name& name, std::string_view value) { append_quoted(key(name), value); }
  void text_unless_empty(const member_name& name, std::string_view value) {
    if (!value.empty())
      text(name, value);
  }
  void text_or_null(const member_name& name, std::string_view value) {
    if (value.empty())
      key(name) += "null";
    else
      text(name, value);
  }
  void object_unless_empty(const member_name& name, const json::object& value) {
    if (!value.empty())
      append_text(key(name), value);
  }
  void close() { out_ += '}'; }

private:
  std::string& out_;
  bool first_ = true;
};

void append_call(std::string& out, const tool_call& c) {
  auto w = object_writer{out};
  w.text("name", c.name);
  append_text(w.key("args"), c.args);
  w.text_or_null("id", c.id);
  out += R"(,"type":"tool_call"})";
}

/// Returns the start of the JSON form of a message, up to the value of `content`.
std::string_view start_of(message_type type) {
  static const auto all = [] {
    auto out = std::array<std::string, message_types>{};
    for (auto i = std::size_t{0}; i < out.size(); ++i) {
      auto w = object_writer{out[i]};
      w.text("type", to_string(static_cast<message_type>(i)));
      w.key("content");
    }
    return out;
  }();
  return all[static_cast<std::size_t>(type)];
}

void append_call(std::string& out, const invalid_tool_call& c) {
  auto w = object_writer{out};
  w.text_or_null("name", c.name);
  w.text("args", c.args);
  w.text_or_null("id", c.id);
  w.text_or_null("error", c.error);
  w.text("type", "invalid_tool_call");
  w.close();
}

template <class Call>
void append_calls(object_writer& w, const member_name& key, const std::vector<Call>& calls) {
  if (calls.empty())
    return;
  auto& out = w.key(key);
  auto separator = '[';
  for (const auto& c : calls) {
    out += separator;
    append_call(out, c);
    separator = ',';
  }
  out += ']';
}

/// Writes what to_json(token_usage) returns, in the same order of members.
void append_usage(std::string& out, const token_usage& u) {
  auto w = object_writer{out};
  w.key("input_tokens") += std::to_string(u.input_tokens);
  w.key("output_tokens") += std::to_string(u.output_tokens);
  w.key("total_tokens") += std::to_string(u.total_tokens);
  w.object_unless_empty("input_token_details", u.input_details);
  w.object_unless_empty("output_token_details", u.output_details);
  for (const auto& [key, value] : u.others)
    append_text(w.foreign_key({key.data(), key.size()}), value);
  w.close();
}

} // namespace

std::string_view to_string(message_type type) noexcept {
  // These names are part of the format of checkpoints and must not change.
  switch (type) {
  case message_type::human:
    return "human";
  case message_type::ai:
    return "ai";
  case message_type::system:
    return "system";
  case message_type::tool:
    return "tool";
  case message_type::remove:
    return "remove";
  case message_type::chat:
    return "chat";
  case message_type::function:
    return "function";
  }
  return "unknown";
}

// Both writers below use the same order of members; message_json_test checks that they agree.

json::object to_json(const message& m) {
  auto o = json::object{{"type", to_string(m.type)}};
  if (m.blocks)
    o["content"] = *m.blocks;
  else
    o["content"] = m.content;
  if (m.type == message_type::chat)
    o["role"] = m.role.value_or({});
  if (!m.name.empty() || m.type == message_type::function)
    o["name"] = m.name;
  if (!m.id.empty())
    o["id"] = m.id;
  add_calls(o, "tool_calls", m.tool_calls);
  add_calls(o, "invalid_tool_calls", m.invalid_tool_calls);
  if (m.usage)
    o["usage_metadata"] = to_json(*m.usage);
  if (!m.tool_call_id.empty() || m.type == message_type::tool)
    o["tool_call_id"] = m.tool_call_id;
  if (m.is_error)
    o["status"] = "error";
  if (!m.artifact.is_null())
    o["artifact"] = m.artifact;
  if (!m.additional_kwargs.empty())
    o["additional_kwargs"] = m.additional_kwargs;
  if (!m.response_metadata.empty())
    o["response_metadata"] = m.response_metadata;
  return o;
}

void append_json(std::string& out, const message& m) {
  auto w = object_writer{out, start_of(m.type)};
  if (m.blocks)
    append_text(out, *m.blocks);
  else
    append_quoted(out, m.content);
  if (m.type == message_type::chat)
    w.text("role", m.role.value_or({}));
  if (!m.name.empty() || m.type == message_type::function)
    w.text("name", m.name);
  w.text_unless_empty("id", m.id);
  append_calls(w, "tool_calls", m.tool_calls);
  append_calls(w, "invalid_tool_calls", m.invalid_tool_calls);
  if (m.usage)
    append_usage(w.key("usage_metadata"), *m.usage);
  if (!m.tool_call_id.empty() || m.type == message_type::tool)
    w.text("tool_call_id", m.tool_call_id);
  if (m.is_error)
    w.text("status", "error");
  if (!m.artifact.is_null())
    append_text(w.key("artifact"), m.artifact);
  w.object_unless_empty("additional_kwargs", m.additional_kwargs);
  w.object_unless_empty("response_metadata", m.response_metadata);
  w.close();
}

void append_json(std::string& out, const message_list& messages) {
  out += '[';
  for (auto i = std::size_t{0}; i < messages.size(); ++i) {
    if (i != 0)
      out += ',';
    append_json(out, messages[i]);
  }
  out += ']';
}

} // namespace superstep
