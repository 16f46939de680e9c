// SPDX-License-Identifier: Apache-2.0
// A model that replays the answers that record_model.cpp has recorded.
#include "models/hash.hpp"
#include "models/journal_format.hpp"
#include "models/line_faults.hpp"
#include "models/read_text_file.hpp"

#include <superstep/base/await.hpp>
#include <superstep/models/recorded_model.hpp>

#include <fmt/format.h>

#include <limits>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>

namespace superstep {

namespace {

using entry_ptr = std::shared_ptr<const models::journal_entry>;

/// All answers of a recording, keyed by run, turn and request.
class journal {
public:
  /// Run, turn, hash of the request.
  using key = std::tuple<std::string, std::uint32_t, std::string>;

  /// Adds an answer. If a run was started several times, the latest start counts: an earlier one
  /// may have been cut off, so that the requests after its answer are not in the recording.
  void add(models::journal_entry entry) {
    auto& known = rows_[key{entry.run, entry.turn, entry.question}];
    if (!known.empty() && known.front()->attempt > entry.attempt)
      return;
    if (!known.empty() && known.front()->attempt < entry.attempt)
      known.clear();
    known.push_back(std::make_shared<const models::journal_entry>(std::move(entry)));
  }
  [[nodiscard]] bool is_empty() const { return rows_.empty(); }
  /// Returns the next answer to a request; null if there is none. Several answers to the same
  /// request are returned one after the other, and then again from the first.
  [[nodiscard]] entry_ptr next(const model_request& request) const {
    auto found = rows_.find({request.run_key, request.turn, models::hash_of(request)});
    if (found == rows_.end() && request.parameters.contains("seed")) {
      // The batch passes the seed of a sample also if the recorded API had no such parameter.
      auto without = request;
      without.parameters.erase("seed");
      found = rows_.find({request.run_key, request.turn, models::hash_of(without)});
    }
    if (found == rows_.end())
      return nullptr;
    const auto lock = std::scoped_lock{mutex_};
    return found->second[used_[found->first]++ % found->second.size()];
  }
  /// Returns why there is no answer to a request.
  [[nodiscard]] std::string why_none(const model_request& request) const {
    const auto is_known = [&](std::uint32_t turn_min, std::uint32_t turn_max) {
      const auto first = rows_.lower_bound({request.run_key, turn_min, ""});
      return first != rows_.end() && std::get<0>(first->first) == request.run_key &&
             std::get<1>(first->first) <= turn_max;
    };
    if (!is_known(0, std::numeric_limits<std::uint32_t>::max()))
      return fmt::format("{} has no answers of run \"{}\"", path, request.run_key);
    if (!is_known(request.turn, request.turn))
      return fmt::format("{} has no answer in turn {} of run \"{}\"", path, request.turn,
                         request.run_key);
    return fmt::format(
        "{} has no answer to this request in turn {} of run \"{}\": the messages, the "
        "prompt, the tools, the parameters or the response differ from those of "
        "the recorded request",
        path, request.turn, request.run_key);
  }
  std::string path;
  std::uint64_t content_hash = 0;

private:
  std::map<key, std::vector<entry_ptr>> rows_;
  mutable std::mutex mutex_;
  mutable std::map<key, std::size_t> used_;
};

class replayed_model final : public chat_model {
public:
  replayed_model(std::shared_ptr<const journal> from, bool with_timing)
      : journal_{std::move(from)}, with_timing_{with_timing} {}

  task<result<message>> complete(model_request request) const override {
    return play(journal_, with_timing_, std::move(request));
  }
  std::string fingerprint() const override {
    return fmt::format("replayed {:016x}", journal_->content_hash);
  }

private:
  // The function is static, so that the coroutine owns all that it uses: it may outlive this
  // object.
  static task<result<message>> play(std::shared_ptr<const journal> from, bool with_timing,
                                    model_request request) {
    const auto entry = from->next(request);
    if (!entry)
      co_return error{model_errc::missing_turn, from->why_none(request)};
    auto& at = co_await this_context{};
    const auto asked = at.where->now();
    const auto after = [asked](double ms) {
      return asked + std::chrono::duration_cast<std::chrono::nanoseconds>(
                         std::chrono::duration<double, std::milli>{ms});
    };
    if (request.on_chunk)
      for (const auto& [ms, piece] : entry->chunks) {
        if (with_timing) {
          auto rest = sleep_until{after(ms)};
          co_await rest;
        }
        request.on_chunk(piece);
      }
    if (with_timing) {
      auto rest = sleep_until{after(entry->ms)};
      co_await rest;
    }
    co_return entry->answer;
  }

  std::shared_ptr<const journal> journal_;
  bool with_timing_;
};

} // namespace

result<chat_model_ptr> make_replayed_model(replayed_model_options options) {
  const auto text = models::read_text_file(options.path, options.file_bytes_max);
  if (!text)
    return text.error();
  auto loaded = std::make_shared<journal>();
  loaded->path = options.path;
  loaded->content_hash = models::hash(*text);
  auto faults = models::line_faults{options.path};
  auto number = std::size_t{0};
  for (auto begin = std::size_t{0}; begin < text->size();) {
    const auto end = text->find('\n', begin);
    ++number;
    if (end == text->npos) { // the recording process died while it wrote the line
      if (options.note != nullptr)
        *options.note =
            fmt::format("{}:{}: the last line is incomplete and was ignored", options.path, number);
      break;
    }
    const auto line = std::string_view{*text}.substr(begin, end - begin);
    begin = end + 1;
    auto entry = models::read_line(line);
    if (entry)
      loaded->add(*std::move(entry));
    else
      faults.add(number, entry.error().text);
  }
  if (auto fault = std::move(faults).take())
    return *std::move(fault);
  if (loaded->is_empty())
    return error{model_errc::bad_configuration, options.path + ": has no recorded answers"};
  return std::make_shared<const replayed_model>(std::move(loaded), options.with_timing);
}

} // namespace superstep
