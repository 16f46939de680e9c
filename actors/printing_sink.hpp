// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/actors/detail/event_stream.hpp>
#include <superstep/actors/detail/run_event.hpp>

#include <functional>
#include <memory>

namespace superstep {

/// Prints the writes and the state of each step of a run to std::clog; see compile_options::debug.
/// If the run's stream has a reader, also forwards to this reader the events of the modes that it
/// wants.
class printing_sink final : public detail::event_sink {
public:
  /// The stream modes that the lines are made from. The run must produce them in addition to the
  /// reader's modes.
  static constexpr auto modes = stream_mode::updates | stream_mode::values;

  /// @param reader may be null
  printing_sink(detail::program_ptr table, std::shared_ptr<detail::event_sink> reader,
                stream_mode wanted);

  void push(detail::run_event e) override;
  [[nodiscard]] bool is_full() const override;
  void on_room(std::function<void()> notify) override;

private:
  const detail::program_ptr table_;
  const std::shared_ptr<detail::event_sink> reader_;
  const stream_mode wanted_;
};

} // namespace superstep
