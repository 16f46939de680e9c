// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace superstep {

/// A source of wall-clock time. Functions whose results depend on the time take a clock, so that
/// tests can pass a fixed one. Waiting uses executor::now() instead, which is monotonic.
class clock {
public:
  /// Destroys the clock; no user of it may be alive.
  virtual ~clock() = default;
  /// Returns the current time. May be called from any thread.
  [[nodiscard]] virtual std::chrono::system_clock::time_point now() const = 0;
};

/// Returns the clock of the system, which lives until the program ends. May be called from any
/// thread.
[[nodiscard]] const clock& system_clock() noexcept;

/// Generates ids of the form `<key>-<step>-<n>`, where n counts the ids of one super-step from 0.
/// They depend only on the run, so a replayed run gets the same ids. If the key is empty, a number
/// takes its place that no other source has, in any process, so that the messages of two runs can
/// be merged.
/// @par Threads
/// Not thread-safe. A run has one for its barriers, and creates another one for each state that it
/// computes for routers.
class id_source {
public:
  /// Creates a source that refers to the texts, which must live as long as it generates ids.
  /// @param run the key, or its first part
  /// @param ns if not empty, the key is `<run>/<ns>`; for nested runs
  /// @param number takes the place of an empty key; 0: one that no source has had
  explicit id_source(std::string_view run, std::string_view ns = {},
                     std::uint64_t number = 0) noexcept
      : run_{run.empty() ? nullptr : run.data()},
        size_or_number_{run.empty() ? number : run.size()}, ns_{ns} {}
  /// Deleted, because the source would refer to a temporary text.
  template <std::same_as<std::string> Text>
  // NOLINTNEXTLINE(bugprone-forwarding-reference-overload): the constraint excludes id_source
  explicit id_source(Text&& run, std::string_view ns = {}, std::uint64_t number = 0) = delete;

  /// Starts a super-step; its ids count from 0.
  /// @param may_repeat see may_repeat()
  void begin_step(std::int64_t step, bool may_repeat = false) noexcept {
    step_ = step;
    count_ = 0;
    may_repeat_ = may_repeat;
  }
  /// Whether the state may contain ids that were made for the same step. True for edits and
  /// commands, which come after the tasks of their step: a reducer then checks each new id.
  [[nodiscard]] bool may_repeat() const noexcept { return may_repeat_; }
  /// Returns the next id of the current super-step.
  [[nodiscard]] std::string next();
  /// Returns the number in the place of the key; 0 if there is a key.
  [[nodiscard]] std::uint64_t number() noexcept {
    if (run_ != nullptr)
      return 0;
    return size_or_number_ != 0 ? size_or_number_ : take_number();
  }

private:
  std::uint64_t take_number() noexcept;

  const char* run_; ///< null: a number takes the place of the key
  std::uint64_t size_or_number_;
  std::string_view ns_;
  std::int64_t step_ = 0;
  std::uint32_t count_ = 0;
  bool may_repeat_ = false;
};

} // namespace superstep
