// SPDX-License-Identifier: Apache-2.0
// The qwen3_coder protocol: prompt, history and complete texts.
#include "models/json_schema.hpp"
#include "protocols/answer_parts.hpp"
#include "protocols/elements/xml_scanner.hpp"
#include "protocols/qwen3_coder/qwen3_coder_call.hpp"
#include "protocols/qwen3_coder/qwen3_coder_stream.hpp"
#include "protocols/qwen3_coder/qwen3_coder_tag.hpp"
#include "protocols/relaxed_json.hpp"
#include "protocols/text.hpp"

#include <superstep/protocols/tool_protocol.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace superstep::qwen3_coder {

namespace {

/// Formats a value. Booleans and null are in Python notation, which Qwen models were trained on;
/// lists and objects are JSON.
std::string value_text(const json::value& v) {
  if (v.is_bool())
    return v.get_bool() ? "True" : "False";
  if (v.is_null())
    return "None";
  return text::javascript_text(v);
}

bool is_xml_name(std::string_view s) {
  const auto is_letter = [](char c) {
    return (ascii_lower(c) >= 'a' && ascii_lower(c) <= 'z') || c == '_';
  };
  return !s.empty() && is_letter(s.front()) && std::ranges::all_of(s, [&](char c) {
    return is_letter(c) || text::is_digit(c) || c == '-' || c == '.';
  });
}

void add_element(std::string& out, std::string_view name, std::string_view text) {
  out += '\n';
  const auto plain = is_xml_name(name);
  const auto tag = plain ? std::string{name} : std::string{"property"};
  out += '<' + tag + (plain ? "" : " name=\"" + escape_attribute(name) + '"') + '>';
  out += escape_text(text) + "</" + tag + '>';
}

/// Adds an element for every member of the schema except those in `but`.
void add_members(std::string& out, const json::value& schema,
                 std::initializer_list<std::string_view> but) {
  if (const auto* members = schema.if_object())
    for (const auto& member : *members)
      if (std::ranges::find(but, text::view(member.key())) == but.end())
        add_element(out, text::view(member.key()), value_text(member.value()));
}

void add_parameter(std::string& out, std::string_view name, const json::value& schema) {
  out += "\n<parameter>";
  add_element(out, "name", name);
  if (const auto* type = schema::member(schema, "type")) {
    auto joined = std::string{};
    if (const auto* list = type->if_array())
      for (const auto& each : *list)
        joined += (joined.empty() ? "" : ",") + value_text(each);
    else
      joined = value_text(*type);
    add_element(out, "type", joined);
  }
  if (const auto* about = schema::member(schema, "description"); about && about->is_string())
    add_element(out, "description", text::trim(text::view(about->get_string())));
  add_members(out, schema, {"name", "type", "description"});
  out += "\n</parameter>";
}

/// Calls `add` with the name and value of each parameter. A list among the parameters is passed
/// item by item under the same name. Input that is not an object is passed as the parameter
/// `input`, except null and an empty text.
template <class Add>
void for_each_parameter(const json::value& input, const Add& add) {
  const auto* members = input.if_object();
  if (members == nullptr) {
    if (const auto* s = input.if_string(); !input.is_null() && (s == nullptr || !s->empty()))
      add("input", input);
    return;
  }
  for (const auto& member : *members)
    if (const auto* list = member.value().if_array())
      for (const auto& item : *list)
        add(text::view(member.key()), item);
    else
      add(text::view(member.key()), member.value());
}

/// Returns one `<function>` element per tool. Each line begins, not ends, with a line end.
std::string tool_elements(const std::vector<protocol_tool>& tools) {
  auto out = std::string{};
  for (const auto& tool : tools) {
    out += "\n<function>";
    add_element(out, "name", tool.name);
    if (!tool.description.empty())
      add_element(out, "description", text::trim(tool.description));
    out += "\n<parameters>";
    const auto& schema = schema::unwrap(tool.schema);
    if (const auto* properties = schema::properties(schema))
      for (const auto& property : *properties)
        add_parameter(out, text::view(property.key()), property.value());
    add_members(out, schema, {"type", "properties"});
    out += "\n</parameters>\n</function>";
  }
  return out;
}

std::string system_prompt(const std::vector<protocol_tool>& tools) {
  if (tools.empty())
    return {};
  return "# Tools\n\nYou can call the functions that are listed here:\n\n<tools>" +
         tool_elements(tools) +
         "\n</tools>\n\nWhen a function helps with what the user asks, write a call of this form, "
         "with nothing after it:\n\n"
         "<tool_call>\n<function=example_function>\n<parameter=example_parameter>\nvalue\n"
         "</parameter>\n<parameter=another_parameter>\nA value may have\nseveral lines.\n"
         "</parameter>\n</function>\n</tool_call>\n\n<IMPORTANT>\n"
         "- A call is a <function=...></function> element inside <tool_call></tool_call>.\n"
         "- Give every required parameter. Do not invent functions, parameters or values; ask for "
         "what you do not know.\n"
         "- Reasons for a call go before it, never after it.\n"
         "- When no function is needed, answer as you would without them and do not mention "
         "them.\n</IMPORTANT>";
}

/// Returns a sample call for the prompt, with unquoted names and values on separate lines.
std::string sample_call(std::string_view tool, const json::value& arguments) {
  auto out = "<tool_call>\n<function=" + std::string{tool} + ">\n";
  const auto add = [&](std::string_view name, const json::value& value) {
    out += "<parameter=" + std::string{name} + ">\n" + escape_text(text::javascript_text(value)) +
           "\n</parameter>\n";
  };
  if (const auto* members = arguments.if_object())
    for (const auto& member : *members)
      add(text::view(member.key()), member.value());
  else
    add("input", arguments);
  return out + "</function>\n</tool_call>";
}

/// Returns the text of an earlier call, with quoted names and indentation.
std::string past_call(std::string_view tool, std::string_view arguments) {
  auto parsed = parse_lenient_json(arguments);
  const auto input = parsed ? std::move(*parsed)
                            : json::value(json::string_view{arguments.data(), arguments.size()});
  auto out = "<tool_call>\n  <function=\"" + escape_attribute(tool) + "\">\n";
  const auto add = [&](std::string_view name, const json::value& value) {
    out += "    <parameter=\"" + escape_attribute(name) + "\">" + escape_text(value_text(value)) +
           "</parameter>\n";
  };
  // A list among the arguments is written as several parameters. If the input itself is a list, it
  // is written as one parameter.
  for_each_parameter(input, add);
  return out + "  </function>\n</tool_call>";
}

} // namespace

} // namespace superstep::qwen3_coder

