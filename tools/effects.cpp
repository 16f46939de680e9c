// SPDX-License-Identifier: Apache-2.0
// Tools whose calls must not have their effect twice: idempotent() and journaled().
#include "base/held_exception.hpp"
#include "base/utf8.hpp"
#include "checkpoint/lease_queue.hpp"
#include "effect_text.hpp"
#include "failed_call.hpp"

#include <superstep/base/await.hpp>
#include <superstep/base/detail/assert.hpp>
#include <superstep/checkpoint/checkpointer.hpp>
#include <superstep/runtime/detail/node_body.hpp>
#include <superstep/runtime/detail/runtime_access.hpp>
#include <superstep/tools/detail/tool_failure.hpp>
#include <superstep/tools/tool_node.hpp>
#include <superstep/tools/tool_wrappers.hpp>

#include <atomic>
#include <new>
#include <system_error>
#include <utility>

namespace superstep {

namespace {

/// Reads and writes the effect record of one call.
class effect_log {
public:
  explicit effect_log(const tool_context& context)
      : key_{context.idempotency_key()}, of_{context.place->config->thread_id, {}},
        journal_{context.place->journal} {}

  [[nodiscard]] std::optional<effect_record> find() const {
    return journal_.records->find_effect(of_.thread_id, key_);
  }
  void put(std::optional<effect_record> record) const {
    journal_.records->put_effect(of_.thread_id, key_, std::move(record));
  }
  /// Waits until all writes to the thread are durable. Throws checkpoint_error if one of them
  /// failed, or if another run has taken the thread over. That run may have had the effect already,
  /// and its next checkpoint deletes the record.
  [[nodiscard]] task<void> saved() const {
    auto waiting =
        await_callback<bool>([journal = journal_.records, of = of_](completer<bool> done) {
          if (!journal->when_saved(of, [done] { done(true); }))
            done(true);
        });
    co_await waiting;
    journal_.records->check(of_);
    if (!journal_.may_write())
      throw checkpoint_error{detail::thread_taken_over(of_.thread_id)};
  }

private:
  std::string key_;
  thread_key of_;
  detail::effect_journal journal_;
};

/// Forwards the engine's services to a tool, and records whether the tool has interrupted the run.
/// The result of an interrupted call is dropped, and the call runs again when the run is resumed.
class watched_services final : public detail::call_services {
public:
  explicit watched_services(detail::call_services* real) noexcept : real_{real} {}
  [[nodiscard]] bool has_interrupted() const noexcept { return has_interrupted_; }

  execution_context& context() noexcept override { return real_->context(); }
  std::stop_token stop_token() override { return real_->stop_token(); }
  std::optional<std::chrono::steady_clock::time_point> deadline() const noexcept override {
    return real_->deadline();
  }
  std::function<void(json::value)> emitter() override { return real_->emitter(); }
  std::optional<json::value> ask(const json::value& question) override {
    auto answer = real_->ask(question);
    if (!answer)
      has_interrupted_ = true;
    return answer;
  }
  bool is_interrupted() override { return real_->is_interrupted(); }
  void pass_on(std::vector<interrupt> questions) override {
    has_interrupted_ = true;
    real_->pass_on(std::move(questions));
  }
  void note_progress(detail::progress_kind kind) noexcept override { real_->note_progress(kind); }
  std::function<void(value)> message_emitter() override { return real_->message_emitter(); }
  detail::task_place_ptr place() override { return real_->place(); }
  void start_nested(std::shared_ptr<const detail::program> table, write_list input,
                    completer<detail::nested_outcome> done) override {
    real_->start_nested(std::move(table), std::move(input), std::move(done));
  }

private:
  detail::call_services* real_;
  std::atomic<bool> has_interrupted_{false};
};

/// A call that has started. If the object is destroyed before end(), the call was cancelled and may
/// have had its effect, so its record stays. But if the call has interrupted the run, the record is
/// removed, because the call runs again when the run is resumed.
class started_call {
public:
  started_call(const effect_log& log, tool_context& context) : log_{log} {
    if (!context.environment || !context.environment->run ||
        detail::runtime_access::services(*context.environment->run) == nullptr)
      return;
    watched_.emplace(detail::runtime_access::services(*context.environment->run));
    auto environment = tool_environment{*context.environment};
    detail::runtime_access::set_services(*environment.run, &*watched_);
    context.environment = std::make_shared<const tool_environment>(std::move(environment));
  }
  started_call(const started_call&) = delete;
  started_call& operator=(const started_call&) = delete;
  ~started_call() {
    if (has_ended_ || !has_interrupted())
      return;
    try {
      log_.put(std::nullopt);
    } catch (const std::exception&) { // the next checkpoint fails for the same reason
      return;
    }
  }

