// SPDX-License-Identifier: Apache-2.0
// A model that records the answers of another model. journal_format.cpp formats the lines,
// recording_file.cpp writes the file, and replayed_model.cpp replays it.
#include "models/journal_format.hpp"
#include "models/recording_file.hpp"

#include <superstep/base/await.hpp>
#include <superstep/base/detail/assert.hpp>
#include <superstep/models/recorded_model.hpp>

#include <chrono>
#include <string>
#include <utility>

namespace superstep {

namespace {

using secret_list = std::shared_ptr<const std::vector<std::string>>;

class recording_model final : public chat_model {
public:
  recording_model(chat_model_ptr model, std::shared_ptr<models::recording_file> file,
                  secret_list secrets)
      : inner_{std::move(model)}, file_{std::move(file)}, secrets_{std::move(secrets)} {}

  task<result<message>> complete(model_request request) const override {
    return ask(inner_, file_, secrets_, std::move(request));
  }
  std::string fingerprint() const override { return inner_->fingerprint(); }

private:
  // The function is static, so that the coroutine owns all that it uses: it may outlive this
  // object.
  static task<result<message>> ask(chat_model_ptr inner,
                                   std::shared_ptr<models::recording_file> file,
                                   secret_list secrets, model_request request) {
    auto& at = co_await this_context{};
    const auto asked = at.where->now();
    const auto passed = [asked, where = at.where] {
      return std::chrono::duration<double, std::milli>{where->now() - asked}.count();
    };
    auto entry = models::journal_entry{};
    entry.run = request.run_key;
    entry.turn = request.turn;
    entry.attempt = request.attempt;
    entry.question = models::hash_of(request);
    // The lambda refers to this frame, which exists until the inner call has ended.
    if (request.on_chunk)
      request.on_chunk = [&entry, &passed,
                          forward = std::move(request.on_chunk)](const auto& piece) {
        entry.chunks.emplace_back(passed(), piece);
        forward(piece);
      };
    auto asking = inner->complete(std::move(request));
    entry.answer = co_await asking;
    entry.ms = passed();
    if (auto added = file->add(models::to_line(entry, *secrets)); !added)
      co_return std::move(added).error();
    co_return std::move(entry.answer);
  }

  chat_model_ptr inner_;
  std::shared_ptr<models::recording_file> file_;
  secret_list secrets_;
};

} // namespace

result<chat_model_ptr> record_model(chat_model_ptr model, std::string path, std::string* note,
                                    std::vector<std::string> secrets) {
  SUPERSTEP_ASSERT(model != nullptr);
  auto repaired = std::string{};
  auto opened = models::recording_file::open(std::move(path), repaired);
  if (!opened)
    return opened.error();
  if (note != nullptr)
    *note = std::move(repaired);
  auto file = std::make_shared<models::recording_file>(std::move(*opened));
  return std::make_shared<const recording_model>(
      std::move(model), std::move(file),
      std::make_shared<const std::vector<std::string>>(std::move(secrets)));
}

} // namespace superstep
