// SPDX-License-Identifier: Apache-2.0
// Models behind HTTP APIs: the retry loop and the checks of options. http/http_caller.cpp makes
// single attempts, retry.cpp classifies failures, and model_limits.cpp has the limits that models
// share.
#include "base/ascii_text.hpp"
#include "models/hash.hpp"
#include "models/http/http_caller.hpp"
#include "models/http/provider_traits.hpp"
#include "models/retry.hpp"
#include "models/token_estimate.hpp"
#include "net/url.hpp"

#include <superstep/base/await.hpp>
#include <superstep/models/chat_model.hpp>
#include <superstep/models/detail/call_activity.hpp>
#include <superstep/models/provider_model.hpp>
#include <superstep/net/http_client.hpp>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

namespace superstep {

namespace {

using models::attempt;
using models::next_step;
using models::wire_request;
using std::chrono::milliseconds;

/// The model that make_provider_model() returns.
class provider_model final : public chat_model {
public:
  provider_model(provider_model_options options, const std::string& key, http_client client,
                 std::shared_ptr<model_limits> limits)
      : options_{std::move(options)}, limits_{limits},
        caller_{options_, key, std::move(client), std::move(limits)} {}

  [[nodiscard]] task<result<message>> complete(model_request request) const override {
    // The request is written once, so that all attempts send the same bytes.
    const auto asked = models::write_request(options_, request);
    if (!asked)
      co_return asked.error();
    auto attempts = std::uint32_t{0};
    auto rate_limited = std::uint32_t{0};
    auto unusable = std::uint32_t{0};
    auto repeated = call_activity::repeated_call{limits_->activity().get()};
    for (;;) {
      auto trial = attempt_once(*asked, request);
      auto tried = co_await trial;
      if (tried.answer) {
        repeated.succeeded();
        co_return std::move(**tried.answer);
      }
      if (tried.why.next == next_step::give_up)
        co_return tried.answer.error();
      // Responses with status 429 are counted separately, so that they do not use up the attempts.
      auto& counter = tried.why.next == next_step::wait ? rate_limited : attempts;
      const auto most =
          tried.why.next == next_step::wait ? options_.rate_limited_max : options_.attempts_max;
      const auto is_final = tried.why.next == next_step::try_once && ++unusable > 1;
      if (++counter >= most || is_final)
        co_return given_up(tried, counter);
      repeated.failed(tried.answer.error().text);
      auto refused = std::optional<call_activity::waiting_call>{};
      if (tried.why.next == next_step::wait)
        refused.emplace(limits_->activity());
      report(request, {counter, most, tried.answer.error().text});
      auto rest = sleep_for{wait_after(tried, request, counter)};
      co_await rest;
    }
  }

  [[nodiscard]] std::string fingerprint() const override {
    // The query is replaced by its hash, because it may contain an API key.
    const auto query = caller_.query();
    return fmt::format("{} {}{} {} {}{}", models::traits_of(options_.api).name, caller_.url(),
                       query.empty() ? "" : '#' + models::hash_text(query), options_.model,
                       to_canonical_text(options_.parameters),
                       options_.version == output_version::v1 ? " v1" : "");
  }

private:
  /// Waits until the limits admit the call, and makes one attempt. The call counts as in flight
  /// until the answer is complete. Both references point into the frame of complete(), which awaits
  /// this task.
  task<attempt> attempt_once(const wire_request& asked, const model_request& request) const {
    // Estimated again until the call is admitted, because answers improve the estimate.
    const auto estimate = [this, bytes = asked.body.size(), output_max = output_max_of(request)] {
      return tokens_->of(bytes, output_max);
    };
    auto admitting = limits_->admit(request.run_key, rate_limiter::estimator{estimate});
    auto admitted = co_await admitting;
    const auto& rate = limits_->rate();
    auto& at = co_await this_context{};
    auto sent = at.where->now();
    auto asking = caller_.ask(asked, request.on_chunk);
    auto tried = co_await asking;
    // If a pause began after the limits had admitted the call, the caller does not send the
    // request. The reservation is then cancelled and made again.
    while (tried.is_held_back) {
      rate.cancel(admitted.reserved_at, admitted.tokens);
      auto counted = std::make_optional<call_activity::waiting_call>(limits_->activity());
      auto turn = rate.reserve(rate_limiter::estimator{estimate});
      const auto reserved = co_await turn;
      counted.reset();
      admitted.reserved_at = reserved.at;
      admitted.tokens = reserved.tokens;
      sent = at.where->now();
      auto again = caller_.ask(asked, request.on_chunk);
      tried = co_await again;
    }
    settle(tried, asked, admitted, sent, at.where->now());
    co_return tried;
  }

