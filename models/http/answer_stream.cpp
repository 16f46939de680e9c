// SPDX-License-Identifier: Apache-2.0
// Reads complete and streamed answers of all providers: parses events, checks limits and combines
// the pieces. models/providers converts JSON to messages; http_caller.cpp reads the bytes.
#include "models/http/answer_stream.hpp"

#include "base/ascii_text.hpp"
#include "messages/append_chunk.hpp"
#include "models/http/answer_json.hpp"
#include "models/http/call_count.hpp"
#include "models/providers/answer_end.hpp"
#include "models/providers/anthropic.hpp"
#include "models/providers/json_parts.hpp"
#include "models/providers/ollama.hpp"
#include "models/providers/openai_chat.hpp"
#include "models/providers/openai_responses.hpp"

#include <superstep/base/detail/assert.hpp>
#include <superstep/messages/messages.hpp>
#include <superstep/models/chat_model.hpp>

#include <boost/json/monotonic_resource.hpp>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <utility>

namespace superstep::models {

namespace {

using namespace providers;

/// Memory for parsing one answer or event. It is released when the answer or event has been read.
class loan {
public:
  // Does not set first_ to zero, unlike = default.
  loan() noexcept : memory_{first_.data(), first_.size()} {}
  /// Returns this memory only for chat completions. The readers of the other APIs copy values
  /// together with their memory resource, which must therefore outlive this object.
  [[nodiscard]] json::storage_ptr to(provider_api api) noexcept {
    return api == provider_api::openai_chat ? json::storage_ptr{&memory_} : json::storage_ptr{};
  }

private:
  std::array<unsigned char, 4096> first_;
  json::monotonic_resource memory_;
};

error bad_body(std::string what, std::string_view body) {
  return {model_errc::bad_answer, std::move(what) + "; the received text begins: " + excerpt(body)};
}

/// Returns the fault of a stream with damaged data, after which another attempt may succeed.
fault damaged(std::string text) {
  return {{model_errc::server_error, next_step::try_again, false}, std::move(text)};
}

/// Returns the fault of an answer that another attempt would not improve.
fault unusable(std::string text) {
  return {{model_errc::bad_answer, next_step::give_up, false}, std::move(text)};
}

bool is_error_event(const json::object& event) {
  if (member(event, "error") || text_in(event, "object") == "error")
    return true;
  return is_one_of(type_of(event), {"error", "response.failed"});
}

/// Whether a message is empty. Some servers send an empty chat completion without a finish reason
/// after an internal error.
bool says_nothing(const message& m) {
  const auto has_content = !m.content.empty() || (m.blocks && !m.blocks->empty());
  return !has_content && m.tool_calls.empty() && m.invalid_tool_calls.empty() &&
         !m.additional_kwargs.contains("refusal") && !m.additional_kwargs.contains("audio") &&
         !m.additional_kwargs.contains("reasoning_content") &&
         !m.additional_kwargs.contains("function_call");
}

/// Converts the combined lines of an Ollama answer to a message. If the answer was cut, its last
/// call becomes invalid: the server sends arguments as objects, so their text does not show that
/// they are incomplete.
message finished_line(message_chunk sum, const std::string& cut, bool ends_in_call) {
  auto out = to_answer(std::move(sum), cut);
  if (cut.empty() || !ends_in_call || out.tool_calls.empty())
    return out;
  auto& last = out.tool_calls.back();
  out.invalid_tool_calls.push_back(
      object_of_cut_answer(std::move(last.id), std::move(last.name), to_text(last.args), cut));
  out.tool_calls.pop_back();
  return out;
}

/// Reads an answer of Ollama that was not streamed, which is a single line.
result<message> read_stream_line(const json::object& line) {
  if (!object_in(line, "message") && !line.contains("error"))
    return providers::bad_answer("Ollama's answer has no member `message`");
  auto reader = ollama::line_reader{true};
  auto chunk = reader.read(line);
  if (!chunk)
    return std::move(chunk).error();
  if (!*chunk)
    return providers::bad_answer("the answer is empty");
  auto& metadata = (*chunk)->part.response_metadata;
  return finished_line(**std::move(chunk), why_cut(metadata), true);
}

result<message> read_whole(provider_api api, const json::object& answer) {
  switch (api) {
  case provider_api::openai_chat:
    return openai_chat::read_response(answer);
  case provider_api::openai_responses:
    return openai_responses::read_response(answer);
  case provider_api::anthropic:
    return anthropic::read_response(answer);
  case provider_api::ollama:
    break;
  }
  return read_stream_line(answer); // without streaming, the body is a single line
}

/// Returns the first choice of a chat completion; null without one.
const json::object* choice_in(const json::object& answer) {
  const auto* choices = array_in(answer, "choices");
  return choices && !choices->empty() ? choices->front().if_object() : nullptr;
}

/// Returns the object that contains the error of an answer; null if there is no error.
const json::object* failed_part(provider_api api, const json::object& answer) {
  if (!member(answer, "choices"))
    return is_error_event(answer) ? &answer : nullptr;
  const auto* choice = api == provider_api::openai_chat ? choice_in(answer) : nullptr;
  return choice && openai_chat::has_failed(*choice) ? choice : nullptr;
}

result<message> read_document(provider_api api, const json::object& answer, std::string_view body) {
  if (const auto* failed = failed_part(api, answer)) {
    const auto said = read_fault(*failed);
    return error{judge_fault(said).kind, "the provider answered with an error: " + said.text};
  }
  auto out = read_whole(api, answer);
  if (!out)
    return bad_body(out.error().text, body);
  const auto* choice = api == provider_api::openai_chat ? choice_in(answer) : nullptr;
  const auto* said = choice ? object_in(*choice, "message") : nullptr;
  if (!said)
    return out;
  openai_chat::keep_extras(out->additional_kwargs, *said);
  if (says_nothing(*out) && !member(*said, "content") && text_in(*choice, "finish_reason").empty())
    return bad_body("the message has neither text nor tool calls", body);
  return out;
}

std::string too_many_calls(std::size_t most) {
  return "the answer has more than " + std::to_string(most) +
         " tool calls or content blocks; raise tool_calls_max (limits.calls_per_answer in agent "
         "files)";
}

/// Makes all calls invalid, because their arguments may differ from what the model wrote.
void refuse_calls(message& m, const std::string& loss) {
  for (auto& call : std::exchange(m.tool_calls, {}))
    m.invalid_tool_calls.push_back(
        {std::move(call.id), std::move(call.name), to_text(call.args), "not valid JSON: " + loss});
}

} // namespace

result<message> read_answer(provider_api api, std::string_view body, std::size_t calls_max,
                            std::size_t spare) {
  if (is_blank(body))
    return error{errc::parse_failed, "the answer is empty"};
  if (calls_max != 0 && has_more_calls(api, body, calls_max, spare))
    return error{model_errc::bad_answer, too_many_calls(calls_max)};
  auto memory = loan{};
  const auto parsed = parse_answer_json(body, memory.to(api), spare);
  if (!parsed)
    return error{errc::parse_failed, bad_body("the answer is " + parsed.error().text, body).text};
  const auto* answer = parsed->value.if_object();
  if (answer == nullptr)
    return bad_body("the answer is not a JSON object", body);
  if (calls_max != 0 && count_calls(api, *answer) > calls_max)
    return error{model_errc::bad_answer, too_many_calls(calls_max)};
  auto out = read_document(api, *answer, body);
  if (out && !parsed->loss.empty())
    refuse_calls(*out, parsed->loss);
  return out;
}

answer_stream::answer_stream(provider_api api, const wire_request& asked, output_version version,
                             chunk_handler on_chunk, bounds limits,
                             std::vector<std::string> secrets)
    : api_{api}, version_{version}, on_chunk_{std::move(on_chunk)}, limits_{limits},
      secrets_{std::move(secrets)}, read_{make_reader(api, asked)}, events_{limits.event_bytes_max},
      lines_{limits.event_bytes_max} {}

answer_stream::event_reader answer_stream::make_reader(provider_api api,
                                                       const wire_request& asked) {
  switch (api) {
  case provider_api::openai_chat:
    return [r = openai_chat::event_reader{}](const json::object& event) mutable {
      return r.read(event);
    };
  case provider_api::openai_responses:
    return [r = openai_responses::event_reader{}](const json::object& event) mutable {
      return r.read(event);
    };
  case provider_api::anthropic:
    return [r = anthropic::event_reader{asked.text_only}](const json::object& event) mutable {
      return r.read(event);
    };
  case provider_api::ollama:
    break;
  }
  return [r = ollama::line_reader{asked.with_reasoning}](const json::object& line) mutable {
    return r.read(line);
  };
}

std::optional<fault> answer_stream::feed(std::string_view bytes) {
  const auto fed =
      api_ == provider_api::ollama ? lines_.feed(bytes, pending_) : events_.feed(bytes, pending_);
  if (!fed)
    return unusable(fed.error().text);
  held_bytes_ += bytes.size();
  return read_events();
}

std::optional<fault> answer_stream::end() {
  if (api_ == provider_api::ollama)
    if (auto rest = lines_.finish(); !rest.empty())
      pending_.push_back(std::move(rest));
  return read_events();
}

std::optional<fault> answer_stream::read_events() {
  constexpr auto frame_bytes = std::size_t{200}; // approximate size of the JSON around a text
  for (const auto& event : std::exchange(pending_, {})) {
    if (has_ended_)
      break;
    held_bytes_ -= std::min({held_bytes_, event.size(), frame_bytes});
    if (auto wrong = read_event(event)) {
      // The excerpt is made again after masking, because it could end inside a secret that is then
      // not recognised.
      if (const auto shown = without_secrets(event, secrets_); shown != event)
        wrong->text = "an event of the stream cannot be used: " + excerpt(shown, 500);
      return wrong;
    }
  }
  return std::nullopt;
}

std::optional<fault> answer_stream::read_event(std::string_view text) {
  if (text.starts_with("[DONE]")) {
    if (api_ == provider_api::openai_chat)
      end_stream();
    return std::nullopt;
  }
  if (limits_.calls_max != 0 && has_more_calls(api_, text, limits_.calls_max))
    return unusable(too_many_calls(limits_.calls_max));
  auto memory = loan{};
  const auto parsed = parse_answer_json(text, memory.to(api_));
  const auto* event = parsed ? parsed->value.if_object() : nullptr;
  if (event == nullptr) {
    auto what = std::string{"not UTF-8 text"};
    if (simdjson::validate_utf8(text.data(), text.size()))
      what = parsed ? "not a JSON object" : parsed.error().text;
    return damaged(bad_body("an event of the stream is " + what, text).text);
  }
  return read_event(*event, parsed->loss);
}

std::optional<fault> answer_stream::read_event(const json::object& event, const std::string& loss) {
  if (is_error_event(event))
    return stream_fault(event);
  if (limits_.calls_max != 0 && count_calls(api_, event) > limits_.calls_max)
    return unusable(too_many_calls(limits_.calls_max));
  // An answer whose last event follows without a stop reason is complete, as in Anthropic's SDK.
  const auto type = type_of(event);
  if (api_ == provider_api::anthropic && type == "message_stop")
    end_stream();
  auto read = read_(event);
  if (!read) {
    const auto* failed = failed_part(api_, event);
    return failed ? stream_fault(*failed) : damaged(read.error().text);
  }
  if (!*read)
    return std::nullopt;
  auto& piece = **read;
  if (api_ == provider_api::ollama)
    has_opened_ = has_opened_ || event.contains("message");
  // Ollama's lines and content_block_start contain the arguments as a JSON object, which parsing
  // has changed. The text added here makes the arguments invalid JSON, so the call is invalid.
  if (!loss.empty() && (api_ == provider_api::ollama || type == "content_block_start"))
    for (auto& call : piece.call_chunks)
      call.args = "(" + loss + ") " + call.args.value_or("");
  if (api_ == provider_api::anthropic && type == "message_start") {
    has_opened_ = true;
    // The provider's reader omits the id, as LangChain does. It is needed here for the metadata.
    if (const auto* begun = object_in(event, "message"))
      put_as(piece.part.response_metadata, "id", *begun, "id");
  }
  look_for_end(piece);
  return add(std::move(piece));
}

void answer_stream::look_for_end(const message_chunk& piece) {
  // Token counts and [DONE] follow the finish reason of a chat completion, and message_stop follows
  // the stop reason of Anthropic. The other APIs end with this event.
  if (api_ == provider_api::openai_chat)
    is_whole_ = is_whole_ || piece.part.response_metadata.contains("finish_reason");
  else if (api_ == provider_api::anthropic)
    is_whole_ = is_whole_ || piece.is_last;
  else if (piece.is_last || piece.part.response_metadata.contains("done"))
    end_stream();
}

void answer_stream::end_stream() {
  is_whole_ = true;
  has_ended_ = true;
}

bool answer_stream::is_begun() const noexcept {
  return has_opened_ || api_ == provider_api::openai_chat || api_ == provider_api::openai_responses;
}

std::optional<fault> answer_stream::add(message_chunk piece) {
  if (!piece.call_chunks.empty())
    ends_in_call_ = true;
  else if (!piece.part.content.empty())
    ends_in_call_ = false;
  if (on_chunk_)
    if (auto told = tell(piece); !told)
      return unusable(told.error().text);
  if (!sum_) {
    has_sorted_calls_ = has_sorted_calls(piece);
    sum_ = std::move(piece);
    return std::nullopt;
  }
  if (auto added = append_chunk(*sum_, std::move(piece), has_sorted_calls_); !added)
    return damaged(added.error().text);
  const auto blocks = sum_->part.blocks ? sum_->part.blocks->size() : std::size_t{0};
  if (limits_.calls_max != 0 && sum_->call_chunks.size() > limits_.calls_max)
    return unusable(too_many_calls(limits_.calls_max));
  if (blocks > limits_.parts_max)
    return unusable("the answer has more than " + std::to_string(limits_.parts_max) +
                    " content blocks");
  return std::nullopt;
}

result<> answer_stream::tell(message_chunk piece) {
  if (version_ == output_version::v1) {
    auto standard = standardizer_.standardize(std::move(piece));
    if (!standard)
      return std::move(standard).error();
    piece = *std::move(standard);
  }
  has_told_ = true;
  has_told_last_ = has_told_last_ || piece.is_last;
  on_chunk_(piece);
  return {};
}

result<message> answer_stream::finish() {
  SUPERSTEP_ASSERT(is_whole_);
  if (!is_begun())
    return error{errc::parse_failed,
                 "the stream does not contain the start of a message; check that the server at "
                 "base_url has this provider's API"};
  if (on_chunk_ && !has_told_last_)
    on_chunk_(last_chunk());
  if (!sum_)
    sum_ = last_chunk();
  const auto cut = why_cut_stream(sum_->part.response_metadata);
  auto sum = *std::exchange(sum_, std::nullopt);
  auto out = api_ == provider_api::ollama ? finished_line(std::move(sum), cut, ends_in_call_)
                                          : to_answer(std::move(sum), cut);
  if (api_ == provider_api::openai_chat && says_nothing(out) &&
      text_in(out.response_metadata, "finish_reason").empty())
    return error{model_errc::bad_answer, "the stream contains neither text nor tool calls"};
  return out;
}

} // namespace superstep::models
