// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace superstep::detail {

/// A fast check for schemas that only use `type`, `properties`, `required`, `items`,
/// `additionalProperties` as a boolean, and `enum` of texts, as most tools do. Annotations such as
/// `description` are ignored.
///
/// It may reject values that match the schema, but never accepts others. Values that it rejects are
/// checked by the complete validator, which also describes the errors.
/// @par Threads
/// Immutable; may be used by any number of threads.
class flat_schema {
public:
  /// Compiles a schema; nullopt if it uses other keywords.
  [[nodiscard]] static std::optional<flat_schema> compile(const json::object& schema);

  /// Whether the object matches the schema for certain.
  [[nodiscard]] bool accepts(const json::object& arguments) const;

private:
  struct property;
  struct node {
    std::uint8_t types = 0; ///< bits of json::kind; 0: all types
    bool is_closed = false; ///< whether members that are not in `properties` are rejected
    std::size_t required = 0;
    std::vector<property> properties{};
    std::unique_ptr<const node> items{};
    std::vector<std::string> texts{}; ///< unless empty: the only values
  };
  struct property {
    std::string name;
    bool is_required = false;
    std::unique_ptr<const node> schema;
  };

  explicit flat_schema(std::unique_ptr<const node> root) noexcept : root_{std::move(root)} {}
  [[nodiscard]] static std::unique_ptr<node> read(const json::value& schema);
  [[nodiscard]] static bool read_keyword(node& into, std::string_view key, const json::value& with);
  [[nodiscard]] static bool accepts(const node& schema, const json::value& value,
                                    std::size_t& steps);
  [[nodiscard]] static bool accepts(const node& schema, const json::object& object,
                                    std::size_t& steps);

  std::unique_ptr<const node> root_;
};

} // namespace superstep::detail
