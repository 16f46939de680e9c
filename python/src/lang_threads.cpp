// SPDX-License-Identifier: Apache-2.0
// Threads of LangGraph in a checkpointer of this library, for superstep.checkpoint.
//
// A checkpoint of LangGraph is stored as a row of docs/checkpoint-format.md. Each channel of the
// graph is a channel of type `json`, so that its changes are deltas. Everything else of the
// checkpoint is in the channels `own_channels`. LangGraph computes the next nodes from the versions
// of channels, so rows contain no nodes. The writes of tasks are records of the caller, which are
// kept in order.
#include "convert.hpp"
#include "failure.hpp"
#include "module.hpp"
#include "python_value.hpp"

#include <superstep/channels/detail/slots.hpp>

#include <array>
#include <future>
#include <mutex>
#include <set>
#include <utility>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace superstep::python {

namespace {

constexpr auto own_channels = std::array<std::string_view, 4>{
    "__checkpoint__", "__channel_versions__", "__versions_seen__", "__writes__"};
constexpr auto versions_channel = std::size_t{1};
constexpr auto writes_channel = std::uint32_t{3};

using lang_layout = superstep::graph_layout;

/// Whether a channel of LangGraph is a channel of the row. The others, such as `branch:to:agent`,
/// change in each super-step and are small.
bool is_stored_alone(std::string_view name) noexcept {
  return !name.starts_with("__") && name.find(':') == std::string_view::npos;
}

/// Makes a layout with the channels of LangGraph.
layout_ptr make_layout(const std::set<std::string, std::less<>>& names) {
  auto out = std::make_shared<lang_layout>();
  out->graph = "langgraph";
  auto blank = boost::intrusive_ptr{new slot_block};
  const auto add = [&](std::string_view name) {
    const auto slot = blank->add(std::make_unique<slot_block::slot_of<value_ref>>(value_ref{}));
    out->channels.push_back(make_value_channel(std::string{name}, static_cast<std::uint32_t>(slot),
                                               value_rule::last, nullptr));
  };
  for (const auto name : own_channels)
    add(name);
  for (const auto& name : names)
    add(name);
  out->make_state = [blank = std::move(blank)] { return blank->copy(); };
  return out;
}

const slot_block& slots_of(const superstep::checkpoint& point) {
  return static_cast<const slot_block&>(*point.state);
}

checkpoint_source source_of(std::string_view text) noexcept {
  for (const auto known :
       {checkpoint_source::input, checkpoint_source::update, checkpoint_source::fork})
    if (text == to_text(known))
      return known;
  return checkpoint_source::loop;
}

/// The class LangPoint of the module: a checkpoint that was put or loaded.
struct lang_point {
  checkpoint_ptr checkpoint;
};

/// The class LangThreads of the module. Functions release the GIL while they wait for the storage.
class lang_threads {
public:
  explicit lang_threads(const saved_threads& in) : in_{in} {}

  /// Stores a checkpoint, and waits until it is durable.
  /// @param about the members `id`, `parent`, `source`, `step` and `metadata`
  /// @param values the values of `own_channels` and of all channels
  /// @param unchanged the keys of `values` that have the same value in `parent`
  /// @param parent the parent if it is known, else null
  lang_point put(const std::string& thread, const std::string& ns, nb::dict about, nb::dict values,
                 nb::dict unchanged, const lang_point* parent, nb::handle pack) {
    const auto key = thread_key{thread, ns};
    auto point = std::make_shared<superstep::checkpoint>();
    point->id = text_of(about["id"], "id");
    point->parent = text_of(about["parent"], "parent");
    point->source = source_of(text_of(about["source"], "source"));
    point->step = nb::cast<std::int64_t>(about["step"]);
    auto metadata = to_stored(about["metadata"], "metadata", pack);
    point->metadata = std::make_shared<const json::object>(std::move(metadata.get_object()));
    auto names = std::vector<std::string>{};
    for (auto name : values.keys())
      names.emplace_back(text_of(name, "the name of a channel"));
    point->layout = layout_with(names);
    const auto* const base = parent != nullptr && parent->checkpoint->layout == point->layout
                                 ? parent->checkpoint.get()
                                 : nullptr;
    auto state = base != nullptr ? base->state->clone() : point->layout->make_state();
    auto& slots = static_cast<slot_block&>(*state);
    for (auto i = std::size_t{0}; i < point->layout->channels.size(); ++i) {
      const auto& name = point->layout->channels[i]->name();
      if (base != nullptr && PyDict_GetItemString(unchanged.ptr(), name.c_str()) != nullptr)
        continue;
      auto* const object = PyDict_GetItemString(values.ptr(), name.c_str());
      if (object != nullptr)
        slots.at<value_ref>(i) =
            new python_value{to_stored(object, "channel '" + name + '\'', pack)};
      else if (std::as_const(slots).at<value_ref>(i) != nullptr)
        slots.at<value_ref>(i) = value_ref{};
    }
    point->state = std::move(state);
    const auto made = lang_point{std::move(point)};
    unlocked([&] {
      threads().put_now(key, made.checkpoint);
      wait_until_saved(key);
    });
    return made;
  }

