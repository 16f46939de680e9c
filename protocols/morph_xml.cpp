// SPDX-License-Identifier: Apache-2.0
#include "protocols/element_fallback.hpp"
#include "protocols/element_stream.hpp"
#include "protocols/morph_xml_body.hpp"
#include "protocols/morph_xml_prompt.hpp"
#include "protocols/parse_answer_tools.hpp"
#include "protocols/xml_layout.hpp"

#include <superstep/protocols/morph_xml.hpp>
#include <superstep/protocols/relaxed_json.hpp>

#include <utility>

namespace superstep {

namespace {

class morph_xml_protocol final : public tool_protocol {
public:
  std::string_view name() const noexcept override { return "morph_xml"; }

  std::string tool_list(const std::vector<protocol_tool>& tools) const override {
    return morph_xml::tool_paragraphs(tools);
  }
  std::string prompt(const std::vector<protocol_tool>& tools) const override {
    return morph_xml::system_prompt(tools);
  }
  std::string example_call(std::string_view tool, const json::value& arguments) const override {
    return call_xml(tool, arguments);
  }
  std::string format_call(std::string_view tool, std::string_view arguments) const override {
    auto parsed = parse_lenient_json(arguments);
    return call_xml(tool, parsed
                              ? *parsed
                              : json::value(json::string_view{arguments.data(), arguments.size()}));
  }
  std::string format_result(std::string_view tool, const json::value& result) const override {
    return result_xml(tool, result);
  }

  std::vector<parsed_part> parse(std::string_view text, const std::vector<protocol_tool>& tools,
                                 const protocol_error_handler& on_error) const override {
    const auto names = tool_names{tools};
    auto calls = find_xml_calls(text, names);
    if (calls.empty())
      if (const auto call = find_line_call(text, names))
        calls.push_back(*call);
    if (calls.empty())
      if (const auto call = find_torn_call(text, names))
        calls.push_back(*call);
    auto parts = part_list{};
    auto from = std::size_t{0};
    for (const auto& call : calls) {
      parts.add_text(text.substr(from, call.from - from));
      from = call.to;
      const auto body = text.substr(call.body_begin, call.body_end - call.body_begin);
      if (auto read = body_.read(body, *call.tool)) {
        parts.add_call({call.tool->name, to_text(*read)});
        continue;
      }
      const auto span = text.substr(call.from, call.to - call.from);
      parts.add_text(span);
      if (on_error)
        on_error({"malformed-tool-call-body", call.tool->name, std::string{span}});
    }
    parts.add_text(text.substr(from));
    return std::move(parts).take();
  }

  std::unique_ptr<protocol_stream> stream(const std::vector<protocol_tool>& tools,
                                          stream_options options, protocol_event_handler on_event,
                                          protocol_error_handler on_error) const override {
    return std::make_unique<element_stream>(body_, tools, options, std::move(on_event),
                                            std::move(on_error));
  }

private:
  morph_xml::body body_;
};

} // namespace

tool_protocol_ptr make_morph_xml() {
  return std::make_shared<const morph_xml_protocol>();
}

} // namespace superstep
