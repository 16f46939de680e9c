// SPDX-License-Identifier: Apache-2.0
// Values of Python graphs, and the channels that hold them.
#include "python_value.hpp"

#include "convert.hpp"
#include "failure.hpp"

#include <superstep/channels/detail/slots.hpp>
#include <superstep/channels/detail/stored_value.hpp>
#include <superstep/checkpoint/checkpointer.hpp>

#include <algorithm>
#include <utility>

namespace superstep::python {

namespace {

/// Returns a shallow copy of an object whose class may be mutable; the object itself if it cannot
/// be copied.
nb::object copy_of(PyObject* object) {
  if (object == Py_None || PyLong_Check(object) || PyFloat_Check(object) ||
      PyUnicode_Check(object) || PyBytes_Check(object) || PyTuple_CheckExact(object))
    return nb::borrow(object);
  try {
    return nb::module_::import_("copy").attr("copy")(nb::handle(object));
  } catch (nb::python_error&) {
    return nb::borrow(object);
  }
}

} // namespace

nb::object call_reducer(const python_reducer& by, nb::handle old, nb::handle written) {
  try {
    return nb::borrow(by.function.get())(old, written);
  } catch (nb::python_error& e) {
    if (!e.matches(PyExc_Exception)) // for the program, or of interrupt()
      throw;
    throw reducer_failure{e.value(), by.channel};
  }
}

python_value::python_value(nb::handle object, std::optional<json::value> stored)
    : object_{nb::object(nb::borrow(object)).release().ptr()}, stored_{std::move(stored)} {}

python_value::python_value(value_ref base, std::vector<value_ref> writes,
                           std::shared_ptr<python_reducer> by)
    : base_{std::move(base)}, writes_{std::move(writes)}, reducer_{std::move(by)} {}

python_value::~python_value() {
  if (object_ != nullptr)
    leave(object_);
}

value_ref python_value::with_writes(const value_ref& base, std::vector<value_ref> writes,
                                    const std::shared_ptr<python_reducer>& by) {
  {
    const auto lock = std::scoped_lock{base->mutex_};
    if (!base->writes_.empty() && base->reducer_ == by) {
      auto all = base->writes_;
      all.insert(all.end(), writes.begin(), writes.end());
      return new python_value{base->base_, std::move(all), by};
    }
  }
  return new python_value{base, std::move(writes), by};
}

/// Calls the reducer for the pending writes.
///
/// Another thread may do the same meanwhile, because the reducer may release the GIL. Both results
/// are equal, and the first one is kept.
void python_value::combine() {
  auto base = value_ref{};
  auto writes = std::vector<value_ref>{};
  {
    const auto lock = std::scoped_lock{mutex_};
    base = base_;
    writes = writes_;
  }
  if (base == nullptr)
    return; // another thread has combined them
  auto combined = base->get();
  for (const auto& w : writes)
    combined = call_reducer(*reducer_, combined, w->get());
  if (object_ == nullptr)
    object_ = combined.release().ptr();
  // The copies above are destroyed without the lock, because finalizers are arbitrary code.
  const auto lock = std::scoped_lock{mutex_};
  base_.reset();
  writes_.clear();
}

nb::object python_value::get() {
  if (object_ == nullptr && stored_) {
    auto made = from_stored(*stored_);
    if (object_ == nullptr)
      object_ = made.release().ptr();
  }
  if (object_ == nullptr && reducer_)
    combine();
  if (is_copied_) {
    if (PyList_CheckExact(object_))
      return nb::steal(PyList_GetSlice(object_, 0, PyList_Size(object_)));
    if (PyDict_CheckExact(object_))
      return nb::steal(PyDict_Copy(object_));
    if (PySet_CheckExact(object_))
      return nb::steal(PySet_New(object_));
    return copy_of(object_);
  }
  return nb::borrow(object_);
}

json::value python_value::to_json(const std::string& key) {
  if (stored_)
    return *stored_;
  const auto locked = nb::gil_scoped_acquire{};
  try {
    const auto& known = key.empty() && reducer_ ? reducer_->channel : key;
    return to_stored(get(), known.empty() ? "the value" : "state['" + known + "']");
  } catch (const nb::builtin_exception& e) {
    throw checkpoint_error{make_error_code(checkpoint_errc::not_storable),
                           std::string{"a checkpoint cannot store the value: "} + e.what()};
  } catch (nb::python_error& e) {
    throw python_failure{e.value()};
  }
}

namespace {

void write_ref(std::string& out, const value_ref& from, const std::string& key = {}) {
  append_text(out, from->to_json(key));
}

value_ref read_ref(const json::value& from) {
  return new python_value{json::value(from)};
}

constexpr auto write_form = value_form{
    [] { return stored_type<json::value>(); },
    [](std::string& out, const value& from) { write_ref(out, from.as<value_write>().content); },
    [](const json::value& from, const std::string&) -> result<value> {
      return result<value>{boost::system::in_place_value, value_write{read_ref(from)}};
    }};

constexpr auto ref_form =
    value_form{[] { return stored_type<json::value>(); },
               [](std::string& out, const value& from) { write_ref(out, from.as<value_ref>()); },
               [](const json::value& from, const std::string&) -> result<value> {
                 return result<value>{boost::system::in_place_value, read_ref(from)};
               }};

class value_channel final : public channel {
public:
  value_channel(std::string name, std::uint32_t slot, value_rule rule,
                std::shared_ptr<python_reducer> reducer)
      : channel{std::move(name), true}, place_{slot}, rule_{rule}, reducer_{std::move(reducer)} {}

