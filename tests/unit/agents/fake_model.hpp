// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/models/chat_model.hpp>

#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace superstep::testing {

/// Answers by turn number, repeats the last answer for later turns, and records its requests.
class fake_model final : public chat_model {
public:
  explicit fake_model(std::vector<message> answers) : answers_{std::move(answers)} {}

  task<result<message>> complete(model_request request) const override {
    const auto turn = static_cast<std::size_t>(request.turn);
    keep(std::move(request));
    if (answers_.empty())
      co_return error{model_errc::server_error, "the server is on fire"};
    co_return answers_[std::min(turn, answers_.size() - 1)];
  }
  std::string fingerprint() const override { return "fake"; }

  [[nodiscard]] std::vector<model_request> asked() const {
    const auto lock = std::scoped_lock{mutex_};
    return asked_;
  }

private:
  void keep(model_request request) const {
    const auto lock = std::scoped_lock{mutex_};
    asked_.push_back(std::move(request));
  }

  std::vector<message> answers_;
  mutable std::mutex mutex_;
  mutable std::vector<model_request> asked_;
};

} // namespace superstep::testing
