// SPDX-License-Identifier: Apache-2.0
// Writes exceptions of tasks as JSON, and restores them. An exception's original class cannot be
// constructed from its name. So a restored exception has the class restored_error or
// restored_system_error, which contain the name (checkpointer.hpp).
#include "error_codec.hpp"

#include "base/utf8.hpp"

#include <superstep/base/error.hpp>
#include <superstep/channels/channel.hpp>
#include <superstep/channels/detail/stored_value.hpp>
#include <superstep/checkpoint/checkpointer.hpp>

#include <boost/core/demangle.hpp>

#include <algorithm>
#include <array>
#include <typeinfo>

namespace superstep {

namespace {

constexpr auto nested_max = std::size_t{16}; // a bound, in case exceptions are nested in a cycle

std::string name_of(const std::exception& e) {
  if (const auto* named = dynamic_cast<const named_exception*>(&e))
    return std::string{named->error_class()};
  return boost::core::demangle(typeid(e).name());
}

std::exception_ptr nested_in(const std::exception& e) {
  const auto* nest = dynamic_cast<const std::nested_exception*>(&e);
  return nest != nullptr ? nest->nested_ptr() : nullptr;
}

/// Returns one exception as JSON. Its texts may contain arbitrary bytes, for example a file name.
/// Invalid UTF-8 is replaced, because a row that is not UTF-8 could not be read back.
/// @param nested receives the nested exception, or null
json::array written(const std::exception_ptr& error, std::exception_ptr& nested) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    nested = nested_in(e);
    auto out = json::array{valid_utf8(name_of(e)), valid_utf8(e.what())};
    if (const auto* coded = dynamic_cast<const std::system_error*>(&e)) {
      out.emplace_back(valid_utf8(coded->code().category().name()));
      out.emplace_back(coded->code().value());
    }
    return out;
  } catch (...) { // a node's body may throw an object of any type
    return {"", "an exception of a type not derived from std::exception"};
  }
}

/// Returns the exception `e` with `inner` nested in it; `inner` may be null.
/// std::throw_with_nested() nests the exception that is being handled, so `inner` is rethrown and
/// caught first.
template <class Error>
std::exception_ptr around(Error e, const std::exception_ptr& inner) {
  if (!inner)
    return std::make_exception_ptr(std::move(e));
  try {
    std::rethrow_exception(inner);
  } catch (...) {
    try {
      std::throw_with_nested(std::move(e));
    } catch (...) {
      return std::current_exception();
    }
  }
}

/// Returns the error category with a name, or null. Searches the categories in `own` first, then
/// those in `known`.
const std::error_category* find_category(std::string_view name,
                                         std::span<const std::error_category* const> known) {
  const auto own = std::array<const std::error_category*, 5>{
      &std::generic_category(), &std::system_category(), &make_error_code(errc{}).category(),
      &make_error_code(channel_errc{}).category(), &make_error_code(checkpoint_errc{}).category()};
  for (const auto all : {std::span<const std::error_category* const>{own}, known})
    for (const auto* category : all)
      if (name == category->name())
        return category;
  return nullptr;
}

bool is_text(const json::array& list, std::size_t i) {
  return i < list.size() && list[i].is_string();
}

} // namespace

std::string class_of(const std::exception_ptr& error) {
  if (!error)
    return {};
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return name_of(e);
  } catch (...) {
    return {};
  }
}

namespace detail {

void write_error(std::string& out, const std::exception_ptr& error) {
  auto all = json::array{};
  for (auto at = error; at && all.size() < nested_max;) {
    auto nested = std::exception_ptr{};
    all.emplace_back(written(at, nested));
    at = nested;
  }
  append_text(out, json::value(std::move(all)));
}

std::exception_ptr read_error(const json::value& from,
                              std::span<const std::error_category* const> known) {
  auto out = std::exception_ptr{};
  const auto damaged = [] {
    return checkpoint_error{
        make_error_code(checkpoint_errc::corrupt),
        "a checkpoint cannot be read: the exception of a task is not in the expected "
        "format"};
  };
  if (!from.is_array() || from.get_array().size() > nested_max)
    throw damaged();
  const auto& all = from.get_array();
  // The innermost exception is restored first, so that it can be nested in the next one.
  for (auto one = all.rbegin(); one != all.rend(); ++one) {
    if (!one->is_array() || !is_text(one->get_array(), 0) || !is_text(one->get_array(), 1))
      throw damaged();
    const auto& parts = one->get_array();
    auto type = std::string{parts[0].get_string()};
    auto text = std::string{parts[1].get_string()};
    const auto* category =
        is_text(parts, 2) ? find_category(parts[2].get_string(), known) : nullptr;
    if (category != nullptr && parts.size() > 3 && parts[3].is_int64())
      out = around(restored_system_error{{static_cast<int>(parts[3].get_int64()), *category},
                                         std::move(type),
                                         std::move(text)},
                   out);
    else
      out = around(restored_error{std::move(type), text}, out);
  }
  return out;
}

} // namespace detail

} // namespace superstep
