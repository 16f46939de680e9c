// SPDX-License-Identifier: Apache-2.0
// valijson's validator with limits. It specialises members of valijson that use std::regex, compare
// each item with every other item, or recurse without bound. Only one source file includes it.
#pragma once

#include "schema_patterns.hpp"

#define VALIJSON_USE_EXCEPTIONS 1 // otherwise valijson aborts on an invalid schema
// Renames valijson's namespace, because an application may use valijson without these
// specialisations.
#define valijson superstep_valijson
#include <valijson/adapters/boost_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <optional>
#include <regex>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace superstep::detail {

/// Thrown from inside the validator when a limit of the check is reached.
class check_ended : public std::exception {
public:
  enum class reason : std::uint8_t { enough_faults, too_deep, too_much_work, too_late };
  explicit check_ended(reason why) noexcept : why_{why} {}
  [[nodiscard]] reason why() const noexcept { return why_; }
  [[nodiscard]] const char* what() const noexcept override { return "the check was ended"; }

private:
  reason why_;
};

/// The budget of one check. It has the type of the validator's cache of std::regex, because that is
/// the only object of the caller that reaches all levels. The cache itself is not used.
class check_work : public std::unordered_map<std::string, std::regex> {
public:
  check_work(const pattern_table& patterns, const schema_check_limits& limits)
      : patterns_{patterns}, limits_{limits},
        deadline_{std::chrono::steady_clock::now() + limits.time_max} {}

  static check_work& of(std::unordered_map<std::string, std::regex>& cache) noexcept {
    return static_cast<check_work&>(cache);
  }

  void step(std::size_t count = 1) {
    steps_ += count;
    if (steps_ > limits_.steps_max)
      throw check_ended{check_ended::reason::too_much_work};
    if (steps_ >= next_check_) {
      next_check_ = steps_ + steps_between_checks;
      if (limits_.stop.stop_requested() || std::chrono::steady_clock::now() >= deadline_)
        throw check_ended{check_ended::reason::too_late};
    }
  }

  /// Counts one level of nesting while a schema is applied to a value.
  class level {
  public:
    level(check_work& work, const valijson::ValidationResults* results) : work_{work} {
      constexpr auto faults_examined_max = std::size_t{200};
      // Errors are collected only for a value that does not match, so ending here cannot hide a
      // mismatch.
      if (results != nullptr && results->numErrors() >= faults_examined_max)
        throw check_ended{check_ended::reason::enough_faults};
      if (work.levels_ >= work.limits_.levels_max)
        throw check_ended{check_ended::reason::too_deep};
      work.step();
      ++work.levels_;
    }
    level(const level&) = delete;
    level& operator=(const level&) = delete;
    ~level() { --work_.levels_; }

  private:
    check_work& work_;
  };

