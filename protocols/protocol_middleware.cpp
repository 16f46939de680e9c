// SPDX-License-Identifier: Apache-2.0
// The middleware for tool calls as text: sends requests, repeats them if a call cannot be parsed,
// and builds the answer from the parsed calls. Requests are written by protocol_request.cpp,
// complete answers are parsed by parse_answer.cpp, forced calls by tool_choice.cpp.
#include "models/providers/answer_end.hpp"
#include "protocols/protocol_parts.hpp"
#include "protocols/protocol_request.hpp"
#include "protocols/relaxed_json.hpp"
#include "protocols/stream_output.hpp"
#include "protocols/text.hpp"

#include <superstep/base/detail/assert.hpp>
#include <superstep/messages/messages.hpp>
#include <superstep/models/chat_model.hpp>
#include <superstep/protocols/protocol_middleware.hpp>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

namespace superstep {

namespace {

// Members of response_metadata in which servers report why an answer ended.
constexpr auto reason_keys =
    std::array{std::string_view{"finish_reason"}, std::string_view{"stop_reason"},
               std::string_view{"done_reason"}};

/// Returns the reason for which the server cut the answer, such as `length`, `max_tokens` or
/// `content_filter`. Empty if the model ended the answer itself or the server reported nothing. An
/// unknown reason is treated as a cut, because running half a call is worse than asking again.
/// @return a view into `answer`
std::string_view cut_reason(const message& answer) {
  const auto& metadata = answer.response_metadata;
  for (const auto key : reason_keys) {
    const auto word = text::member_text(metadata, key);
    if (!word.empty() && !providers::is_normal_end(word))
      return word;
  }
  // OpenAI's Responses API reports a cut by the status, and its reason in another member.
  if (text::member_text(metadata, "status") != "incomplete")
    return {};
  const auto* details = metadata.if_contains("incomplete_details");
  if (details != nullptr && details->is_object())
    if (const auto word = text::member_text(details->get_object(), "reason"); !word.empty())
      return word;
  return "incomplete";
}

/// Returns a hash of two numbers; the constants are those of SplitMix64.
std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  auto x = a + 0x9e3779b97f4a7c15U * (b + 1);
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

/// Generates the ids of calls. They are unique within a run and the same when the run is replayed,
/// because they depend only on the run key, the turn and the number of messages.
class call_ids {
public:
  explicit call_ids(const model_request& request) {
    for (const auto c : request.run_key)
      seed_ = mixed(seed_, static_cast<unsigned char>(c));
    seed_ = mixed(mixed(seed_, request.turn), request.messages.size());
  }
  std::string next() {
    constexpr auto letters = std::string_view{"0123456789abcdefghijklmnopqrstuvwxyz"};
    auto id = std::string{"call_"};
    for (auto half = 0; half < 2; ++half) {
      auto bits = mixed(seed_, count_++);
      for (auto i = 0; i < 12; ++i, bits /= letters.size())
        id += letters[bits % letters.size()];
    }
    return id;
  }

private:
  std::uint64_t seed_ = 0;
  std::uint64_t count_ = 0;
};

void add_call(message& into, parsed_call call, call_ids& ids) {
  auto arguments = parse_lenient_json(call.arguments);
  if (arguments && arguments->is_object())
    into.tool_calls.push_back(
        {ids.next(), std::move(call.name), std::move(arguments->get_object())});
  else
    into.invalid_tool_calls.push_back({ids.next(), std::move(call.name), std::move(call.arguments),
                                       "the arguments are not a JSON object"});
}

bool is_unfinished(const protocol_error& e) {
  return e.code == "unfinished-tool-call" && !e.tool_name.empty();
}

/// Maximum number of invalid calls of one answer. The agent answers each with a separate message.
constexpr auto unreadable_calls_max = std::size_t{100};

std::string why_unreadable(const protocol_error& e, std::string_view cut) {
  if (e.code != "unfinished-tool-call")
    return "the call cannot be read (" + e.code +
           "); write it once more, exactly in the form that was described";
  if (cut.empty())
    return "the call has no end";
  return "the answer was cut (" + std::string{cut} +
         ") before the call was complete; nothing was run";
}

/// Adds an invalid call for each error. The agent answers an invalid call with its reason, so that
/// the model can write the call again.
void add_unreadable(message& into, std::vector<protocol_error> errors, call_ids& ids) {
  if (errors.empty())
    return;
  const auto cut = std::string{cut_reason(into)};
  const auto count = std::min(errors.size(), unreadable_calls_max);
  for (auto& e : std::span{errors}.first(count)) {
    auto why = why_unreadable(e, cut);
    into.invalid_tool_calls.push_back(
        {ids.next(), std::move(e.tool_name), std::move(e.segment), std::move(why)});
  }
  if (const auto more = errors.size() - count; more > 0)
    into.invalid_tool_calls.back().error +=
        "; " + std::to_string(more) + " further calls cannot be read either";
  if (cut.empty())
    into.response_metadata["finish_reason"] = "tool_calls";
}

/// Replaces the text of an answer by the texts and calls that were parsed from it.
message with_parts(message answer, std::vector<parsed_part> parts, call_ids& ids) {
  auto rest = std::string{};
  for (auto& part : parts)
    if (auto* text = std::get_if<parsed_text>(&part))
      rest += text->text;
    else
      add_call(answer, std::move(std::get<parsed_call>(part)), ids);
  const auto has_calls = !answer.tool_calls.empty() || !answer.invalid_tool_calls.empty();
  if (has_calls || rest != text_of(answer))
    replace_text(answer, std::move(rest));
  if (has_calls && cut_reason(answer).empty())
    answer.response_metadata["finish_reason"] = "tool_calls";
  return answer;
}

void add_usage(std::optional<token_usage>& sum, const optional_box<token_usage>& more) {
  if (!sum || !more) {
    if (!sum)
      sum = more;
    return;
  }
  auto total = *more; // only the three counts are added; details are those of the last answer
  total.input_tokens += sum->input_tokens;
  total.output_tokens += sum->output_tokens;
  total.total_tokens += sum->total_tokens;
  sum = std::move(total);
}

std::string feedback(const protocol_error& e) {
  return "Your last answer holds a tool call" +
         (e.tool_name.empty() ? std::string{} : " of " + e.tool_name) + " that cannot be read (" +
         e.code + "). Write it once more, complete and exactly in the form that was described.";
}

class protocol_middleware final : public model_middleware {
public:
  explicit protocol_middleware(protocol_options options)
      : options_{std::move(options)}, describer_{options_.protocol} {
    SUPERSTEP_ASSERT(options_.protocol != nullptr);
  }

