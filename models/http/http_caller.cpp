// SPDX-License-Identifier: Apache-2.0
// Makes one attempt of a model call over HTTP: sends the request, reads the answer and classifies
// failures. models/provider_model.cpp repeats attempts and applies the limits.
#include "models/http/http_caller.hpp"

#include "base/ascii_text.hpp"
#include "models/http/provider_traits.hpp"
#include "models/whole_chunk.hpp"

#include <superstep/base/await.hpp>
#include <superstep/models/chat_model.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace superstep::models {

namespace {

using std::chrono::milliseconds;

constexpr auto media_type_max = std::size_t{100};

/// Maximum wait for the end of the body after the last event of a stream. Servers usually send both
/// together; the connection of a server that does not is closed.
constexpr auto body_end_max = milliseconds{100};

/// Reserves memory for one answer in the budget for all answers. The first 64 KiB of each answer
/// are free, so small answers take no lock and never wait for large ones.
///
/// An answer of known length reserves its length at once. Other answers double their reservation as
/// they grow. Few large answers are therefore received at the same time, and the others wait.
class answer_room {
public:
  explicit answer_room(const byte_budget& of) : lease_{of.open()} {}

  [[nodiscard]] std::size_t bytes() const noexcept { return granted_; }
  /// Extends the reservation to `bytes` if this is possible without waiting. Returns whether so
  /// much is now reserved; if not, the caller must await wait_for().
  [[nodiscard]] bool has(std::size_t bytes) {
    if (bytes <= granted_)
      return true;
    if (!lease_.try_grow(bytes - granted_))
      return false;
    granted_ = bytes;
    return true;
  }
  [[nodiscard]] task<void> wait_for(std::size_t bytes) {
    const auto more = bytes - granted_;
    granted_ = bytes;
    return lease_.grow(more);
  }
  [[nodiscard]] std::size_t doubled() const noexcept { return 2 * granted_; }

private:
  byte_budget::lease lease_;
  std::size_t granted_ = std::size_t{64} * 1024;
};

/// Returns the length of the body from the headers; nullopt if it is unknown or the body is
/// compressed.
std::optional<std::size_t> length_of(const http_response& head) {
  const auto* length = find_header(head.headers, "content-length");
  if (length == nullptr || find_header(head.headers, "content-encoding") != nullptr)
    return std::nullopt;
  auto out = std::size_t{0};
  const auto* end = length->data() + length->size();
  const auto read = std::from_chars(length->data(), end, out);
  return read.ec == std::errc{} && read.ptr == end ? std::optional{out} : std::nullopt;
}

std::string_view media_type(const http_response& head) {
  const auto* type = find_header(head.headers, "content-type");
  return type != nullptr ? std::string_view{*type}.substr(0, media_type_max) : std::string_view{};
}

/// Whether a status reports success. Gateways answer 201 to a POST request.
bool is_success(int status) {
  return status / 100 == 2;
}

/// Returns a media type without its parameters, in lower case (RFC 9110, section 8.3.1).
std::string essence_of(std::string_view type) {
  auto out = ascii_lower(type.substr(0, type.find(';')));
  while (out.ends_with(' ') || out.ends_with('\t'))
    out.pop_back();
  return out;
}

/// Whether the answer is a stream. Ollama and its proxies may label a stream of lines as
/// application/json.
bool is_stream(provider_api api, std::string_view type) {
  const auto essence = essence_of(type);
  return essence == traits_of(api).stream_type ||
         (api == provider_api::ollama && essence == "application/json");
}

/// Whether the type leaves open if the answer is a stream. Some servers do not label streams.
bool is_unclear(std::string_view type) {
  const auto essence = essence_of(type);
  return essence.empty() || essence == "text/plain" || essence == "application/octet-stream";
}

/// Whether an answer that begins like this is a stream of events, and not JSON or HTML. An empty
/// beginning belongs to a stream if the answer is labelled as one.
bool begins_with_event(std::string_view text, bool is_labelled) {
  if (text.starts_with("\xEF\xBB\xBF"))
    text.remove_prefix(3);
  const auto at = text.find_first_not_of(" \t\r\n");
  return at == std::string_view::npos
             ? is_labelled
             : std::string_view{"{[<"}.find(text[at]) == std::string_view::npos;
}

/// Returns the text for an error status: the message of the server, or the target of a redirect.
std::string status_text(const http_response& head, const server_fault& said) {
  constexpr auto url_max = std::size_t{500};
  const auto* moved = head.status / 100 == 3 ? find_header(head.headers, "location") : nullptr;
  if (moved == nullptr)
    return said.text.empty() ? fmt::format("status {} without a text", head.status)
                             : fmt::format("status {}: {}", head.status, said.text);
  // The query is omitted, because it may repeat that of the request.
  const auto address = std::string_view{*moved}.substr(0, moved->find('?'));
  return fmt::format("status {}: the server redirects to {}, and redirects are not followed; set "
                     "base_url to the new address of the API",
                     head.status, excerpt(address, url_max));
}

/// Names a content encoding that was not offered; empty if there is none.
std::string coding_label(const http_response& head) {
  const auto* coding = find_header(head.headers, "content-encoding");
  const auto is_known = coding == nullptr || equal_any_case(*coding, "gzip") ||
                        equal_any_case(*coding, "x-gzip") || equal_any_case(*coding, "identity");
  return is_known ? std::string{}
                  : fmt::format(" (its content encoding is \"{}\", but only gzip was offered)",
                                std::string_view{*coding}.substr(0, media_type_max));
}

/// Returns what the headers say about an answer that is not JSON; empty if they label it as JSON.
std::string label_of(const http_response& head) {
  if (auto coding = coding_label(head); !coding.empty())
    return coding;
  const auto type = media_type(head);
  if (type.empty())
    return " (it has no content type)";
  return essence_of(type) == "application/json"
             ? std::string{}
             : fmt::format(" (its content type is \"{}\")", type);
}

/// Returns the failure after the advice of the header x-should-retry, which the SDKs of OpenAI and
/// Anthropic follow as well.
failure advised(failure why, const http_response& head) {
  const auto* advice = find_header(head.headers, "x-should-retry");
  if (advice == nullptr)
    return why;
  if (*advice == "false")
    why.next = next_step::give_up;
  else if (*advice == "true" && why.next == next_step::give_up)
    why.next = next_step::try_again;
  return why;
}

} // namespace