namespace superstep {

namespace {

using namespace qwen3_coder;

/// A parser for one complete answer. It splits the answer at `<tool_call>` blocks and searches the
/// text between them for single calls.
class whole_reader {
public:
  whole_reader(std::string_view text, const std::vector<protocol_tool>& tools,
               const protocol_error_handler& on_error)
      : text_{text}, tools_{tools}, on_error_{on_error} {}

  std::vector<parsed_part> read() && {
    auto from = std::size_t{0};
    auto cursor = call_cursor{text_};
    auto open = std::optional<tag>{};
    auto t = cursor.next();
    while (t && calls_ < answer_calls_max) {
      if (!open && begins_single_call(*t)) {
        // A tag of a block may be part of a value of this call.
        t = cursor.end_of(*t, nullptr);
        continue;
      }
      if (t->kind == tag_kind::block && t->closing && open) {
        add_loose(text_.substr(from, open->from - from));
        add_block(*open, t->from, t->to);
        from = t->to;
        open.reset();
      } else if (t->kind == tag_kind::block && !t->closing && !open) {
        open = t;
      }
      t = cursor.next();
    }
    if (calls_ >= answer_calls_max) {
      parts_.add_text(text_.substr(from));
    } else if (open) {
      add_loose(text_.substr(from, open->from - from));
      add_block(*open, text_.size(), text_.size());
    } else {
      add_loose(text_.substr(from));
    }
    return std::move(parts_).take();
  }

private:
  [[nodiscard]] bool begins_single_call(const tag& t) const {
    if (t.kind != tag_kind::call || t.self_closing)
      return false;
    auto found = tag{};
    return opening_at(text_, t.from, true, found) == reading::tag;
  }

