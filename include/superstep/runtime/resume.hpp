// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace superstep {

/// The input that resumes an interrupted thread, as in LangGraph's `Command(resume=...)`.
///
///     engine.invoke(graph, resume("yes"), config);                  // one pending interrupt
///     engine.invoke(graph, resume({{first_id, "yes"}, {second_id, 250}}), config);
///     engine.invoke(graph, resume(), config);                       // continue without a value
///
/// The ids are those of run_result::interrupts. A value without an id answers the first body that
/// asks. With several pending interrupts it is refused (graph_errc::ambiguous_resume), and so is an
/// id that is not pending (graph_errc::unknown_interrupt).
class resume {
public:
  /// Continues where the thread stopped, without a value.
  resume() = default;
  /// Resumes the pending interrupt with this value.
  explicit resume(json::value value) : value_(std::move(value)) {}
  /// Resumes pending interrupts by their ids.
  resume(std::initializer_list<std::pair<std::string_view, json::value>> values) {
    for (const auto& [id, value] : values)
      by_id_.insert_or_assign(std::string{id}, value);
  }
  /// Resumes pending interrupts by their ids.
  explicit resume(std::map<std::string, json::value> values) : by_id_{std::move(values)} {}

  /// Ignores values for interrupts that are not pending, as LangGraph does, instead of failing.
  [[nodiscard]] resume&& ignoring_unknown_ids() && noexcept {
    ignores_unknown_ids_ = true;
    return std::move(*this);
  }

  /// The value without an id; empty if there is none.
  [[nodiscard]] const std::optional<json::value>& value() const noexcept { return value_; }
  /// The values by interrupt id.
  [[nodiscard]] const std::map<std::string, json::value>& by_id() const noexcept { return by_id_; }
  /// Whether values for interrupts that are not pending are ignored.
  [[nodiscard]] bool ignores_unknown_ids() const noexcept { return ignores_unknown_ids_; }

private:
  std::optional<json::value> value_;
  std::map<std::string, json::value> by_id_;
  bool ignores_unknown_ids_ = false;
};

} // namespace superstep
