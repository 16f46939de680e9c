// SPDX-License-Identifier: Apache-2.0
#include "kept_error.hpp"

#include <superstep/base/error.hpp>
#include <superstep/base/utf8.hpp>
#include <superstep/channels/channel.hpp>
#include <superstep/channels/stored_value.hpp>
#include <superstep/checkpoint/remembered_error.hpp>
#include <superstep/checkpoint/saver_error.hpp>

#include <boost/core/demangle.hpp>

#include <algorithm>
#include <array>
#include <typeinfo>

namespace superstep {

namespace {

constexpr auto nested_max = std::size_t{16};

std::string name_of(const std::exception& e) {
  if (const auto* named = dynamic_cast<const named_error*>(&e))
    return std::string{named->error_class()};
  return boost::core::demangle(typeid(e).name());
}

std::exception_ptr nested_in(const std::exception& e) {
  const auto* nest = dynamic_cast<const std::nested_exception*>(&e);
  return nest != nullptr ? nest->nested_ptr() : nullptr;
}

/// One exception, whose text is a library's or a file's name and may be of any bytes: a thread must
/// not be lost by them. What is nested in it is handed back.
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
  } catch (...) { // a body may throw anything
    return {"", "an exception that is no std::exception"};
  }
}

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

const std::error_category* find_category(std::string_view name,
                                         std::span<const std::error_category* const> known) {
  const auto own = std::array<const std::error_category*, 5>{
      &std::generic_category(), &std::system_category(), &make_error_code(errc{}).category(),
      &make_error_code(channel_errc{}).category(), &make_error_code(saver_errc{}).category()};
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
    return saver_error{make_error_code(saver_errc::corrupt),
                       "a checkpoint cannot be read: the exception of a task is none"};
  };
  if (!from.is_array() || from.get_array().size() > nested_max)
    throw damaged();
  const auto& all = from.get_array();
  for (auto one = all.rbegin(); one != all.rend(); ++one) {
    if (!one->is_array() || !is_text(one->get_array(), 0) || !is_text(one->get_array(), 1))
      throw damaged();
    const auto& parts = one->get_array();
    auto type = std::string{parts[0].get_string()};
    auto text = std::string{parts[1].get_string()};
    const auto* category =
        is_text(parts, 2) ? find_category(parts[2].get_string(), known) : nullptr;
    if (category != nullptr && parts.size() > 3 && parts[3].is_int64())
      out = around(remembered_system_error{{static_cast<int>(parts[3].get_int64()), *category},
                                           std::move(type),
                                           std::move(text)},
                   out);
    else
      out = around(remembered_error{std::move(type), text}, out);
  }
  return out;
}

} // namespace detail

} // namespace superstep
