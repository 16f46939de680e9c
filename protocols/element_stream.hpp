// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocols/call_body.hpp"
#include "protocols/stream_output.hpp"
#include "protocols/text_window.hpp"
#include "protocols/xml_calls.hpp"

#include <memory>
#include <unordered_map>

namespace superstep {

/// The stream of a protocol whose calls are elements named after tools. A call ends at the first
/// close tag of its name.
class element_stream final : public protocol_stream {
public:
  /// @param body outlives the stream
  element_stream(const call_body& body, const std::vector<protocol_tool>& tools,
                 stream_options options, protocol_event_handler on_event,
                 protocol_error_handler on_error);
  void write(std::string_view piece) override;
  void refuse_unclosed() noexcept override { refuses_unclosed_ = true; }
  void finish() override;

private:
  enum class found { none, more, close };
  bool read_text(bool complete);
  bool read_call(bool complete);
  [[nodiscard]] found find_close(bool complete, std::size_t& end);
  void end_call(std::size_t body_end, std::size_t end);
  void end_unfinished();
  void take(std::size_t n);

  [[nodiscard]] bool is_plain(std::string_view piece) const;
  [[nodiscard]] const call_facts* facts_of(const protocol_tool& tool);

  const call_body& body_;
  tool_names names_;
  std::unordered_map<const protocol_tool*, std::unique_ptr<call_facts>> facts_; // of called ones
  stream_output output_;
  text_window window_;                  // begins with the text or the call that is being read
  const protocol_tool* tool_ = nullptr; // of the call; null: text is being read
  std::size_t body_begin_ = 0;
  std::size_t scanned_ = 0; // of the window; nothing is found before
  std::unique_ptr<body_progress> progress_;
  bool finished_ = false;
  bool refuses_unclosed_ = false;
};

} // namespace superstep