  /// Whether a pattern of the schema matches the text. A long text counts as several steps.
  bool matches(const std::string& pattern, const std::string& text) {
    step(1 + text.size() / bytes_per_step);
    const auto found = patterns_.find(pattern);
    if (found == patterns_.end()) // the pattern is in a part that only a reference reaches
      return compile_and_match(pattern, text);
    return superstep::detail::matches(*found->second, text);
  }

private:
  bool compile_and_match(const std::string& pattern, const std::string& text) {
    constexpr auto steps_to_compile = std::size_t{1'000};
    step(steps_to_compile);
    const auto compiled = compile_pattern(pattern);
    if (!compiled)
      throw std::runtime_error{compiled.error().text};
    return superstep::detail::matches(**compiled, text);
  }

  static constexpr auto steps_between_checks = std::size_t{256};
  static constexpr auto bytes_per_step = std::size_t{256};

  const pattern_table& patterns_;
  const schema_check_limits& limits_;
  std::chrono::steady_clock::time_point deadline_;
  std::size_t steps_ = 0;
  std::size_t next_check_ = 0;
  std::size_t levels_ = 0;
};

/// Whether the text has the format, if the validator checks this format; true for other formats.
[[nodiscard]] bool is_of_format(const std::string& text, const std::string& format);

/// Returns a hash. Values that the validator considers equal have the same hash.
std::size_t hash_of(const valijson::adapters::BoostJsonAdapter& value, check_work& work);

/// Whether a number is an integer in the sense of JSON Schema: 3.0 is one.
inline bool is_integer(const valijson::adapters::BoostJsonAdapter& value) {
  if (!value.isDouble())
    return value.isInteger();
  const auto number = value.getDouble();
  return std::isfinite(number) && std::trunc(number) == number;
}

/// Whether a number is a multiple of a divisor greater than 0. @{
inline bool is_multiple(const valijson::adapters::BoostJsonAdapter& value, std::int64_t divisor) {
  if (value.isInteger())
    return value.getInteger() % divisor == 0;
  // fmod() is exact, also for doubles with a fraction.
  return std::fmod(value.asDouble(), static_cast<double>(divisor)) == 0;
}
inline bool is_multiple(const valijson::adapters::BoostJsonAdapter& value, double divisor) {
  // Most decimal fractions are not exact in binary: 19.99 / 0.01 is 1998.9999999999998.
  constexpr auto tolerance = 4 * std::numeric_limits<double>::epsilon();
  const auto quotient = value.asDouble() / divisor;
  const auto distance = std::abs(quotient - std::nearbyint(quotient));
  return std::isfinite(quotient) && distance <= tolerance * std::abs(quotient);
}
/// @}

/// Adds an error if `results` is not null. Always returns false.
inline bool fail(valijson::ValidationResults* results, const std::vector<std::string>& context,
                 const std::string& text) {
  if (results != nullptr)
    results->pushError(context, text);
  return false;
}

/// Parses schemas with a limit on the stack. References can make the parser recurse deeper than the
/// schema is nested.
class bounded_parser : public valijson::SchemaParser {
public:
  std::optional<std::string>
  resolveDocumentUri(const std::optional<std::string>& scope,
                     const std::optional<std::string>& document) override {
#ifdef SUPERSTEP_ASSERTIONS // checked builds have larger stack frames, most of all with sanitizers
    constexpr auto stack_max = std::ptrdiff_t{4} << 20;
#else
    constexpr auto stack_max = std::ptrdiff_t{1} << 20;
#endif
    const auto here = static_cast<const char*>(__builtin_frame_address(0));
    if (started_ == nullptr)
      started_ = here;
    if (started_ - here > stack_max)
      throw std::runtime_error{"its references are nested too deeply"};
    if (!scope || !document)
      return document ? document : scope;
    const auto is_absolute = document->find("://") != std::string::npos ||
                             document->starts_with("urn:") || document->starts_with("URN:");
    return is_absolute ? *document : *scope + *document;
  }

private:
  const char* started_ = nullptr; // stack address at the first reference
};

} // namespace superstep::detail

