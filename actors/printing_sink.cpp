// SPDX-License-Identifier: Apache-2.0
// Prints the debug lines of a run and forwards the run's events to its reader; see
// compile_options::debug. debug_line.cpp makes the lines.
#include "printing_sink.hpp"

#include "actors/debug_line.hpp"

#include <iostream>
#include <utility>

namespace superstep {

printing_sink::printing_sink(detail::program_ptr table, std::shared_ptr<detail::event_sink> reader,
                             stream_mode wanted)
    : table_{std::move(table)}, reader_{std::move(reader)}, wanted_{wanted} {}

void printing_sink::push(detail::run_event e) {
  // Each line is printed by one write, so that lines of runs on several lanes do not mix.
  if (const auto line = to_debug_line(e, *table_); !line.empty())
    std::clog << line << std::flush;
  if (reader_ && includes(wanted_, e.mode))
    reader_->push(std::move(e));
}

bool printing_sink::is_full() const {
  return reader_ && reader_->is_full();
}

void printing_sink::on_room(std::function<void()> notify) {
  if (reader_)
    reader_->on_room(std::move(notify));
}

} // namespace superstep
