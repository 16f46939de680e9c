// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/actors/detail/event_stream.hpp>
#include <superstep/actors/detail/run_event.hpp>

#include <functional>
#include <memory>

namespace superstep {

/// Prints what each step of a run writes to std::clog (compile_options::debug), and hands the
/// reader of the run's stream, if it has one, what that asked for.
class printing_sink final : public detail::event_sink {
public:
  /// What it needs to hear beside what the reader asked for.
  static constexpr auto modes = stream_mode::updates | stream_mode::values;

  /// @param reader may be null
  printing_sink(detail::program_ptr table, std::shared_ptr<detail::event_sink> reader,
                stream_mode wanted);

  void push(detail::run_event e) override;
  [[nodiscard]] bool is_full() const override;
  void on_room(std::function<void()> tell) override;

private:
  const detail::program_ptr table_;
  const std::shared_ptr<detail::event_sink> reader_;
  const stream_mode wanted_;
};

} // namespace superstep
