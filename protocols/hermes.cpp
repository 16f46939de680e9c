// SPDX-License-Identifier: Apache-2.0
#include "protocols/coerce_text.hpp"
#include "protocols/hermes_body.hpp"
#include "protocols/hermes_prompt.hpp"
#include "protocols/hermes_scanner.hpp"
#include "protocols/hermes_stream.hpp"
#include "protocols/parse_answer_tools.hpp"

#include <superstep/protocols/hermes.hpp>
#include <superstep/protocols/relaxed_json.hpp>

#include <cstdint>
#include <map>
#include <utility>

namespace superstep {

namespace {

using namespace hermes;

/// Finds the ends of calls in one whole text in linear time.
///
/// A call without an end makes its open tag plain text, and the search begins anew behind it. Two
/// searches that are in the same mode at the same place go on alike; so the modes of searches that
/// came to nothing are noted at each open tag they passed, and a search that meets one gives up.
class call_finder {
public:
  explicit call_finder(std::string_view text) : text_{text} {}

  /// Where the close tag of the call stands whose body begins at `body`; npos: it has none.
  std::size_t close_of(std::size_t body) {
    auto search = scanner{body};
    auto passed = std::vector<std::pair<std::size_t, scanner::mode>>{};
    while (!is_lost(search)) {
      passed.emplace_back(search.at(), search.inside());
      const auto what = search.advance_to_tag(text_, true);
      if (what == found::close)
        return search.at();
      if (what == found::nested || !search.is_at_tag())
        break;
    }
    for (const auto& [at, inside] : passed)
      lost_[at] |= bit(inside);
    return std::string_view::npos;
  }

private:
  static std::uint8_t bit(scanner::mode m) {
    return static_cast<std::uint8_t>(1U << static_cast<unsigned>(m));
  }
  bool is_lost(const scanner& search) const {
    const auto found = lost_.find(search.at());
    return found != lost_.end() && (found->second & bit(search.inside())) != 0;
  }

  std::string_view text_;
  std::map<std::size_t, std::uint8_t> lost_; // per place behind an open tag: modes, as bits
};

class hermes_protocol final : public tool_protocol {
public:
  std::string_view name() const noexcept override { return "hermes"; }

  std::string tool_list(const std::vector<protocol_tool>& tools) const override {
    return tool_lines(tools);
  }
  std::string prompt(const std::vector<protocol_tool>& tools) const override {
    return system_prompt(tools);
  }
  std::string example_call(std::string_view tool, const json::value& arguments) const override {
    auto out = std::string{open_tag} + '\n';
    append_call(out, tool, arguments);
    out += '\n';
    return out += close_tag;
  }
  std::string format_call(std::string_view tool, std::string_view arguments) const override {
    auto parsed = parse_lenient_json(arguments);
    auto out = std::string{open_tag};
    append_call(out, tool,
                parsed ? *parsed
                       : json::value(json::string_view{arguments.data(), arguments.size()}));
    return out += close_tag;
  }
  std::string format_result(std::string_view tool, const json::value& result) const override {
    auto out = std::string{R"(<tool_response>{"name":)"};
    append_quoted(out, tool);
    out += R"(,"content":)";
    auto content = result;
    text::whole_numbers(content);
    append_text(out, content);
    return out += "}</tool_response>";
  }

  std::vector<parsed_part> parse(std::string_view text, const std::vector<protocol_tool>& tools,
                                 const protocol_error_handler& on_error) const override;

  std::unique_ptr<protocol_stream> stream(const std::vector<protocol_tool>& tools,
                                          stream_options options, protocol_event_handler on_event,
                                          protocol_error_handler on_error) const override {
    return std::make_unique<hermes::stream>(tools, options, std::move(on_event),
                                            std::move(on_error));
  }

private:
  static void append_call(std::string& out, std::string_view tool, json::value arguments) {
    text::whole_numbers(arguments);
    out += R"({"name":)";
    append_quoted(out, tool);
    out += R"(,"arguments":)";
    append_text(out, arguments);
    out += '}';
  }
};

std::vector<parsed_part> hermes_protocol::parse(std::string_view text,
                                                const std::vector<protocol_tool>& tools,
                                                const protocol_error_handler& on_error) const {
  auto parts = part_list{};
  const auto add_text = [&](std::string_view piece) {
    if (!text::is_blank(piece))
      parts.add_text(piece);
  };
  auto finder = call_finder{text};
  auto shapes = argument_shapes{tools};
  auto from = std::size_t{0};
  auto calls = std::size_t{0};
  for (auto open = text.find(open_tag); open != text.npos && calls < answer_calls_max;
       open = text.find(open_tag, from)) {
    add_text(text.substr(from, open - from));
    const auto begin = open + open_tag.size();
    const auto close = finder.close_of(begin);
    if (close == text.npos) {
      add_text(open_tag);
      from = begin;
      continue;
    }
    const auto body = text.substr(begin, close - begin);
    from = close + close_tag.size();
    ++calls;
    if (auto call = read_body(body, tools, shapes, repair::yes)) {
      parts.add_call(std::move(*call));
      continue;
    }
    const auto span = text.substr(open, from - open);
    add_text(span);
    if (on_error)
      on_error({"malformed-tool-call-body", name_in(body), std::string{span}});
  }
  add_text(text.substr(from));
  return std::move(parts).take();
}

} // namespace

tool_protocol_ptr make_hermes() {
  return std::make_shared<const hermes_protocol>();
}

} // namespace superstep