  /// Corrects the reserved tokens after an attempt, and reports its result to the limits.
  void settle(const attempt& tried, const wire_request& asked,
              const model_limits::admission& admitted, model_limits::time_point sent,
              model_limits::time_point now) const {
    const auto& rate = limits_->rate();
    if (tried.answer) {
      limits_->answered(now);
      if (const auto& usage = (*tried.answer)->usage) {
        tokens_->add(asked.body.size(), *usage);
        rate.settle(admitted.reserved_at, admitted.tokens, usage->total_tokens);
      }
    } else if (tried.why.is_overload) {
      rate.settle(admitted.reserved_at, admitted.tokens, 0); // the server did not read the request
      limits_->overloaded(sent, now, tried.wait ? std::optional{now + *tried.wait} : std::nullopt);
    }
  }

  /// Returns the wait before the next attempt: the time that the server requested, but at least a
  /// short growing backoff in case it keeps refusing. If the server requested no time, it is the
  /// usual backoff.
  [[nodiscard]] milliseconds wait_after(const attempt& tried, const model_request& request,
                                        std::uint32_t count) const {
    constexpr auto told_base = milliseconds{10};
    constexpr auto told_max = milliseconds{1'000};
    const auto base =
        tried.wait ? std::min(told_base, options_.backoff_base) : options_.backoff_base;
    const auto most = tried.wait ? std::min(told_max, options_.backoff_max) : options_.backoff_max;
    const auto jitter = models::backoff(base, most, request.run_key, request.turn, count);
    return std::max(jitter, tried.wait.value_or(milliseconds{0}));
  }

  void report(const model_request& request, const model_attempt& failed) const {
    if (options_.on_retry)
      options_.on_retry(failed);
    if (request.on_retry)
      request.on_retry(failed);
  }

  [[nodiscard]] static error given_up(const attempt& last, std::uint32_t count) {
    auto out = last.answer.error();
    out.text += count == 1 ? " (tried once)" : fmt::format(" (tried {} times)", count);
    return out;
  }

  /// Returns the parameter max_tokens of a call; nullopt if it is not set.
  [[nodiscard]] std::optional<std::int64_t> output_max_of(const model_request& request) const {
    auto out = std::optional<std::int64_t>{};
    for (const auto* from : {&options_.parameters, &request.parameters.get()})
      for (const auto* name : {"max_tokens", "max_completion_tokens", "max_output_tokens"})
        if (const auto* most = from->if_contains(name); most && most->is_int64())
          out = most->get_int64();
    return out;
  }

  provider_model_options options_;
  std::shared_ptr<model_limits> limits_;
  models::http_caller caller_;
  std::unique_ptr<models::token_estimate> tokens_ = std::make_unique<models::token_estimate>();
};

error bad_option(std::string text) {
  return {model_errc::bad_configuration, std::move(text)};
}

/// Returns the value of an environment variable; "" if it is not set.
std::string value_of(const std::string& variable) {
  const auto* value = std::getenv(variable.c_str()); // NOLINT(concurrency-mt-unsafe)
  return value == nullptr ? std::string{} : std::string{value};
}

/// Returns the environment variable of the API key; "" for a server without keys.
std::string key_variable(const provider_model_options& options) {
  return options.api_key_env.value_or(std::string{models::traits_of(options.api).key_env});
}

error missing_key(const std::string& variable) {
  return bad_option("environment variable " + variable +
                    " is not set or empty; set it to the API key, or set api_key_env to \"\" for a "
                    "server without keys");
}

/// Returns the API key; "" for a server without keys.
result<std::string> find_key(const provider_model_options& options) {
  const auto name = key_variable(options);
  if (name.empty())
    return std::string{};
  auto key = value_of(name);
  if (key.empty())
    return missing_key(name);
  if (std::any_of(key.begin(), key.end(), is_control))
    return bad_option("environment variable " + name +
                      " contains a line break or another control character, so its value cannot "
                      "be an API key; set it again without this character");
  return key;
}

error missing_header(const std::string& name, const std::string& variable) {
  return bad_option("headers_env: environment variable " + variable +
                    " is not set or empty; set it to the value of the header '" + name + '\'');
}

/// Replaces `headers_env` by headers with the values of the variables.
result<> add_headers_of_environment(provider_model_options& options) {
  for (const auto& [name, variable] : std::exchange(options.headers_env, {})) {
    auto value = value_of(variable);
    if (value.empty())
      return missing_header(name, variable);
    options.headers.emplace_back(name, std::move(value));
  }
  return {};
}

/// Returns a description of the first invalid header. It does not contain the value, which may be a
/// secret.
std::optional<std::string> wrong_header(const http_headers& headers) {
  constexpr auto of_token = std::string_view{"!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"};
  for (const auto& [name, value] : headers) {
    const auto lower = ascii_lower(name);
    if (lower.empty() || lower.find_first_not_of(of_token) != std::string::npos)
      return "headers: '" + name.substr(0, 50) + "' is not a valid header name";
    for (const auto* own : {"host", "content-length", "content-type", "transfer-encoding",
                            "connection", "accept", "accept-encoding", "expect", "upgrade"})
      if (lower == own)
        return "headers: '" + name + "' is set by the HTTP client and cannot be overridden";
    if (std::any_of(value.begin(), value.end(), is_control))
      return "headers: the value of '" + name + "' contains a control character";
  }
  return std::nullopt;
}

/// Whether the host is this machine, to which http without TLS is safe.
bool is_loopback(std::string_view host) {
  return host == "localhost" || host.ends_with(".localhost") || host == "::1" ||
         host.starts_with("127.");
}

/// Returns the options for the HTTP client.
http_client_options make_http_options(const provider_model_options& options,
                                      const model_limits& limits) {
  auto http = http_client_options{};
  // Enough connections for all calls that the limiter admits, so that an admitted call is sent at
  // once.
  http.connections_per_host_max =
      limits.calls().limit() == 0 ? std::size_t{100'000} : limits.calls().limit();
  http.connect_timeout = options.connect_timeout;
  http.idle_timeout = options.idle_timeout;
  http.total_timeout = options.total_timeout;
  http.response_bytes_max = options.answer_bytes_max;
  http.ca_file = options.ca_file;
  return http;
}

} // namespace

std::vector<std::string> secrets_of(const provider_model_options& options) {
  auto out = std::vector<std::string>{};
  if (const auto key = find_key(options); key && !key->empty())
    out.push_back(*key);
  // Works on a copy, in which the environment's values replace the names of variables.
  auto all = options;
  if (add_headers_of_environment(all))
    for (const auto& [name, value] : all.headers)
      out.push_back(value);
  return out;
}

std::vector<std::string> remove_missing_secrets(provider_model_options& options) {
  auto out = std::vector<std::string>{};
  if (const auto name = key_variable(options); !name.empty() && value_of(name).empty()) {
    out.push_back(missing_key(name).text);
    options.api_key_env = "";
  }
  std::erase_if(options.headers_env, [&out](const auto& header) {
    const auto& [name, variable] = header;
    if (!value_of(variable).empty())
      return false;
    out.push_back(missing_header(name, variable).text);
    return true;
  });
  return out;
}

std::vector<std::string> warnings_of(const provider_model_options& options) {
  const auto where = parse_url(options.base_url);
  if (!where || where->is_tls || is_loopback(where->host) || secrets_of(options).empty())
    return {};
  return {"the API key or a header value is sent to " + where->host +
          " over unencrypted http; use https"};
}

result<chat_model_ptr> make_provider_model(provider_model_options options, io_runtime& io,
                                           std::shared_ptr<model_limits> limits) {
  SUPERSTEP_ASSERT(limits != nullptr && options.time != nullptr);
  if (options.model.empty())
    return bad_option("model: is missing; set it to the name of the model on the server");
  if (options.attempts_max == 0 || options.rate_limited_max == 0)
    return bad_option("attempts_max and rate_limited_max must be at least 1");
  for (const auto wait : {options.backoff_base, options.backoff_max, options.retry_after_max})
    if (wait.count() < 0)
      return bad_option("backoff_base, backoff_max and retry_after_max must not be negative");
  if (options.base_url.empty())
    options.base_url = models::traits_of(options.api).base_url;
  if (const auto where = parse_url(options.base_url.substr(0, options.base_url.find('?'))); !where)
    return bad_option("base_url: " + where.error().text);
  if (!parse_url(options.base_url)) // its error would show the query
    return bad_option("base_url: the query contains a space or a control character");
  if (auto added = add_headers_of_environment(options); !added)
    return std::move(added).error();
  if (auto wrong = wrong_header(options.headers))
    return bad_option(*std::move(wrong));
  if (!options.version) {
    const auto version = default_output_version();
    if (!version)
      return version.error();
    options.version = *version;
  }
  auto key = find_key(options);
  if (!key)
    return std::move(key).error();
  auto client = http_client::make(io, make_http_options(options, *limits));
  if (!client)
    return bad_option(client.error().text);
  return std::make_shared<const provider_model>(std::move(options), *key, std::move(*client),
                                                std::move(limits));
}

} // namespace superstep
