// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/whole_chunk.hpp"

#include <superstep/models/chat_model.hpp>

#include <mutex>
#include <utility>
#include <vector>

namespace superstep::test {

/// Returns the given answers in order, the last one repeatedly, and records the requests. For a
/// streaming caller each successful answer is one piece.
class scripted_answers final : public chat_model {
public:
  explicit scripted_answers(std::vector<result<message>> answers) : answers_{std::move(answers)} {}

  task<result<message>> complete(model_request request) const override {
    auto answer = answers_.front();
    {
      const auto lock = std::scoped_lock{mutex_};
      answer = answers_[std::min(asked_.size(), answers_.size() - 1)];
      asked_.push_back(request);
    }
    if (answer && request.on_chunk)
      request.on_chunk(models::whole_chunk(*answer));
    co_return answer;
  }
  std::string fingerprint() const override { return "scripted"; }

  [[nodiscard]] std::vector<model_request> asked() const {
    const auto lock = std::scoped_lock{mutex_};
    return asked_;
  }

private:
  std::vector<result<message>> answers_;
  mutable std::mutex mutex_;
  mutable std::vector<model_request> asked_;
};

} // namespace superstep::test