attempt held_back() {
  return attempt{error{errc::cancelled, "held back"}, {}, {}, true};
}

http_caller::http_caller(const provider_model_options& options, const std::string& key,
                         http_client client, std::shared_ptr<model_limits> limits)
    : api_{options.api}, version_{options.version.value_or(output_version::v0)},
      answer_bytes_max_{options.answer_bytes_max},
      tool_calls_max_{options.tool_calls_max.value_or(0)}, wait_max_{options.retry_after_max},
      time_{options.time}, client_{std::move(client)}, limits_{std::move(limits)} {
  const auto query = std::min(options.base_url.find('?'), options.base_url.size());
  auto base = options.base_url.substr(0, query);
  while (base.ends_with('/'))
    base.pop_back();
  shown_url_ = std::move(base) + std::string{traits_of(api_).path};
  url_ = shown_url_ + options.base_url.substr(query);
  add_headers(headers_, api_, key);
  secrets_.push_back(key);
  for (const auto& [name, value] : options.headers) {
    std::erase_if(headers_, [&](const auto& known) { return equal_any_case(known.first, name); });
    headers_.emplace_back(name, value);
    secrets_.push_back(value);
  }
  std::erase_if(secrets_, [](const auto& secret) { return secret.empty(); });
}

task<attempt> http_caller::ask(const wire_request& asked, const chunk_handler& on_chunk) const {
  const auto is_held = std::make_shared<std::atomic<bool>>(false);
  auto& at = co_await this_context{};
  const auto sent = at.where->now();
  auto opening = client_.open(make_request(asked, is_held));
  auto opened = co_await opening;
  if (*is_held)
    co_return held_back();
  if (!opened)
    co_return broken(opened.error());
  auto& stream = *opened;
  // Before the body is read, because other calls could be sent in the meantime.
  apply_rates(stream.head(), sent, at.where->now());
  const auto type = media_type(stream.head());
  const auto has_answer = is_success(stream.head().status);
  auto streams = has_answer && is_stream(api_, type);
  auto first = std::string{};
  // Some servers do not label streams, and others label an error as a stream.
  if (has_answer && api_ != provider_api::ollama &&
      (streams || (asked.is_streamed && is_unclear(type)))) {
    auto beginning = stream.next();
    auto piece = co_await beginning;
    if (!piece)
      co_return broken(piece.error());
    first = std::move(*piece).value_or("");
    streams = begins_with_event(first, streams);
  }
  auto reading = streams ? read_events(stream, asked, on_chunk, std::move(first))
                         : read_whole(stream, on_chunk, std::move(first));
  auto out = co_await reading;
  out.wait = find_wait(stream.head());
  co_return out;
}

