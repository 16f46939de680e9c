// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/actors/detail/event_stream.hpp>
#include <superstep/actors/detail/run_event.hpp>

#include <functional>
#include <memory>

namespace superstep {

/// Prints the writes of each step of a run to std::clog (compile_options::debug), and forwards to
/// the reader of the run's stream, if there is one, the events of its modes.
class printing_sink final : public detail::event_sink {
public:
  /// The modes that it needs in addition to those of the reader.
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
