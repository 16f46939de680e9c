// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocols/argument_shape.hpp"
#include "protocols/hermes_scanner.hpp"
#include "protocols/text_window.hpp"

#include <superstep/protocols/tool_protocol.hpp>

#include <optional>
#include <string>
#include <vector>

namespace superstep::hermes {

class stream final : public protocol_stream {
public:
  stream(const std::vector<protocol_tool>& tools, stream_options options,
         protocol_event_handler on_event, protocol_error_handler on_error);
  void write(std::string_view piece) override;
  void refuse_unclosed() noexcept override { refuses_unclosed_ = true; }
  void finish() override;

private:
  void advance(bool complete);
  bool read_text(bool complete);
  bool read_call(bool complete);
  void emit_text(std::string_view text);
  void emit_call(parsed_call call);
  void fail(const char* code, std::string_view body, std::string_view span);

  const std::vector<protocol_tool>& tools_;
  argument_shapes shapes_;
  stream_options options_;
  protocol_event_handler on_event_;
  protocol_error_handler on_error_;
  text_window window_;             // a call so far with its open tag, or what may begin one
  std::optional<scanner> scanner_; // set inside a call
  std::size_t calls_ = 0;
  bool finished_ = false;
  bool refuses_unclosed_ = false;
};

} // namespace superstep::hermes
