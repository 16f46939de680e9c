// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <system_error>

namespace superstep::detail {

/// An error code of an enumeration, with its name and its text.
template <class Enum>
struct error_entry {
  Enum code;           ///< the enumerator
  const char* name;    ///< name of the enumerator, e.g. "deadline"
  const char* message; ///< the general text, see std::error_category::message()
};

/// An error category that knows the names of its codes.
class named_category : public std::error_category {
public:
  /// Returns the C++ name of a code, e.g. "graph_errc::deadline"; empty if there is no such code.
  [[nodiscard]] virtual std::string code_name(int code) const = 0;
};

/// The error category of an enumeration, with a table of its codes.
template <class Enum>
class error_table final : public named_category {
public:
  /// @param category name of the category
  /// @param enumeration C++ name of the enumeration
  /// @param unknown the text of codes that the table does not have
  /// @param entries the codes; must outlive the category
  error_table(const char* category, const char* enumeration, const char* unknown,
              std::span<const error_entry<Enum>> entries)
      : category_{category}, enumeration_{enumeration}, unknown_{unknown}, entries_{entries} {}
  [[nodiscard]] const char* name() const noexcept override { return category_; }
  [[nodiscard]] std::string message(int code) const override {
    const auto* found = find(code);
    return found != nullptr ? found->message : unknown_;
  }
  [[nodiscard]] std::string code_name(int code) const override {
    const auto* found = find(code);
    return found != nullptr ? std::string{enumeration_} + "::" + found->name : std::string{};
  }

private:
  [[nodiscard]] const error_entry<Enum>* find(int code) const noexcept {
    for (const auto& entry : entries_)
      if (static_cast<int>(entry.code) == code)
        return &entry;
    return nullptr;
  }

  const char* category_;
  const char* enumeration_;
  const char* unknown_;
  std::span<const error_entry<Enum>> entries_;
};

} // namespace superstep::detail