  /// Stores the writes of a task.
  /// @param id the checkpoint that the task follows
  /// @param point this checkpoint if it is known, else null
  /// @param waits whether to wait until the writes are durable. Otherwise they become durable with
  /// the
  ///   next checkpoint, or soon
  void put_writes(const std::string& thread, const std::string& ns, const std::string& id,
                  nb::handle record, const lang_point* point, bool waits, nb::handle pack) {
    const auto key = thread_key{thread, ns};
    auto parent = superstep::checkpoint{};
    parent.id = id;
    parent.layout = point != nullptr ? point->checkpoint->layout : layout_with({});
    auto task = task_record{};
    auto content = value_ref{new python_value{to_stored(record, "a write", pack)}};
    task.output.emplace().writes.push_back(
        {writes_channel, false, value{value_write{std::move(content)}}});
    unlocked([&] {
      threads().put_task(key, parent, std::move(task));
      if (waits)
        wait_until_saved(key);
    });
  }

  /// Returns a checkpoint as (point, id, parent, metadata, values, records); None if there is none.
  /// @param id empty for the newest
  nb::object load(const std::string& thread, const std::string& ns, const std::string& id,
                  nb::handle unpack) {
    const auto found = unlocked([&] {
      return with_layout([&](const layout_ptr& as) {
        auto list = std::vector<saved_checkpoint>{};
        if (auto one = threads().load({thread, ns}, id, as))
          list.push_back(*std::move(one));
        return list;
      });
    });
    return found.empty() ? nb::object(nb::none()) : object_of(found.front(), unpack);
  }

  /// Returns checkpoints, newest first, in the form of load().
  /// @param before only smaller ids; empty for no bound
  /// @param metadata a dict with entries that the metadata must contain
  nb::list list(const std::string& thread, const std::string& ns, const std::string& before,
                std::size_t limit, nb::handle metadata, nb::handle pack, nb::handle unpack) {
    auto query = checkpoint_query{};
    query.before = before;
    query.limit = limit;
    query.metadata = to_stored(metadata, "filter", pack).get_object();
    const auto found = unlocked([&] {
      return with_layout([&](const layout_ptr& as) {
        return threads().list({thread, ns}, query, as);
      });
    });
    auto out = nb::list();
    for (const auto& saved : found)
      out.append(object_of(saved, unpack));
    return out;
  }

  [[nodiscard]] superstep::checkpointer& threads() const { return *in_.checkpointer; }

private:
  void wait_until_saved(const thread_key& key) {
    // Shared, because set_value() may use it after the wait has ended.
    const auto saved = std::make_shared<std::promise<void>>();
    if (threads().when_saved(key, [saved] { saved->set_value(); }))
      saved->get_future().wait();
    threads().check(key);
  }

  /// Returns the layout, which gets further channels if necessary. All threads share it, so rows
  /// are deltas once the graphs of the program have used all their channels.
  layout_ptr layout_with(const std::vector<std::string>& names) {
    const auto lock = std::scoped_lock{mutex_};
    auto is_new = layout_ == nullptr;
    for (const auto& name : names)
      if (is_stored_alone(name))
        is_new |= names_.insert(name).second;
    if (is_new)
      layout_ = make_layout(names_);
    return layout_;
  }