task<attempt> http_caller::read_events(http_stream& stream, const wire_request& asked,
                                       const chunk_handler& on_chunk, std::string first) const {
  auto limits = answer_stream::bounds{};
  limits.event_bytes_max = answer_bytes_max_;
  limits.calls_max = tool_calls_max_;
  auto answer = answer_stream{api_, asked, version_, on_chunk, limits, secrets_};
  auto wrong = std::optional<fault>{};
  auto room = answer_room{limits_->answers()};
  if (!first.empty())
    wrong = answer.feed(first);
  while (!wrong) {
    if (answer.has_ended()) {
      auto ending = stream.finish(body_end_max);
      co_await ending;
      break;
    }
    while (answer.held_bytes() > room.bytes())
      if (!room.has(room.doubled())) {
        auto waiting = room.wait_for(room.doubled());
        co_await waiting;
      }
    auto reading = stream.next();
    auto piece = co_await reading;
    if (!piece) {
      // If the answer is complete, a failure at the end of the connection does not matter.
      if (!answer.is_whole())
        wrong = fault{judge(piece.error().code), piece.error().text};
      break;
    }
    wrong = *piece ? answer.feed(**piece) : answer.end();
    if (!*piece)
      break;
  }
  if (!wrong && !answer.is_whole())
    wrong = fault{{model_errc::unreachable, next_step::try_again, false},
                  "the stream ended in the middle of the answer"};
  const auto has_told = answer.has_told();
  auto out = wrong ? failed(wrong->why, wrong->text + coding_label(stream.head()))
                   : answered(answer.finish());
  if (!out.answer && has_told)
    out.why.next = next_step::give_up; // pieces were passed to the caller and cannot be withdrawn
  co_return out;
}

task<attempt> http_caller::read_whole(http_stream& stream, const chunk_handler& on_chunk,
                                      std::string first) const {
  auto text = std::move(first);
  auto room = answer_room{limits_->answers()};
  auto wanted = std::min(length_of(stream.head()).value_or(0), answer_bytes_max_);
  for (;;) {
    if (!room.has(wanted)) {
      auto waiting = room.wait_for(wanted);
      co_await waiting;
    }
    // One more byte than expected, to detect the end.
    const auto asked = room.bytes() - text.size() + 1;
    auto reading = stream.next(asked);
    auto piece = co_await reading;
    if (!piece)
      co_return broken(piece.error());
    const auto is_end = !*piece || (*piece)->size() < asked;
    if (*piece && text.empty())
      text = **std::move(piece);
    else if (*piece)
      text += **piece;
    if (is_end)
      break;
    wanted = room.doubled();
  }
  auto out = judge_answer(stream.head(), text);
  if (out.answer && on_chunk)
    on_chunk(whole_chunk(**out.answer));
  co_return out;
}

