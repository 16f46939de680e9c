// SPDX-License-Identifier: Apache-2.0
// Applies the limits of an agent file to recorded, replayed and scripted models. Provider models
// (models/http) apply the same limits themselves.
#include "agents/limited_model.hpp"

#include "base/awaited_ref.hpp"
#include "models/token_estimate.hpp"

#include <superstep/base/await.hpp>
#include <superstep/models/chat_model.hpp>

#include <fmt/format.h>

#include <utility>

namespace superstep::detail {

namespace {

std::size_t bytes_of(const model_request& request) {
  auto bytes = request.system ? request.system->content.size() : std::size_t{0};
  for (const auto& m : request.messages)
    bytes += m.content.size();
  return bytes;
}

class limited_model final : public chat_model {
public:
  limited_model(chat_model_ptr model, std::shared_ptr<model_limits> limits, std::size_t calls_max)
      : inner_{std::move(model)}, limits_{std::move(limits)},
        is_rated_{limits_->rate().has_limit()}, counts_tokens_{limits_->rate().limits_tokens()},
        calls_max_{calls_max} {}

  // The model outlives the task, so the task uses its members. Copies of the pointers for each call
  // would make all cores contend for their reference counts.
  task<result<message>> complete(model_request request) const override {
    // The estimate reads the whole conversation, so it is made only if there is a token limit.
    const auto bytes = counts_tokens_ ? bytes_of(request) : std::size_t{0};
    // Without a limit per minute, only the calls in flight are counted: no server reports such a
    // limit to these models later.
    auto permit = is_rated_ ? std::nullopt : limits_->calls().try_acquire();
    auto admitted = model_limits::admission{};
    if (permit) {
      admitted.permit = *std::move(permit);
    } else {
      const auto estimate = [tokens = counts_tokens_ ? tokens_ : nullptr, bytes] {
        return tokens ? tokens->of(bytes, std::nullopt) : 0;
      };
      auto admitting = limits_->admit(request.run_key, rate_limiter::estimator{estimate});
      admitted = co_await admitting;
    }
    auto asking = inner_->complete(std::move(request));
    auto ended = awaited_ref{asking};
    auto& reply = co_await ended;
    if (counts_tokens_ && reply && reply->usage) {
      tokens_->add(bytes, *reply->usage);
      limits_->rate().settle(admitted.reserved_at, admitted.tokens, reply->usage->total_tokens);
    }
    if (reply && calls_max_ != 0 && reply->tool_calls.size() > calls_max_)
      reply = error{model_errc::bad_answer,
                    fmt::format("the answer has {} tool calls; the maximum is {} "
                                "(limits.calls_per_answer)",
                                reply->tool_calls.size(), calls_max_)};
    co_return std::move(reply);
  }
  std::string fingerprint() const override { return inner_->fingerprint(); }

private:
  chat_model_ptr inner_;
  std::shared_ptr<model_limits> limits_;
  bool is_rated_; ///< whether there are limits per minute
  bool counts_tokens_;
  std::shared_ptr<models::token_estimate> tokens_ = std::make_shared<models::token_estimate>();
  std::size_t calls_max_;
};

} // namespace

chat_model_ptr limit_model(chat_model_ptr model, std::shared_ptr<model_limits> limits,
                           std::size_t calls_max) {
  return std::make_shared<const limited_model>(std::move(model), std::move(limits), calls_max);
}

} // namespace superstep::detail
