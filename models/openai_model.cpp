// SPDX-License-Identifier: Apache-2.0
#include "models/answer_reader.hpp"
#include "models/hash.hpp"
#include "models/openai_request.hpp"
#include "models/retry.hpp"
#include "models/sse_parser.hpp"

#include <superstep/base/await.hpp>
#include <superstep/models/model_error.hpp>
#include <superstep/models/openai_model.hpp>
#include <superstep/net/http_client.hpp>
#include <superstep/net/url.hpp>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <utility>

namespace superstep {

namespace {

using models::failure;
using models::next_step;
using std::chrono::milliseconds;

/// How one attempt ended.
struct attempt {
  result<message> answer;
  failure why;                      ///< when there is no answer
  std::optional<milliseconds> wait; ///< the server asks for it
  bool is_held_back = false;        ///< it did not go out
};

class openai_model final : public chat_model {
public:
  openai_model(openai_model_options options, std::string key, http_client client,
               std::shared_ptr<model_limits> limits)
      : options_{std::move(options)}, key_{std::move(key)}, client_{std::move(client)},
        limits_{std::move(limits)}, url_{options_.base_url + "/chat/completions"} {}

  [[nodiscard]] task<result<message>> complete(model_request request) const override {
    const auto body = models::write_request(options_, request);
    if (!body)
      co_return body.error();
    auto attempts = std::uint32_t{0};
    auto rate_limited = std::uint32_t{0};
    for (;;) {
      auto trial = attempt_once(*body);
      auto tried = co_await trial;
      if (tried.answer || tried.why.next == next_step::give_up)
        co_return std::move(tried.answer);
      auto& counter = tried.why.next == next_step::wait ? rate_limited : attempts;
      const auto most =
          tried.why.next == next_step::wait ? options_.rate_limited_max : options_.attempts_max;
      if (++counter >= most)
        co_return given_up(tried, counter);
      const auto jitter = models::backoff(options_.backoff_base_ms, options_.backoff_max_ms,
                                          request.run_key, request.turn, counter);
      auto rest = sleep_for{tried.wait ? *tried.wait : jitter};
      co_await rest;
    }
  }

  [[nodiscard]] std::string fingerprint() const override {
    return fmt::format("openai {} {} temperature={} max_tokens={}", url_, options_.model,
                       options_.temperature ? fmt::format("{}", *options_.temperature) : "default",
                       options_.max_tokens ? fmt::format("{}", *options_.max_tokens) : "default");
  }

private:
  // The coroutines below take references into the frame of complete(), which awaits them at once.

  /// One request, when the limits let it out. Holds its place in flight until the answer is whole.
  task<attempt> attempt_once(const std::string& body) const {
    auto line = limits_->calls().acquire();
    const auto permit = co_await line;
    const auto tokens = estimate_tokens(body);
    auto& at = co_await this_home{};
    auto sent = model_limits::time_point{};
    auto tried = held_back();
    while (tried.is_held_back) {
      auto turn = limits_->rate().reserve(tokens);
      co_await turn;
      sent = at.where->now();
      auto asking = ask(body);
      tried = co_await asking;
      if (tried.is_held_back)
        limits_->rate().settle(tokens, 0);
    }
    const auto now = at.where->now();
    if (tried.answer) {
      limits_->answered();
      limits_->rate().settle(tokens,
                             tried.answer->usage ? tried.answer->usage->total_tokens : tokens);
    } else if (tried.why.is_overload) {
      limits_->overloaded(sent, now);
    }
    co_return tried;
  }

  task<attempt> ask(const std::string& body) const {
    const auto is_held = std::make_shared<std::atomic<bool>>(false);
    auto opening = client_.open(make_http_request(body, is_held));
    auto opened = co_await opening;
    if (*is_held)
      co_return held_back();
    if (!opened)
      co_return broken(opened.error());
    auto& stream = *opened;
    const auto status = stream.head().status;
    // Before the body is read: every millisecond counts for the calls that are about to go out.
    const auto wait = find_wait(stream.head());
    if (wait) {
      auto& at = co_await this_home{};
      limits_->rate().pause_until(at.where->now() + *wait);
    }
    const auto* type = find_header(stream.head().headers, "content-type");
    const auto is_events = type != nullptr && type->starts_with("text/event-stream");
    if (status == 200 && is_events) {
      auto reading = read_events(stream);
      co_return co_await reading;
    }
    auto text = std::string{};
    for (;;) {
      auto reading = stream.next();
      auto piece = co_await reading;
      if (!piece)
        co_return broken(piece.error());
      if (!*piece)
        break;
      text += **piece;
    }
    auto judged_answer = judge_answer(status, text);
    judged_answer.wait = wait;
    co_return judged_answer;
  }

  task<attempt> read_events(http_stream& stream) const {
    auto parser = models::sse_parser{options_.answer_bytes_max};
    auto answer = models::answer_builder{};
    auto events = std::vector<std::string>{};
    for (;;) {
      auto reading = stream.next();
      auto piece = co_await reading;
      if (!piece) {
        // The answer itself was there: what broke is only the end of the connection.
        if (answer.is_done())
          break;
        co_return broken(piece.error());
      }
      if (!*piece)
        break;
      events.clear();
      const auto fed = parser.feed(**piece, events);
      if (!fed)
        co_return broken(fed.error());
      for (const auto& event : events)
        if (const auto added = answer.add(event); !added)
          co_return failed(failure{model_errc::server_error, next_step::try_again, false},
                           added.error().text);
    }
    if (!answer.is_whole())
      co_return failed(failure{model_errc::unreachable, next_step::try_again, false},
                       "the stream ended in the middle of the answer");
    co_return judged(answer.finish());
  }