attempt http_caller::judge_answer(const http_response& head, const std::string& body) const {
  if (!is_success(head.status)) {
    // Some servers repeat the rejected key in their error.
    const auto said = read_fault(without_secrets(body, secrets_));
    return failed(advised(judge(head.status, said.code, said.type), head), status_text(head, said),
                  head.status);
  }
  auto answer = read_answer(api_, body, tool_calls_max_, body.capacity() - body.size());
  if (!answer) // masks first, because an excerpt could end inside the key
    if (const auto shown = without_secrets(body, secrets_); shown != body)
      if (auto again = read_answer(api_, shown, tool_calls_max_); !again)
        answer = std::move(again);
  if (!answer)
    return answered(error{answer.error().code, answer.error().text + label_of(head)});
  return answered(std::move(answer));
}

/// Applies the limits that rate-limit headers report. The limiter knows which requests count
/// against a limit per minute, so it waits only until the oldest of them leaves the minute. If
/// nothing is left of another limit, all calls pause before the provider refuses one.
void http_caller::apply_rates(const http_response& head, model_limits::time_point sent,
                              model_limits::time_point now) const {
  const auto requests = read_rate(head.headers, "requests", time_->now());
  const auto tokens = read_rate(head.headers, "tokens", time_->now());
  const auto& rate = limits_->rate();
  if (requests || tokens)
    rate.observe(requests, tokens, sent, now);
  const auto ignored = ignored_remainders{requests && rate.is_per_minute(*requests),
                                          tokens && rate.is_per_minute(*tokens)};
  if (const auto wait = read_exhausted(head.headers, time_->now(), ignored))
    limits_->pause_until(now + std::min(*wait, wait_max_));
}

/// Returns the wait that the server requests before this call is repeated.
std::optional<milliseconds> http_caller::find_wait(const http_response& head) const {
  if (is_success(head.status))
    return std::nullopt;
  const auto asked = read_retry_after(head.headers, time_->now());
  const auto wait = asked ? asked : read_exhausted(head.headers, time_->now());
  return wait ? std::optional{std::min(*wait, wait_max_)} : std::nullopt;
}

attempt http_caller::answered(result<message> answer) const {
  if (answer && version_ == output_version::v1)
    answer = standardized(*std::move(answer));
  if (answer)
    return attempt{std::make_unique<message>(std::move(*answer)), {}, {}, false};
  return failed(models::judge_answer(answer.error().code), answer.error().text);
}

attempt http_caller::broken(const error& transport) const {
  auto out = failed(judge(transport.code), transport.text);
  if (is_shortage(transport.code)) // a shortage of this machine is not the provider's failure
    out.answer = error{errc::shortage, out.answer.error().text};
  return out;
}

attempt http_caller::failed(failure why, std::string_view text, int http_status) const {
  constexpr auto text_max = std::size_t{2'000};
  // Errors of the connection contain the URL already.
  const auto names_url = text.starts_with("POST ");
  const auto what = names_url ? shown(text) : fmt::format("{}: {}", shown_url_, shown(text));
  auto out = error{why.kind, excerpt(what, text_max)};
  out.http_status = http_status;
  return attempt{std::move(out), why, {}, false};
}

std::string http_caller::shown(std::string_view text) const {
  auto out = without_secrets(text, secrets_);
  const auto hidden = query();
  for (auto at = hidden.empty() ? std::string::npos : out.find(hidden); at != std::string::npos;
       at = out.find(hidden, at))
    out.erase(at, hidden.size());
  return out;
}

http_request http_caller::make_request(const wire_request& asked,
                                       std::shared_ptr<std::atomic<bool>> is_held) const {
  auto out = http_request{};
  out.method = "POST";
  out.url = url_;
  out.headers.emplace_back("Content-Type", "application/json");
  out.headers.emplace_back("Accept",
                           asked.is_streamed ? traits_of(api_).stream_type : "application/json");
  out.headers.insert(out.headers.end(), headers_.begin(), headers_.end());
  out.body = asked.body;
  out.may_go_out = [limits = limits_, is_held = std::move(is_held)] {
    *is_held = limits->rate().paused_until() > std::chrono::steady_clock::now();
    return !*is_held;
  };
  return out;
}

} // namespace superstep::models
