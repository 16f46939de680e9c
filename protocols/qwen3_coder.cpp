// SPDX-License-Identifier: Apache-2.0
#include "protocols/coerce_text.hpp"
#include "protocols/parse_answer_tools.hpp"
#include "protocols/qwen3_coder_call.hpp"
#include "protocols/qwen3_coder_prompt.hpp"
#include "protocols/qwen3_coder_stream.hpp"
#include "protocols/qwen3_coder_tag.hpp"

#include <superstep/protocols/qwen3_coder.hpp>

#include <algorithm>
#include <utility>

namespace superstep {

namespace {

using namespace qwen3_coder;

/// Reads one whole text into parts.
class whole_reader {
public:
  whole_reader(std::string_view text, const std::vector<protocol_tool>& tools,
               const protocol_error_handler& on_error)
      : text_{text}, tools_{tools}, on_error_{on_error} {}

  std::vector<parsed_part> read() && {
    auto from = std::size_t{0};
    auto cursor = tag_cursor{text_};
    auto open = std::optional<tag>{};
    while (calls_ < answer_calls_max) {
      const auto t = cursor.next();
      if (!t)
        break;
      if (t->kind != tag_kind::block)
        continue;
      if (t->closing && open) {
        add_loose(text_.substr(from, open->from - from));
        add_block(*open, t->from, t->to);
        from = t->to;
        open.reset();
      } else if (!t->closing && !open) {
        open = t;
      }
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
  void add_block(const tag& open, std::size_t body_end, std::size_t end) {
    const auto body = text_.substr(open.to, body_end - open.to);
    auto calls = calls_of_block(body, open.value);
    if (std::ranges::none_of(calls, [](const auto& call) { return !call.name.empty(); }))
      return fail(cut_name(body), text_.substr(open.from, end - open.from));
    for (auto& call : calls)
      if (!call.name.empty() && ++calls_ <= answer_calls_max)
        parts_.add_call(finished(std::move(call), tools_));
  }

  /// Text outside blocks, in which calls may stand on their own.
  void add_loose(std::string_view text) {
    auto calls = calls_in(text, true);
    // Openings without an end count only when nothing better is there.
    const auto any_closed = std::ranges::any_of(calls, &found_call::closed);
    auto from = std::size_t{0};
    for (auto& call : calls) {
      if (any_closed ? !call.closed : call.name.empty())
        continue;
      parts_.add_text(text.substr(from, call.from - from));
      from = call.to;
      if (call.name.empty()) {
        fail({}, text.substr(call.from, call.to - call.from));
        continue;
      }
      from = behind_stray_close(text, from);
      ++calls_;
      parts_.add_call(finished(std::move(call), tools_));
    }
    parts_.add_text(text.substr(from));
  }

  /// The end of a block that was never opened belongs to the call before it.
  static std::size_t behind_stray_close(std::string_view text, std::size_t at) {
    const auto begin = text.size() - text::trim_start(text.substr(at)).size();
    if (begin >= text.size() || text[begin] != '<')
      return at;
    const auto t = tag_at(text, begin);
    return t && t->kind == tag_kind::block && t->closing ? t->to : at;
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
  std::size_t calls_ = 0; // and blocks that are none
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
    auto value = result;
    text::whole_numbers(value);
    const auto* s = value.if_string();
    return "<tool_response>\n" + (s ? std::string{text::view(*s)} : to_text(value)) +
           "\n</tool_response>";
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