  std::string fingerprint() const override {
    auto out = json::object{};
    out["protocol"] = options_.protocol->name();
    out["retries"] = options_.retries;
    if (options_.unclosed == unclosed_calls::refuse)
      out["unclosed"] = "refuse";
    // A custom prompt is a function and cannot be compared. Its text for no tools is used instead,
    // which changes in most cases when the function changes.
    const auto sample = std::vector<protocol_tool>{};
    if (options_.prompt)
      out["prompt"] = options_.prompt(*options_.protocol, sample);
    return to_canonical_text(out);
  }
  result<model_request> transform(model_request request) const override {
    const auto described = describer_.describe(request.tools);
    request.on_chunk = nullptr; // would receive the raw text of calls
    return protocol_request(std::move(request), *described, options_);
  }
  task<result<message>> wrap_generate(model_request asked, model_request request,
                                      generate_function next) const override;
  task<result<message>> wrap_stream(model_request asked, model_request request,
                                    stream_function next,
                                    protocol_event_handler on_event) const override;

private:
  struct reading {
    message answer;
    call_ids ids;
    std::vector<protocol_error> errors;
    bool refuses = false; // whether calls without an end were refused
  };
  /// Whether the answer already has calls, valid or invalid. The text of a model's answer with
  /// native calls is not parsed.
  static bool is_native(const message& answer) {
    return !answer.tool_calls.empty() || !answer.invalid_tool_calls.empty();
  }
  reading read(message answer, const model_request& asked,
               const std::vector<protocol_tool>& tools) const;
  [[nodiscard]] error too_many_calls() const {
    return error{model_errc::bad_answer,
                 "the answer has more than " + std::to_string(*options_.calls_max) +
                     " tool calls; raise calls_max (limits.calls_per_answer)"};
  }
  /// Returns the answer, or an error if it has more calls than protocol_options::calls_max.
  [[nodiscard]] result<message> limited(message answer) const {
    const auto calls = answer.tool_calls.size() + answer.invalid_tool_calls.size();
    if (options_.calls_max && calls > *options_.calls_max)
      return too_many_calls();
    return answer;
  }
  /// Whether a call without an end must be refused in this answer.
  bool refuses_unclosed(const message& answer) const {
    return options_.unclosed == unclosed_calls::refuse || !cut_reason(answer).empty();
  }
  /// Returns the texts and calls of a complete answer, without calls that have no end.
  ///
  /// Uses the parser for streams, which can refuse unclosed calls. parse_answer() cannot, because
  /// it also accepts calls that have no close tag: plain JSON, and elements after a line with a
  /// tool's name.
  std::vector<parsed_part> parse_closed(std::string_view text,
                                        const std::vector<protocol_tool>& tools,
                                        const protocol_error_handler& on_error) const;
  protocol_error_handler collect(std::vector<protocol_error>& into) const {
    return [this, &into](const protocol_error& e) {
      into.push_back(e);
      if (options_.on_error)
        options_.on_error(e);
    };
  }

