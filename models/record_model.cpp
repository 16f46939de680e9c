// SPDX-License-Identifier: Apache-2.0
#include "models/journal_format.hpp"

#include <superstep/base/assert.hpp>
#include <superstep/base/await.hpp>
#include <superstep/models/model_journal.hpp>

#include <chrono>
#include <fstream>
#include <mutex>
#include <utility>

namespace superstep {

namespace {

/// A file that whole lines are added to, by any thread.
class journal_file {
public:
  explicit journal_file(std::string path)
      : path_{std::move(path)}, out_{path_, std::ios::binary | std::ios::app} {}

  [[nodiscard]] bool is_open() const { return out_.is_open(); }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] bool add(const std::string& line) {
    const auto lock = std::scoped_lock{mutex_};
    out_ << line << '\n' << std::flush;
    return out_.good();
  }

private:
  std::string path_;
  std::mutex mutex_;
  std::ofstream out_;
};

class recording_model final : public chat_model {
public:
  recording_model(chat_model_ptr model, std::shared_ptr<journal_file> file)
      : inner_{std::move(model)}, file_{std::move(file)} {}

  task<result<message>> complete(model_request request) const override {
    return ask(inner_, file_, std::move(request));
  }
  std::string fingerprint() const override { return inner_->fingerprint(); }

private:
  static task<result<message>> ask(chat_model_ptr inner, std::shared_ptr<journal_file> file,
                                   model_request request) {
    auto& at = co_await this_home{};
    const auto asked = at.where->now();
    const auto passed = [asked, where = at.where] {
      return std::chrono::duration<double, std::milli>{where->now() - asked}.count();
    };
    auto entry = models::journal_entry{};
    entry.run = request.run_key;
    entry.turn = request.turn;
    entry.question = models::hash_of(request);
    // The entry stands in this frame, which outlives the inner call.
    if (request.on_chunk)
      request.on_chunk = [&entry, &passed, tell = std::move(request.on_chunk)](const auto& piece) {
        entry.chunks.emplace_back(passed(), piece);
        tell(piece);
      };
    auto asking = inner->complete(std::move(request));
    entry.answer = co_await asking;
    entry.ms = passed();
    if (!file->add(models::to_line(entry)))
      co_return error{errc::io_failed, "cannot write to the journal " + file->path()};
    co_return std::move(entry.answer);
  }

  chat_model_ptr inner_;
  std::shared_ptr<journal_file> file_;
};

} // namespace

result<chat_model_ptr> record_model(chat_model_ptr model, std::string path) {
  SUPERSTEP_ASSERT(model != nullptr);
  auto file = std::make_shared<journal_file>(std::move(path));
  if (!file->is_open())
    return error{model_errc::bad_configuration,
                 "cannot open the journal " + file->path() + " for writing"};
  return std::make_shared<const recording_model>(std::move(model), std::move(file));
}

} // namespace superstep