  void add_block(const tag& open, std::size_t body_end, std::size_t end) {
    const auto body = text_.substr(open.to, body_end - open.to);
    auto calls = calls_of_block(body, open.value);
    if (std::ranges::none_of(calls, [](const auto& call) { return !call.name.empty(); }))
      return fail(cut_name(body), text_.substr(open.from, end - open.from));
    for (auto& call : calls)
      if (!call.name.empty() && ++calls_ <= answer_calls_max)
        parts_.add_call(finished(std::move(call), tools_));
  }

  /// Adds text outside blocks, and the single calls in it.
  void add_loose(std::string_view text) {
    auto calls = calls_in(text, true);
    // Calls without a close tag are accepted only if the text has no call with a close tag.
    const auto any_closed = std::ranges::any_of(calls, &found_call::closed);
    auto from = std::size_t{0};
    for (auto& call : calls) {
      if (any_closed ? !call.closed : call.name.empty())
        continue;
      parts_.add_text(text.substr(from, behind_text(text, from, call.from) - from));
      from = call.to;
      if (call.name.empty()) {
        fail({}, text.substr(call.from, call.to - call.from));
        continue;
      }
      from = behind_stray_closes(text, from);
      ++calls_;
      parts_.add_call(finished(std::move(call), tools_));
    }
    parts_.add_text(text.substr(from));
  }

  /// Returns the position after the `</tool_call>` tags that follow a single call; `at` if no such
  /// tag follows. Models often write that close tag without the open tag, and it must not remain as
  /// text.
  static std::size_t behind_stray_closes(std::string_view text, std::size_t at) {
    while (true) {
      const auto space = space_before_tag_in(text.substr(at));
      if (!space || at + space->length >= text.size() || text[at + space->length] != '<')
        return at;
      const auto t = tag_at(text, at + space->length);
      if (!t || t->kind != tag_kind::block || !t->closing)
        return at;
      at = t->to;
    }
  }

  /// Returns the end of the text before a call: the position of the `</tool_call>` tags directly
  /// before the call, or of the call itself.
  static std::size_t behind_text(std::string_view text, std::size_t from, std::size_t call) {
    for (auto at = text.find('<', from); at < call; at = text.find('<', at + 1))
      if (const auto found = stray_closes_at(text, at, true);
          found.what == reading::tag && found.to == call)
        return at;
    return call;
  }

  void fail(std::string tool, std::string_view span) {
    ++calls_;
    parts_.add_text(span);
    if (on_error_)
      on_error_({"malformed-tool-call-body", std::move(tool), std::string{span}});
  }

  std::string_view text_;
  const std::vector<protocol_tool>& tools_;
  const protocol_error_handler& on_error_;
  part_list parts_;
  std::size_t calls_ = 0; // number of calls, including blocks that could not be parsed
};

class qwen3_coder_protocol final : public tool_protocol {
public:
  std::string_view name() const noexcept override { return "qwen3_coder"; }

  std::string tool_list(const std::vector<protocol_tool>& tools) const override {
    return tool_elements(tools);
  }
  std::string prompt(const std::vector<protocol_tool>& tools) const override {
    return system_prompt(tools);
  }
  std::string example_call(std::string_view tool, const json::value& arguments) const override {
    return sample_call(tool, arguments);
  }
  std::string format_call(std::string_view tool, std::string_view arguments) const override {
    return past_call(tool, arguments);
  }
  std::string format_result(std::string_view, const json::value& result) const override {
    return "<tool_response>\n" + text::javascript_text(result) + "\n</tool_response>";
  }

  std::vector<parsed_part> parse(std::string_view text, const std::vector<protocol_tool>& tools,
                                 const protocol_error_handler& on_error) const override {
    return whole_reader{text, tools, on_error}.read();
  }
  std::unique_ptr<protocol_stream> stream(const std::vector<protocol_tool>& tools,
                                          stream_options options, protocol_event_handler on_event,
                                          protocol_error_handler on_error) const override {
    return std::make_unique<qwen3_coder::stream>(tools, options, std::move(on_event),
                                                 std::move(on_error));
  }
};

} // namespace

tool_protocol_ptr make_qwen3_coder() {
  return std::make_shared<const qwen3_coder_protocol>();
}

} // namespace superstep