  [[nodiscard]] attempt judge_answer(int status, const std::string& body) const {
    if (status == 200)
      return judged(models::read_answer(body));
    const auto fault = models::read_fault(body);
    return failed(models::judge(status, fault.code),
                  fmt::format("status {}: {}", status, fault.text));
  }

  /// How long nothing may go out. A provider that says that nothing remains is taken at its word
  /// before it has to refuse.
  [[nodiscard]] std::optional<milliseconds> find_wait(const http_response& head) const {
    auto wait = models::read_exhausted(head.headers);
    if (head.status != 200)
      if (const auto asked = models::read_retry_after(head.headers, options_.time->now()))
        wait = asked;
    if (wait)
      wait = std::min(*wait, milliseconds{options_.retry_after_max_ms});
    return wait;
  }

  /// A pause began between the permission to go out and the first byte: it is asked for again.
  [[nodiscard]] static attempt held_back() {
    return attempt{error{errc::cancelled, "held back"}, {}, {}, true};
  }

  [[nodiscard]] attempt judged(result<message> answer) const {
    if (answer)
      return attempt{std::move(answer), {}, {}, false};
    return failed(failure{model_errc::bad_answer, next_step::give_up, false}, answer.error().text);
  }

  [[nodiscard]] attempt broken(const error& transport) const {
    return failed(models::judge(transport.code), transport.text);
  }

  [[nodiscard]] attempt failed(failure why, std::string_view text) const {
    return attempt{error{why.kind, without_key(fmt::format("{}: {}", url_, text))}, why, {}, false};
  }

  [[nodiscard]] static error given_up(const attempt& last, std::uint32_t count) {
    return {last.answer.error().code,
            fmt::format("{} (given up after {} attempts)", last.answer.error().text, count)};
  }

  /// Servers repeat the key they refuse.
  [[nodiscard]] std::string without_key(std::string text) const {
    for (auto at = key_.empty() ? std::string::npos : text.find(key_); at != std::string::npos;
         at = text.find(key_, at))
      text.replace(at, key_.size(), "***");
    return text;
  }

  [[nodiscard]] http_request make_http_request(const std::string& body,
                                               std::shared_ptr<std::atomic<bool>> is_held) const {
    auto out = http_request{};
    out.method = "POST";
    out.url = url_;
    out.headers.emplace_back("Content-Type", "application/json");
    out.headers.emplace_back("Accept", options_.stream ? "text/event-stream" : "application/json");
    if (!key_.empty())
      out.headers.emplace_back("Authorization", "Bearer " + key_);
    out.body = body;
    out.may_go_out = [limits = limits_, is_held = std::move(is_held)] {
      *is_held = limits->rate().paused_until() > std::chrono::steady_clock::now();
      return !*is_held;
    };
    return out;
  }

  /// Four bytes to a token, and what may be answered: enough for a bucket that is settled later.
  [[nodiscard]] std::int64_t estimate_tokens(const std::string& body) const {
    return static_cast<std::int64_t>(body.size() / 4) + options_.max_tokens.value_or(256);
  }

  openai_model_options options_;
  std::string key_;
  http_client client_;
  std::shared_ptr<model_limits> limits_;
  std::string url_;
};

error bad_option(std::string text) {
  return {model_errc::bad_configuration, std::move(text)};
}

} // namespace

result<chat_model_ptr> make_openai_model(openai_model_options options, io_runtime& io,
                                         std::shared_ptr<model_limits> limits) {
  SUPERSTEP_ASSERT(limits != nullptr && options.time != nullptr);
  if (options.model.empty())
    return bad_option("an openai model needs the name of the model (model: …)");
  if (options.attempts_max == 0 || options.rate_limited_max == 0)
    return bad_option("attempts_max and rate_limited_max must be at least 1");
  while (options.base_url.ends_with('/'))
    options.base_url.pop_back();
  if (const auto where = parse_url(options.base_url); !where)
    return bad_option("base_url: " + where.error().text);
  auto key = std::string{};
  if (!options.api_key_env.empty()) {
    const auto* value = std::getenv(options.api_key_env.c_str()); // NOLINT(concurrency-mt-unsafe)
    if (value == nullptr || *value == '\0')
      return bad_option(
          "environment variable " + options.api_key_env +
          " holds no key; set it, or set api_key_env to \"\" for a server without keys");
    key = value;
  }
  auto http = http_client_options{};
  // Calls wait for the limiter, never for a connection: what it lets out must go out at once.
  http.connections_per_host_max =
      limits->calls().limit() == 0 ? std::size_t{100'000} : limits->calls().limit();
  http.connect_timeout_ms = options.connect_timeout_ms;
  http.idle_timeout_ms = options.idle_timeout_ms;
  http.total_timeout_ms = options.total_timeout_ms;
  http.response_bytes_max = options.answer_bytes_max;
  http.ca_file = options.ca_file;
  auto client = http_client::make(io, std::move(http));
  if (!client)
    return bad_option(client.error().text);
  return std::make_shared<const openai_model>(std::move(options), std::move(key),
                                              std::move(*client), std::move(limits));
}

} // namespace superstep