namespace valijson {

using superstep_boost_visitor = ValidationVisitor<adapters::BoostJsonAdapter>;
using superstep_name_visitor = ValidationVisitor<adapters::StdStringAdapter>;
using superstep_schema_text =
    std::basic_string<char, std::char_traits<char>, internal::CustomAllocator<char>>;

// Two visitors need these specialisations: one for values, and one for names (`propertyNames`).
#define SUPERSTEP_BOUNDED_VISITOR(visitor)                                                         \
  template <>                                                                                      \
  inline bool visitor::validateSchema(const Subschema& schema) {                                   \
    const auto level = superstep::detail::check_work::level{                                       \
        superstep::detail::check_work::of(m_regexesCache), m_results};                             \
    if (schema.getAlwaysInvalid())                                                                 \
      return false;                                                                                \
    auto check = Subschema::ApplyFunction{                                                         \
        [this](const constraints::Constraint& one) { return one.accept(*this); }};                 \
    return m_results == nullptr ? schema.applyStrict(check) : schema.apply(check);                 \
  }                                                                                                \
  template <>                                                                                      \
  inline bool visitor::visit(const constraints::PatternConstraint& constraint) {                   \
    if (!m_target.isString())                                                                      \
      return true;                                                                                 \
    auto& work = superstep::detail::check_work::of(m_regexesCache);                                \
    const auto pattern = std::string{constraint.getPattern<std::string::allocator_type>()};        \
    return work.matches(pattern, m_target.asString()) ||                                           \
           superstep::detail::fail(m_results, m_context,                                           \
                                   "Failed to match regex specified by 'pattern' constraint.");    \
  }                                                                                                \
  template <>                                                                                      \
  inline bool visitor::visit(const constraints::FormatConstraint& constraint) {                    \
    if (!m_target.isString())                                                                      \
      return true;                                                                                 \
    const auto format = std::string{constraint.getFormat()};                                       \
    return superstep::detail::is_of_format(m_target.asString(), format) ||                         \
           superstep::detail::fail(m_results, m_context, "String should be a valid " + format);    \
  }
SUPERSTEP_BOUNDED_VISITOR(superstep_boost_visitor)
SUPERSTEP_BOUNDED_VISITOR(superstep_name_visitor)
#undef SUPERSTEP_BOUNDED_VISITOR

template <>
template <>
inline bool superstep_boost_visitor::ValidatePatternPropertySubschemas::operator()(
    const superstep_schema_text& name, const Subschema* schema) const {
  const auto pattern = std::string{name.c_str()};
  auto& work = superstep::detail::check_work::of(m_regexesCache);
  for (const auto member : m_object) {
    if (!work.matches(pattern, member.first))
      continue;
    if (m_propertiesMatched != nullptr)
      m_propertiesMatched->insert(member.first);
    auto context = m_context;
    context.push_back("[" + member.first + "]");
    auto below = ValidationVisitor{member.second, std::move(context), m_strictTypes, m_results,
                                   m_regexesCache};
    if (below.validateSchema(*schema))
      continue;
    if (m_results != nullptr)
      m_results->pushError(m_context,
                           "Failed to validate against schema associated with pattern '" + pattern +
                               "'.");
    if (m_validated != nullptr)
      *m_validated = false;
    if (!m_continueOnFailure)
      return false;
  }
  return m_continueOnSuccess;
}

#define SUPERSTEP_MULTIPLE_OF(constraint_type)                                                     \
  template <>                                                                                      \
  inline bool superstep_boost_visitor::visit(const constraints::constraint_type& constraint) {     \
    const auto divisor = constraint.getDivisor();                                                  \
    if (!m_target.isNumber() || !(divisor > 0))                                                    \
      return true;                                                                                 \
    return superstep::detail::is_multiple(m_target, divisor) ||                                    \
           superstep::detail::fail(m_results, m_context,                                           \
                                   "Value should be a multiple of " +                              \
                                       superstep::to_text(superstep::json::value(divisor)));       \
  }
SUPERSTEP_MULTIPLE_OF(MultipleOfIntConstraint)
SUPERSTEP_MULTIPLE_OF(MultipleOfDoubleConstraint)
#undef SUPERSTEP_MULTIPLE_OF

template <>
inline bool superstep_boost_visitor::ValidateNamedTypes::operator()(
    constraints::TypeConstraint::JsonType type) const {
  using constraints::TypeConstraint;
  const auto matches = [&] {
    switch (type) {
    case TypeConstraint::kAny:
      return true;
    case TypeConstraint::kArray:
      return m_target.isArray();
    case TypeConstraint::kBoolean:
      return m_target.isBool();
    case TypeConstraint::kInteger:
      return superstep::detail::is_integer(m_target);
    case TypeConstraint::kNull:
      return m_target.isNull();
    case TypeConstraint::kNumber:
      return m_target.isNumber();
    case TypeConstraint::kObject:
      return m_target.isObject();
    case TypeConstraint::kString:
      return m_target.isString();
    }
    return false;
  }();
  if (matches && m_validated != nullptr)
    *m_validated = true;
  return matches ? m_continueOnSuccess : m_continueOnFailure;
}

template <>
inline bool
superstep_boost_visitor::visit(const constraints::UniqueItemsConstraint& /*constraint*/) {
  if (!m_target.isArray())
    return true;
  auto& work = superstep::detail::check_work::of(m_regexesCache);
  const auto items = m_target.asArray();
  auto seen = std::unordered_multimap<std::size_t, unsigned int>{};
  auto values = std::vector<adapters::BoostJsonAdapter>{};
  for (const auto item : items) {
    const auto hash = superstep::detail::hash_of(item, work);
    const auto index = static_cast<unsigned int>(values.size());
    const auto [first, last] = seen.equal_range(hash);
    for (auto same = first; same != last; ++same) {
      work.step();
      if (values[same->second].equalTo(item, true))
        return superstep::detail::fail(m_results, m_context,
                                       "Elements at indexes #" + std::to_string(same->second) +
                                           " and #" + std::to_string(index) +
                                           " violate uniqueness constraint.");
    }
    seen.emplace(hash, index);
    values.push_back(item);
  }
  return true;
}

} // namespace valijson

namespace superstep::detail {

/// Whether the value matches the schema. Adds the errors to `results` if it is not null.
inline bool check(const valijson::Schema& schema, const json::value& value, check_work& work,
                  valijson::ValidationResults* results) {
  const auto start = std::vector<std::string>{"<root>"};
  auto visitor = valijson::superstep_boost_visitor{valijson::adapters::BoostJsonAdapter{value},
                                                   start, true, results, work};
  return visitor.validateSchema(schema);
}

} // namespace superstep::detail
