// SPDX-License-Identifier: Apache-2.0
#include "protocols/coerce_text.hpp"
#include "protocols/element_fallback.hpp"
#include "protocols/element_stream.hpp"
#include "protocols/parse_answer_tools.hpp"
#include "protocols/xml_layout.hpp"
#include "protocols/xml_writer.hpp"
#include "protocols/yaml_writer.hpp"
#include "protocols/yaml_xml_body.hpp"

#include <superstep/protocols/relaxed_json.hpp>
#include <superstep/protocols/yaml_xml.hpp>

#include <utility>

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
  return out + (yaml.ends_with('\n') ? "</" : "\n</") + std::string{tool} + '>';
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
    auto parts = part_list{};
    const auto add_text = [&](std::string_view piece) {
      if (!text::is_blank(piece))
        parts.add_text(piece);
    };
    auto from = std::size_t{0};
    for (const auto& call : calls) {
      add_text(text.substr(from, call.from - from));
      from = call.to;
      if (auto read = body_.read(body_of(text, call), *call.tool)) {
        parts.add_call({call.tool->name, to_text(*read)});
        continue;
      }
      const auto span = text.substr(call.from, call.to - call.from);
      add_text(span);
      if (on_error)
        on_error({"malformed-tool-call-body", call.tool->name, std::string{span}});
    }
    add_text(text.substr(from));
    return std::move(parts).take();
  }

  std::unique_ptr<protocol_stream> stream(const std::vector<protocol_tool>& tools,
                                          stream_options options, protocol_event_handler on_event,
                                          protocol_error_handler on_error) const override {
    return std::make_unique<element_stream>(body_, tools, options, std::move(on_event),
                                            std::move(on_error));
  }

private:
  /// A close tag with spaces in it is none for a stream; in a whole text it must not be one either.
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