  protocol_options options_;
  tool_describer describer_;
};

std::vector<parsed_part>
protocol_middleware::parse_closed(std::string_view text, const std::vector<protocol_tool>& tools,
                                  const protocol_error_handler& on_error) const {
  auto parts = std::vector<parsed_part>{};
  const auto reader = options_.protocol->stream(
      tools, {},
      [&](const protocol_event& e) {
        if (const auto* said = std::get_if<stream_text>(&e))
          parts.emplace_back(parsed_text{said->text});
        else if (const auto* call = std::get_if<stream_call>(&e))
          parts.emplace_back(call->parsed);
      },
      [&](const protocol_error& e) {
        if (!is_unfinished(e))
          parts.emplace_back(parsed_text{e.segment}); // unfinished calls become invalid calls
        on_error(e);
      });
  reader->refuse_unclosed();
  reader->write(text);
  reader->finish();
  return parts;
}

protocol_middleware::reading
protocol_middleware::read(message answer, const model_request& asked,
                          const std::vector<protocol_tool>& tools) const {
  auto out = reading{{}, call_ids{asked}, {}};
  const auto choice = tool_choice_of(asked).value(); // transform() has rejected invalid choices
  const auto type = text::view(choice.at("type").get_string());
  if (tools.empty() || type == "none" || is_native(answer)) {
    out.answer = std::move(answer);
    return out;
  }
  const auto text = text_of(answer);
  const auto on_error = collect(out.errors);
  auto parts = std::vector<parsed_part>{};
  out.refuses = type == "auto" && refuses_unclosed(answer);
  if (type != "auto")
    parts.emplace_back(parse_forced_call(text, tools, on_error));
  else if (out.refuses)
    parts = parse_closed(text, tools, on_error);
  else
    parts = parse_answer(*options_.protocol, text, tools, on_error);
  out.answer = with_parts(std::move(answer), std::move(parts), out.ids);
  return out;
}

task<result<message>> protocol_middleware::wrap_generate(model_request asked, model_request request,
                                                         generate_function next) const {
  const auto described = describer_.describe(asked.tools);
  const auto& tools = described->tools;
  auto usage = std::optional<token_usage>{};
  for (auto tries_left = options_.retries;; --tries_left) {
    auto asking = next(request);
    auto answer = co_await asking;
    if (!answer)
      co_return answer;
    add_usage(usage, answer->usage);
    auto said = text_of(*answer);
    auto read = this->read(std::move(*answer), asked, tools);
    if (tries_left == 0 || read.errors.empty() || is_native(read.answer)) {
      read.answer.usage = std::move(usage);
      // Only refused calls become invalid calls. Other calls with errors remain in the text.
      std::erase_if(read.errors, [&](const auto& e) { return !read.refuses || !is_unfinished(e); });
      add_unreadable(read.answer, std::move(read.errors), read.ids);
      co_return limited(std::move(read.answer));
    }
    request.messages.push_back(ai_message(std::move(said)));
    request.messages.push_back(human_message(feedback(read.errors.front())));
  }
}

task<result<message>> protocol_middleware::wrap_stream(model_request asked, model_request request,
                                                       stream_function next,
                                                       protocol_event_handler on_event) const {
  const auto described = describer_.describe(asked.tools);
  const auto& tools = described->tools;
  const auto choice = tool_choice_of(asked).value();
  if (tools.empty() || choice.at("type") != "auto") {
    // A forced call is one JSON value, which can be parsed only when it is complete.
    auto asking = next(std::move(request), [](const protocol_event&) {});
    auto answer = co_await asking;
    if (!answer)
      co_return answer;
    auto read = this->read(std::move(*answer), asked, tools);
    auto out = limited(std::move(read.answer));
    if (out)
      report_answer(*out, on_event);
    co_return out;
  }
  auto parts = std::vector<parsed_part>{};
  auto errors = std::vector<protocol_error>{};
  auto calls = std::size_t{0};
  auto is_over = false; // whether there are more calls than allowed; the rest is then ignored
  const auto reader = options_.protocol->stream(
      tools, options_.stream,
      [&](protocol_event e) {
        const auto* call = std::get_if<stream_call>(&e);
        is_over =
            is_over || (call != nullptr && options_.calls_max && ++calls > *options_.calls_max);
        if (is_over)
          return;
        if (const auto* text = std::get_if<stream_text>(&e))
          parts.emplace_back(parsed_text{text->text});
        else if (call != nullptr)
          parts.emplace_back(call->parsed);
        on_event(std::move(e));
      },
      collect(errors));
  auto asking = next(std::move(request), [&](const protocol_event& e) {
    if (is_over)
      return;
    if (const auto* text = std::get_if<stream_text>(&e))
      reader->write(text->text);
    else
      on_event(e);
  });
  auto answer = co_await asking;
  if (!answer)
    co_return answer;
  const auto refuses = refuses_unclosed(*answer);
  if (refuses)
    reader->refuse_unclosed();
  reader->finish();
  if (is_over)
    co_return too_many_calls();
  if (is_native(*answer))
    co_return limited(std::move(*answer));
  auto ids = call_ids{asked};
  auto read = with_parts(std::move(*answer), std::move(parts), ids);
  // With this option, calls with errors were reported as text. Only refused calls become invalid.
  if (options_.stream.emit_raw_on_error)
    std::erase_if(errors, [&](const auto& e) { return !refuses || !is_unfinished(e); });
  add_unreadable(read, std::move(errors), ids);
  co_return limited(std::move(read));
}

} // namespace

model_middleware_ptr make_protocol_middleware(protocol_options options) {
  return std::make_shared<const protocol_middleware>(std::move(options));
}

task<result<message>> complete_with_protocol(chat_model_ptr model, protocol_options options,
                                             model_request request) {
  const auto wrapped = wrap_model(std::move(model), {make_protocol_middleware(std::move(options))});
  auto asking = wrapped->complete(std::move(request));
  auto answer = co_await asking;
  co_return answer;
}

} // namespace superstep