  [[nodiscard]] bool has_interrupted() const noexcept {
    return watched_ && watched_->has_interrupted();
  }
  void end(std::optional<effect_record> record) {
    has_ended_ = true;
    log_.put(std::move(record));
  }
  /// Keeps the record that the call has started: its outcome is unknown, as after a crash.
  void leave() noexcept { has_ended_ = true; }

private:
  const effect_log& log_;
  std::optional<watched_services> watched_;
  bool has_ended_ = false;
};

/// Whether a tool has failed because memory ran out or its program failed. The tool may then have
/// had its effect, unless the exception, or one nested in it, is tool_unavailable: the tool has not
/// run then.
bool has_unknown_outcome(const std::exception_ptr& failure) noexcept {
  auto is_unknown = false;
  detail::visit_nested(failure, [&](const std::exception& e) {
    const auto has_not_run = dynamic_cast<const tool_unavailable*>(&e) != nullptr;
    const auto has_failed = dynamic_cast<const tool_failed*>(&e) != nullptr ||
                            dynamic_cast<const std::bad_alloc*>(&e) != nullptr;
    const auto* of_system = dynamic_cast<const std::system_error*>(&e);
    const auto is_short = of_system != nullptr && of_system->code() == std::errc::not_enough_memory;
    is_unknown = !has_not_run && (is_unknown || has_failed || is_short);
    return has_not_run || has_failed;
  });
  return is_unknown;
}

class tool_with_effects final : public tool {
public:
  tool_with_effects(tool_ptr inner, tool_effects kind) : inner_{std::move(inner)}, kind_{kind} {}

  [[nodiscard]] const tool_definition& definition() const noexcept override {
    return inner_->definition();
  }
  [[nodiscard]] std::vector<injection> injections() const override { return inner_->injections(); }
  [[nodiscard]] tool_effects effects() const noexcept override { return kind_; }
  [[nodiscard]] std::optional<std::chrono::milliseconds> timeout() const noexcept override {
    return inner_->timeout();
  }

  [[nodiscard]] bool commands_parent() const noexcept override { return inner_->commands_parent(); }
  [[nodiscard]] task<tool_output> run(const tool_call& call,
                                      const tool_context& context) const override {
    return context.place && context.place->journal.records
               ? run_recorded(inner_, kind_, call, context)
               : inner_->run(call, context);
  }

private:
  static tool_output not_known(const std::string& name) {
    return error_output(
        "Error: the result of this call of tool '" + name +
        "' is not known: the process ended, or memory ran out, while the call ran. The call was "
        "not repeated; check what it has done before you call the tool again.");
  }

  static tool_output not_readable(const std::string& name, const std::exception& why) {
    return error_output("Error: this call of tool '" + name +
                        "' was made before, and the record of it cannot be read (" +
                        valid_utf8(why.what()) +
                        "). The call was not repeated; check what it has done before you call the "
                        "tool again.");
  }

  /// Returns the answer from the record of an earlier call; nullopt if there is no record. For an
  /// unreadable record it returns an error answer, because the model would repeat the call after an
  /// exception. Throws if memory or the like is exhausted: the record may be readable later.
  static std::optional<tool_output> recorded(const effect_log& log, const std::string& name) {
    try {
      const auto known = log.find();
      if (!known)
        return std::nullopt;
      return known->has_ended ? detail::read_output(known->result) : not_known(name);
    } catch (const checkpoint_error& e) {
      // A disk error does not show whether a record exists.
      if (e.code() != checkpoint_errc::corrupt)
        throw;
      return not_readable(name, e);
    } catch (const std::exception& e) {
      if (failure_code(std::current_exception(), {}) == errc::shortage)
        throw;
      return not_readable(name, e);
    }
  }

  static task<tool_output> run_recorded(tool_ptr inner, tool_effects kind, const tool_call& call,
                                        tool_context context) {
    const auto log = effect_log{context};
    // The preceding checkpoint must be durable before the tool has its effect. A resumed run then
    // makes this call again with the same key, and finds its record.
    co_await log.saved();
    if (auto known = recorded(log, call.name))
      co_return std::move(*known);
    auto started = started_call{log, context}; // before the record, because it allocates memory
    if (kind == tool_effects::journaled) {
      log.put(effect_record{});
      co_await log.saved();
    }
    auto out = std::optional<tool_output>{};
    auto failed = std::exception_ptr{};
    try {
      auto body = inner->run(call, context);
      out = co_await body;
    } catch (...) {
      failed = std::current_exception();
    }
    if (!started.has_interrupted() && has_unknown_outcome(failed))
      started.leave();
    else if (started.has_interrupted() || failed)
      started.end(std::nullopt);
    else
      started.end(effect_record{true, detail::written_output(*out)});
    co_await log.saved();
    if (failed)
      std::rethrow_exception(failed);
    co_return std::move(*out);
  }

  tool_ptr inner_;
  tool_effects kind_;
};

} // namespace

tool_ptr idempotent(tool_ptr inner) {
  SUPERSTEP_ASSERT(inner != nullptr);
  return std::make_shared<const tool_with_effects>(std::move(inner), tool_effects::idempotent);
}

tool_ptr journaled(tool_ptr inner) {
  SUPERSTEP_ASSERT(inner != nullptr);
  return std::make_shared<const tool_with_effects>(std::move(inner), tool_effects::journaled);
}

} // namespace superstep