  bool may_fail(std::span<write* const> writes) const noexcept override {
    return rule_ == value_rule::last ? writes.size() > 1
                                     : std::ranges::count(writes, true, &write::overwrite) > 1;
  }
  std::unique_ptr<kept_value> keep(const state_block& state) const override {
    return std::make_unique<old_value>(place_, state);
  }
  void own_value(state_block& state) const override { static_cast<void>(place_.of(state)); }
  result<changed> update(state_block& state, std::span<write* const> writes,
                         id_source&) const override {
    if (writes.empty())
      return changed::no;
    auto* overwrite = static_cast<write*>(nullptr);
    for (auto* const w : writes)
      if (w->overwrite && std::exchange(overwrite, w) != nullptr)
        return one_overwrite_only();
    if (rule_ == value_rule::last && writes.size() > 1)
      return one_value_only();
    auto& held = place_.of(state);
    if (rule_ == value_rule::last || overwrite != nullptr)
      held = (overwrite != nullptr ? overwrite : writes.front())
                 ->content.template take<value_write>()
                 .content;
    else
      held = combine(held, writes);
    return changed::yes;
  }
  bool is_available(const state_block& state) const noexcept override {
    return place_.of(state) != nullptr;
  }

  bool is_kept() const noexcept override { return true; }
  const value_form* written_form() const noexcept override { return &write_form; }
  std::string stored_type() const override { return superstep::stored_type<json::value>(); }
  std::string value_type_name() const override { return "a Python object"; }
  bool write_change(std::string& out, const state_block* before,
                    const state_block& now) const override {
    const auto& is = place_.of(now);
    const auto was = before != nullptr ? place_.of(*before) : value_ref{};
    if (is == was && before != nullptr)
      return false;
    if (is == nullptr) {
      out += "[]";
      return true;
    }
    if (was != nullptr && was->stored() != nullptr && is->stored() != nullptr)
      return detail::write_json_change(out, *was->stored(), *is->stored());
    if (was != nullptr)
      return detail::write_json_change(out, was->to_json(name()), is->to_json(name()));
    out += '[';
    write_ref(out, is, name());
    out += ']';
    return true;
  }
  result<void> read_kept(state_block& into, const std::optional<json::value>& from) const override {
    place_.of(into) = from ? read_ref(*from) : value_ref{};
    return {};
  }

private:
  using place = slot_place<value_ref>;

  class old_value final : public channel::kept_value {
  public:
    old_value(place at, const state_block& state) : place_{at}, old_{at.of(state)} {}
    void restore(state_block& state) noexcept override { place_.of(state) = std::move(old_); }

  private:
    place place_;
    value_ref old_;
  };

  [[nodiscard]] value_ref combine(const value_ref& held, std::span<write* const> writes) const {
    if (held != nullptr && writes.size() == 1) {
      auto only = writes.front()->content.take<value_write>();
      if (only.combined != nullptr && only.base == held)
        return std::move(only.combined);
      return python_value::with_writes(held, {std::move(only.content)}, reducer_);
    }
    auto contents = std::vector<value_ref>{};
    contents.reserve(writes.size());
    for (auto* const w : writes)
      contents.push_back(w->content.take<value_write>().content);
    if (held != nullptr)
      return python_value::with_writes(held, std::move(contents), reducer_);
    auto first = std::move(contents.front()); // an empty channel takes the first write as it is
    contents.erase(contents.begin());
    return contents.empty() ? first
                            : python_value::with_writes(first, std::move(contents), reducer_);
  }

  place place_;
  value_rule rule_;
  std::shared_ptr<python_reducer> reducer_;
};

} // namespace

std::unique_ptr<const channel> make_value_channel(std::string name, std::uint32_t slot,
                                                  value_rule rule,
                                                  std::shared_ptr<python_reducer> reducer) {
  return std::make_unique<value_channel>(std::move(name), slot, rule, std::move(reducer));
}

const value_form* sent_form() noexcept {
  return &ref_form;
}

} // namespace superstep::python
