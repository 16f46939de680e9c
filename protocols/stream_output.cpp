// SPDX-License-Identifier: Apache-2.0
#include "protocols/stream_output.hpp"

#include <superstep/base/assert.hpp>

#include <utility>

namespace superstep {

stream_output::stream_output(stream_options options, protocol_event_handler on_event,
                             protocol_error_handler on_error)
    : options_{options}, on_event_{std::move(on_event)}, on_error_{std::move(on_error)},
      progress_{0, on_event_} {
  SUPERSTEP_ASSERT(on_event_ != nullptr);
}

void stream_output::text(std::string_view text) {
  if (!text.empty())
    on_event_(stream_text{std::string{text}});
}

void stream_output::start(std::string_view name) {
  SUPERSTEP_ASSERT(!is_open_);
  name_ = name;
  progress_.restart(calls_);
  is_open_ = true;
  on_event_(tool_input_start{calls_++, name_});
}

void stream_output::call(parsed_call parsed) {
  if (is_open_ && name_ != parsed.name)
    drop();
  if (!is_open_)
    start(parsed.name);
  if (!progress_.complete(parsed.arguments)) {
    drop();
    start(parsed.name);
    const auto begins = progress_.complete(parsed.arguments);
    SUPERSTEP_ASSERT(begins);
  }
  is_open_ = false;
  const auto number = calls_ - 1;
  on_event_(tool_input_end{number});
  on_event_(stream_call{number, std::move(parsed)});
}

void stream_output::drop() {
  if (!is_open_)
    return;
  progress_.flush();
  is_open_ = false;
  on_event_(tool_input_end{calls_ - 1});
}

void stream_output::fail(const char* code, std::string tool, std::string_view span) {
  drop();
  if (on_error_)
    on_error_({code, std::move(tool), std::string{span}});
  if (options_.emit_raw_on_error)
    text(span);
}

void stream_output::flush() {
  if (is_open_)
    progress_.flush();
}

} // namespace superstep
