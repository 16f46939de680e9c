// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>
#include <superstep/base/json.hpp>
#include <superstep/messages/messages.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace superstep {

/// A conversation with placeholders, such as `Question: {{question}}`. A batch fills the
/// placeholders with the columns of each row. Placeholders may be in every text of a message, but
/// not in the names of members. `{{{{` gives the text `{{`.
///
/// Copies share nothing. All const members may be called by any number of threads.
class message_template {
public:
  /// One occurrence of a placeholder.
  struct placeholder {
    std::string name;  ///< the text between the braces, without white space at its ends
    std::string where; ///< the place in the template, e.g. `messages.0.content`; for error texts
  };

  /// Parses a template.
  /// @param messages at least one message, each in a form that message_from_json() reads
  /// @param path the prefix of places, in error texts and in placeholder::where
  /// @return the template, or errc::parse_failed with the place of the first error
  [[nodiscard]] static result<message_template> parse(const json::array& messages,
                                                      std::string_view path = "messages");

  /// The placeholders in the order of the text; a name may occur several times.
  [[nodiscard]] const std::vector<placeholder>& placeholders() const noexcept {
    return placeholders_;
  }
  /// Replaces the places of the placeholders, for example by those of a file. The argument receives
  /// and returns placeholder::where.
  void move_places(const std::function<std::string(const std::string&)>& to);
  /// The JSON text from which the template was parsed. Two templates with the same text give the
  /// same messages.
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

  /// Returns the value of a column; nullopt if the row does not have the column.
  using lookup = std::function<std::optional<std::string>(std::string_view name)>;
  /// Fills the placeholders. Calls `value_of` once for each name.
  /// @return the messages; errc::parse_failed if `value_of` returns nullopt, or if the filled text
  ///   is not a valid message
  [[nodiscard]] result<message_list> fill(const lookup& value_of) const;

private:
  /// A text, followed by the value of a placeholder.
  struct part {
    std::string text;
    std::optional<std::size_t> name; ///< index in names_; not set in the last part of a text
  };
  /// One message. If the template of a message has only a role and a text, `tree` is null, and
  /// filling it builds no JSON values.
  struct piece {
    message plain;
    std::vector<part> content;
    json::value tree;
  };

  result<std::vector<part>> split(std::string_view text, const std::string& where);
  result<void> check_tree(const json::value& at, const std::string& where);
  [[nodiscard]] json::value fill_tree(const json::value& at,
                                      const std::vector<std::string>& values) const;

  std::string text_;
  std::string path_;
  std::vector<std::string> names_; ///< without repetitions
  std::vector<placeholder> placeholders_;
  std::vector<piece> pieces_;
};

} // namespace superstep
