// SPDX-License-Identifier: Apache-2.0
// The yaml_xml protocol: prompt, history, streamed arguments and complete texts. Calls are found by
// elements/xml_calls.cpp and elements/element_stream.cpp. YAML is parsed by yaml_reader.cpp and
// written by yaml_writer.cpp.
#include "models/json_schema.hpp"
#include "protocols/argument_progress.hpp"
#include "protocols/elements/element_stream.hpp"
#include "protocols/elements/xml_calls.hpp"
#include "protocols/elements/xml_layout.hpp"
#include "protocols/elements/xml_scanner.hpp"
#include "protocols/protocol_parts.hpp"
#include "protocols/relaxed_json.hpp"
#include "protocols/text.hpp"
#include "protocols/yaml_xml/yaml.hpp"

#include <superstep/protocols/tool_protocol.hpp>

#include <algorithm>
#include <utility>

namespace superstep::yaml_xml {

/// Parses arguments written as a YAML mapping.
class body final : public call_body {
public:
  [[nodiscard]] bool close_has_spaces() const noexcept override { return false; }
  [[nodiscard]] result<json::value> read(std::string_view text,
                                         const protocol_tool& tool) const override;
  [[nodiscard]] std::unique_ptr<call_facts> facts(const protocol_tool& tool) const override;
  [[nodiscard]] std::unique_ptr<body_progress> progress(const protocol_tool& tool,
                                                        const call_facts* facts,
                                                        stream_output& output) const override;
};

namespace {

// Maximum number of bytes that are parsed repeatedly to report arguments early. After that, the
// rest is parsed once, when the call is complete.
constexpr auto reread_bytes_max = std::size_t{256} * 1024;

// Maximum number of bytes, counted from the end, in which settled_part() searches for a settled
// line.
constexpr auto walk_back_max = std::size_t{4096};

template <class Visit>
void for_each_line(std::string_view text, const Visit& visit) {
  for (auto from = std::size_t{0}; from < text.size();) {
    const auto end = std::min(text.find('\n', from), text.size());
    visit(text.substr(from, end - from), end < text.size());
    from = end + 1;
  }
}

/// Returns the position after the white space at the beginning of a line, but after at most `most`
/// characters, which `count` receives.
std::size_t skip_indent(std::string_view line, std::size_t most, std::size_t& count) {
  auto at = std::size_t{0};
  for (count = 0; count < most; ++count) {
    const auto length = text::space_at(line, at);
    if (length == 0)
      break;
    at += length;
  }
  return at;
}

/// Removes the line end at the beginning and the common indentation of all lines. Models indent
/// with spaces, with tabs or with no-break spaces.
std::string dedented(std::string_view text) {
  if (text.starts_with("\r\n"))
    text.remove_prefix(2);
  else if (text.starts_with('\n'))
    text.remove_prefix(1);
  auto common = text.size();
  auto count = std::size_t{0};
  for_each_line(text, [&](std::string_view line, bool) {
    if (skip_indent(line, common, count) < line.size() && !text::is_blank(line))
      common = count;
  });
  auto out = std::string{};
  out.reserve(text.size());
  for_each_line(text, [&](std::string_view line, bool has_end) {
    const auto rest = line.substr(skip_indent(line, common, count));
    // yaml-cpp takes a tab in an empty line for an indentation.
    if (!rest.starts_with('\t') || !text::is_blank(rest))
      out += rest;
    if (has_end)
      out += '\n';
  });
  // A block scalar at the end of the text has a line end, also if the model did not write it.
  if (!out.empty() && out.back() != '\n')
    out += '\n';
  return out;
}

/// Whether the line ends with the closing quote or bracket of its value. A quotation mark at the
/// end of a text without quotes closes nothing.
bool closes_value(std::string_view line) {
  constexpr auto closers = std::string_view{"\"'}]"};
  if (line.empty() || closers.find(line.back()) == closers.npos) // usual, and the line may be long
    return false;
  const auto key_end = line.find(": ");
  auto value = key_end == line.npos ? line : text::trim(line.substr(key_end + 2));
  while (value.starts_with("- "))
    value = text::trim(value.substr(2));
  const auto opener = line.back() == '}' ? '{' : line.back() == ']' ? '[' : line.back();
  return value.front() == opener || value.size() == 1;
}

/// Whether the line is empty or a comment, or is a key or a dash whose value has not arrived.
bool awaits_value(std::string_view line) {
  const auto code =
      line.starts_with('#') ? std::string_view{} : text::trim(line.substr(0, line.find(" #")));
  return code.empty() || code.ends_with(':') || code == "-" || code.ends_with(" -");
}

/// Returns the number of bytes of a growing body whose meaning cannot change; 0 if there are none.
///
/// The part ends with the last settled line. A line is settled if it ends with the closing quote or
/// bracket of its value. The last line is also settled if its line end has arrived and it does not
/// await a value.
///
/// @param walked incremented by the number of examined bytes
std::size_t settled_part(std::string_view body, std::size_t& walked) {
  auto has_end = body.ends_with('\n');
  auto end = body.size() - (has_end ? 1 : 0);
  const auto least = body.size() - std::min(body.size(), walk_back_max);
  while (end > least) {
    const auto begin = body.substr(0, end).rfind('\n') + 1; // npos + 1 is 0
    const auto line = text::trim(body.substr(begin, end - begin));
    walked += end - begin + 1;
    if ((has_end || closes_value(line)) && !awaits_value(line))
      return end + (has_end ? 1 : 0);
    end = begin == 0 ? 0 : begin - 1;
    has_end = false;
  }
  return 0;
}

/// Returns the string at the end of the value; null if the value ends with something else.
json::string* last_text(json::value& v) {
  auto* last = &v;
  while (last->is_structured()) {
    auto* list = last->if_array();
    auto* members = last->if_object();
    if (list != nullptr ? list->empty() : members->empty())
      return nullptr;
    last = list != nullptr ? &list->back() : &(members->end() - 1)->value();
  }
  return last->if_string();
}

class progress final : public body_progress {
public:
  progress(const call_body& reader, const protocol_tool& tool, stream_output& output)
      : reader_{reader}, tool_{tool}, output_{output} {}

