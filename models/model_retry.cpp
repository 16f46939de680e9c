// SPDX-License-Identifier: Apache-2.0
// Models that repeat failed calls or fall back to other models. Provider models have more precise
// retries of their own (provider_model.cpp).
#include "models/retry.hpp"

#include <superstep/base/await.hpp>
#include <superstep/base/detail/assert.hpp>
#include <superstep/models/chat_model.hpp>
#include <superstep/models/model_retry.hpp>

#include <algorithm>
#include <memory>
#include <utility>

namespace superstep {

namespace {

/// A request that can be sent several times. Records whether a piece of an answer was streamed.
struct watched_request {
  model_request request;
  std::shared_ptr<bool> was_streamed = std::make_shared<bool>(false);

  explicit watched_request(model_request r) : request{std::move(r)} {
    if (request.on_chunk)
      request.on_chunk = [streamed = was_streamed,
                          forward = std::move(request.on_chunk)](const auto& piece) {
        *streamed = true;
        forward(piece);
      };
  }
};

class retried_model final : public chat_model {
public:
  retried_model(chat_model_ptr model, model_retry_options options)
      : inner_{std::move(model)}, options_{std::move(options)} {}

  task<result<message>> complete(model_request request) const override {
    return attempt(inner_, options_, std::move(request));
  }
  /// Retries do not change answers, so the fingerprint is that of the inner model.
  std::string fingerprint() const override { return inner_->fingerprint(); }

private:
  // The function is static, so that the coroutine owns all that it uses: it may outlive this
  // object.
  static task<result<message>> attempt(chat_model_ptr inner, model_retry_options options,
                                       model_request asked) {
    const auto watched = watched_request{std::move(asked)};
    for (auto number = std::uint32_t{1};; ++number) {
      auto asking = inner->complete(watched.request);
      auto answer = co_await asking;
      if (answer || number >= options.attempts_max || *watched.was_streamed ||
          !options.retry_on(answer.error()))
        co_return answer;
      if (watched.request.on_retry)
        watched.request.on_retry(model_attempt{number, options.attempts_max, answer.error().text});
      auto rest = sleep_for{models::backoff(options.backoff_base, options.backoff_max,
                                            watched.request.run_key, watched.request.turn, number)};
      co_await rest;
    }
  }

  chat_model_ptr inner_;
  model_retry_options options_;
};

/// A model that asks several models in order until one answers.
class replaceable_model final : public chat_model {
public:
  replaceable_model(std::vector<chat_model_ptr> models,
                    std::function<bool(const error&)> fall_back_on)
      : models_{std::move(models)}, fall_back_on_{std::move(fall_back_on)} {}

  task<result<message>> complete(model_request request) const override {
    return ask_in_turn(models_, fall_back_on_, std::move(request));
  }
  std::string fingerprint() const override {
    auto out = std::string{};
    for (const auto& one : models_)
      out += (out.empty() ? "" : " or ") + one->fingerprint();
    return out;
  }

private:
  static task<result<message>> ask_in_turn(std::vector<chat_model_ptr> models,
                                           std::function<bool(const error&)> fall_back_on,
                                           model_request asked) {
    const auto watched = watched_request{std::move(asked)};
    for (auto i = std::size_t{0};; ++i) {
      auto asking = models[i]->complete(watched.request);
      auto answer = co_await asking;
      if (answer || i + 1 == models.size() || *watched.was_streamed ||
          !fall_back_on(answer.error()))
        co_return answer;
    }
  }

  std::vector<chat_model_ptr> models_;
  std::function<bool(const error&)> fall_back_on_;
};

} // namespace

bool is_worth_another_try(const error& e) {
  // Repeats all calls except those whose errors only the user can resolve.
  for (const auto final :
       {model_errc::bad_request, model_errc::unauthorized, model_errc::not_found,
        model_errc::quota_exhausted, model_errc::missing_turn, model_errc::bad_configuration})
    if (e.code == make_error_code(final))
      return false;
  return true;
}

chat_model_ptr with_retry(chat_model_ptr model, model_retry_options options) {
  SUPERSTEP_ASSERT(model != nullptr && options.attempts_max > 0 && options.retry_on);
  return std::make_shared<const retried_model>(std::move(model), std::move(options));
}

chat_model_ptr with_fallbacks(chat_model_ptr model, std::vector<chat_model_ptr> others,
                              std::function<bool(const error&)> fall_back_on) {
  others.insert(others.begin(), std::move(model));
  SUPERSTEP_ASSERT(std::none_of(others.begin(), others.end(), [](const auto& m) { return !m; }));
  return std::make_shared<const replaceable_model>(std::move(others), std::move(fall_back_on));
}

} // namespace superstep