  /// Calls `read` with a layout that has all channels of the checkpoints that it returns.
  template <class Read>
  std::vector<saved_checkpoint> with_layout(Read read) {
    auto layout = layout_with({});
    for (;;) {
      std::vector<saved_checkpoint> found = read(layout);
      auto names = std::vector<std::string>{};
      for (const auto& saved : found)
        if (const auto& versions = slots_of(*saved.checkpoint).at<value_ref>(versions_channel))
          for (const auto& [name, version] : versions->stored()->as_object())
            names.emplace_back(name);
      const auto wider = layout_with(names);
      if (wider == layout)
        return found;
      layout = wider;
    }
  }

  static nb::object object_of(const saved_checkpoint& saved, nb::handle unpack) {
    const auto& point = *saved.checkpoint;
    auto values = nb::dict();
    for (auto i = std::size_t{0}; i < point.layout->channels.size(); ++i)
      if (const auto& held = slots_of(point).at<value_ref>(i); held != nullptr)
        values[to_python(std::string_view{point.layout->channels[i]->name()})] =
            from_stored(*held->stored(), unpack);
    auto records = nb::list();
    for (const auto& task : saved.tasks)
      if (task.output)
        for (const auto& w : task.output->writes)
          if (w.channel == writes_channel)
            records.append(from_stored(*w.content.as<value_write>().content->stored(), unpack));
    const auto metadata =
        point.metadata ? json::value(*point.metadata) : json::value(json::object{});
    return nb::make_tuple(lang_point{saved.checkpoint}, to_python(std::string_view{point.id}),
                          to_python(std::string_view{point.parent}), from_stored(metadata, unpack),
                          values, records);
  }

  saved_threads in_;
  std::mutex mutex_; // protects the members below
  std::set<std::string, std::less<>> names_;
  layout_ptr layout_;
};

/// Returns the namespaces of a thread; an empty list if it does not exist.
std::vector<std::string> namespaces_of(const lang_threads& in, const std::string& thread) {
  auto text = std::string{};
  try {
    text = in.threads().export_thread(thread);
  } catch (const checkpoint_error&) {
    if (!in.threads().head({thread, {}}).empty())
      throw;
  }
  auto out = std::set<std::string>{};
  for (auto from = std::size_t{0}; from < text.size();) {
    const auto to = std::min(text.find('\n', from), text.size());
    const auto line = parse_json(std::string_view{text}.substr(from, to - from));
    if (const auto* const members = line ? line->if_object() : nullptr; members != nullptr)
      if (const auto* const ns = members->if_contains("ns"))
        out.emplace(ns->as_string());
    from = to + 1;
  }
  return {out.begin(), out.end()};
}

} // namespace

void add_lang_threads(nb::module_& m) {
  nb::class_<lang_point>(m, "LangPoint");
  nb::class_<lang_threads>(m, "LangThreads")
      .def(nb::init<const saved_threads&>())
      .def("put", &lang_threads::put, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
           nb::arg().none(), nb::arg())
      .def("put_writes", &lang_threads::put_writes, nb::arg(), nb::arg(), nb::arg(), nb::arg(),
           nb::arg().none(), nb::arg(), nb::arg())
      .def("load", &lang_threads::load)
      .def("list", &lang_threads::list)
      .def("namespaces",
           [](const lang_threads& t, const std::string& thread) {
             return unlocked([&] { return namespaces_of(t, thread); });
           })
      .def("threads",
           [](const lang_threads& t, const std::string& after, std::size_t limit) {
             auto out = std::vector<std::string>{};
             unlocked([&] {
               for (auto& thread : t.threads().threads(after, limit))
                 out.push_back(std::move(thread.thread_id));
             });
             return out;
           })
      .def("delete_thread",
           [](const lang_threads& t, const std::string& thread) {
             unlocked([&] { t.threads().delete_thread(thread); });
           })
      .def("delete_runs",
           [](const lang_threads& t, const std::vector<std::string>& runs) {
             unlocked([&] { t.threads().delete_runs(runs); });
           })
      .def("copy_thread",
           [](const lang_threads& t, const std::string& from, const std::string& to) {
             unlocked([&] { t.threads().import_thread(to, t.threads().export_thread(from)); });
           })
      .def("prune", [](const lang_threads& t, const std::string& thread) {
        unlocked([&] {
          auto what = prune_options{};
          what.thread_id = thread;
          t.threads().prune(what);
        });
      });
}

} // namespace superstep::python