  void advance(std::string_view body) override {
    // settled_part() can grow only if a line end, a closing quote or a closing bracket has arrived.
    const auto fresh = body.substr(seen_);
    seen_ = body.size();
    if (fresh.find_first_of("\n\"'}]") == fresh.npos || reread_ > reread_bytes_max ||
        !output_.progress().may_show())
      return;
    const auto end = settled_part(body, reread_);
    if (end <= shown_)
      return;
    shown_ = end;
    reread_ += end;
    auto value = reader_.read(body.substr(0, end), tool_);
    last_.reset();
    if (!value || !lists_are_lists(*value, tool_.schema))
      return;
    // How many line ends a literal block has at its end depends on the text after it. They are
    // removed while the arguments are reported, and then restored.
    auto* text = last_text(*value);
    const auto size = text != nullptr ? text->size() : 0;
    if (text != nullptr)
      text->resize(std::string_view{*text}.find_last_not_of('\n') + 1);
    output_.progress().show(*value);
    if (text != nullptr)
      text->append(size - text->size(), '\n');
    last_ = std::move(*value);
    last_size_ = end;
  }
  void end() override {}
  result<std::string> read(std::string_view text) override {
    // The complete body has usually just been parsed.
    if (last_ && last_size_ == text.size())
      return to_text(*last_);
    const auto arguments = reader_.read(text, tool_);
    if (!arguments)
      return arguments.error();
    return to_text(*arguments);
  }
  std::optional<std::string> read_unfinished(std::string_view text, std::size_t tail) override {
    auto arguments = read(text.substr(0, tail));
    if (!arguments)
      return {};
    return std::move(*arguments);
  }

private:
  const call_body& reader_;
  const protocol_tool& tool_;
  stream_output& output_;
  std::optional<json::value> last_; // the arguments that were parsed last
  std::size_t last_size_ = 0;       // length of the text from which last_ was parsed
  std::size_t seen_ = 0;            // length of the body in the last advance()
  std::size_t shown_ = 0;           // length of the part that has been reported
  std::size_t reread_ = 0;          // bytes parsed early; see reread_bytes_max
};

} // namespace

result<json::value> body::read(std::string_view text, const protocol_tool& tool) const {
  auto read = read_yaml(dedented(text));
  if (!read)
    return read.error();
  if (read->is_null()) // no text, only comments, or the value null
    *read = json::object{};
  if (!read->is_object())
    return error{errc::parse_failed, "the arguments are a YAML value, but not a mapping"};
  return coerce(std::move(*read), tool.schema);
}

std::unique_ptr<call_facts> body::facts(const protocol_tool&) const {
  return nullptr;
}

std::unique_ptr<body_progress> body::progress(const protocol_tool& tool, const call_facts*,
                                              stream_output& output) const {
  return std::make_unique<yaml_xml::progress>(*this, tool, output);
}

} // namespace superstep::yaml_xml

namespace superstep {

namespace {

std::string declarations(const std::vector<protocol_tool>& tools) {
  auto list = json::array{};
  for (const auto& tool : tools)
    list.emplace_back(tool.as_given);
  return to_text(json::value(std::move(list)));
}

std::string element(std::string_view tool, std::string_view yaml) {
  auto out = '<' + std::string{tool} + ">\n";
  out += yaml;
  return out + "\n</" + std::string{tool} + '>';
}

class yaml_xml_protocol final : public tool_protocol {
public:
  std::string_view name() const noexcept override { return "yaml_xml"; }

  std::string tool_list(const std::vector<protocol_tool>& tools) const override {
    return declarations(tools);
  }
  std::string prompt(const std::vector<protocol_tool>& tools) const override {
    return "# Tools\n\nYou can call tools. They are declared here, with a JSON Schema of their "
           "arguments:\n<tools>" +
           declarations(tools) +
           "</tools>\n\n# Form of a call\n"
           "A call is an XML element named after the tool. In it stand the arguments as a YAML "
           "mapping, a line per parameter:\n\n"
           "<get_weather>\nlocation: Seoul\nunit: celsius\n</get_weather>\n\n"
           "Write a text of several lines as a literal block:\n\n"
           "<write_file>\nfile_path: /tmp/notes.txt\ncontents: |\n  First line\n  Second line\n"
           "</write_file>\n\n"
           "- Names are case sensitive; tags have no attributes. Indent with spaces.\n"
           "- Give every required parameter. Do not invent tools, parameters or values: ask for "
           "what you do not know.\n"
           "- Several calls may stand one after the other. Reasons for a call go before it.\n"
           "- Write calls as they are, not in code fences. When no tool is needed, just answer.";
  }
  std::string example_call(std::string_view tool, const json::value& arguments) const override {
    return element(tool, escape_text(write_yaml(arguments)));
  }
  std::string format_call(std::string_view tool, std::string_view arguments) const override {
    if (const auto parsed = parse_lenient_json(arguments))
      return element(tool, write_yaml(*parsed));
    auto value = json::object{};
    value["value"] = json::string_view{arguments.data(), arguments.size()};
    return element(tool, write_yaml(json::value(std::move(value))));
  }
  std::string format_result(std::string_view tool, const json::value& result) const override {
    return result_xml(tool, result);
  }

  std::vector<parsed_part> parse(std::string_view text, const std::vector<protocol_tool>& tools,
                                 const protocol_error_handler& on_error) const override {
    const auto names = tool_names{tools};
    auto calls = find_xml_calls(text, names);
    if (calls.empty())
      if (const auto call = find_torn_call(text, names))
        calls.push_back(*call);
    const auto read = [&](const xml_call& call) {
      return body_.read(body_of(text, call), *call.tool);
    };
    return split_at_calls(text, calls, blank_text::drop, read, on_error);
  }

  std::unique_ptr<protocol_stream> stream(const std::vector<protocol_tool>& tools,
                                          stream_options options, protocol_event_handler on_event,
                                          protocol_error_handler on_error) const override {
    return std::make_unique<element_stream>(body_, tools, options, std::move(on_event),
                                            std::move(on_error));
  }

private:
  /// Returns the text between the tags of a call. A stream does not accept a close tag with spaces.
  /// Of such a tag, only as many bytes as `</name>` has are removed here: the rest makes the YAML
  /// invalid, so that this parser rejects the call too.
  static std::string_view body_of(std::string_view text, const xml_call& call) {
    const auto close = call.tool->name.size() + std::string_view{"</>"}.size();
    const auto end = call.to - call.body_end > close && text[call.body_end] == '<' ? call.to - close
                                                                                   : call.body_end;
    return text.substr(call.body_begin, end - call.body_begin);
  }

  yaml_xml::body body_;
};

} // namespace

tool_protocol_ptr make_yaml_xml() {
  return std::make_shared<const yaml_xml_protocol>();
}

} // namespace superstep
