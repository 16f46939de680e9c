// SPDX-License-Identifier: Apache-2.0
#include "point_codec.hpp"
#include "sqlite_db.hpp"
#include "store_labels.hpp"
#include "thread_text.hpp"

#include <superstep/checkpoint/sqlite_store.hpp>

#include <mutex>
#include <utility>

namespace superstep {

using namespace detail;

namespace {

/// Labels with a zero byte between them, which no label holds: sorts as the list of labels does.
std::string joined(const store_namespace& ns) {
  auto out = std::string{};
  for (const auto& label : ns) {
    if (!out.empty())
      out += '\0';
    out += label;
  }
  return out;
}

store_namespace split(std::string_view text) {
  auto out = store_namespace{};
  while (true) {
    const auto end = text.find('\0');
    out.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos)
      return out;
    text.remove_prefix(end + 1);
  }
}

} // namespace

/// One connection, used by one thread at a time: each call is a transaction of its own.
class sqlite_store::impl {
public:
  impl(const std::string& path, const sqlite_store_options& options)
      : db_{open_for_writing(path, options.busy_timeout, options.survives_power_loss)},
        get_{db_.prepare("SELECT value FROM items WHERE ns = ?1 AND key = ?2")},
        put_{db_.prepare("INSERT INTO items (ns, key, value) VALUES (?1, ?2, ?3) "
                         "ON CONFLICT (ns, key) DO UPDATE SET value = excluded.value")},
        erase_{db_.prepare("DELETE FROM items WHERE ns = ?1 AND key = ?2")},
        search_{db_.prepare("SELECT ns, key, value FROM items WHERE ns = ?1 OR (ns >= ?2 AND ns < "
                            "?3) ORDER BY ns, key")},
        all_{db_.prepare("SELECT ns, key, value FROM items ORDER BY ns, key")},
        namespaces_{db_.prepare("SELECT DISTINCT ns FROM items")} {}

  std::optional<json::object> get(const std::string& ns, std::string_view key) {
    const auto lock = std::scoped_lock{mutex_};
    auto s = statement_use{get_};
    s->bind_bytes(1, ns);
    s->bind_text(2, key);
    if (!s->step())
      return std::nullopt;
    return std::move(parse_row(s->text(0)).as_object());
  }

  void put(const std::string& ns, std::string_view key, const std::string& value) {
    const auto lock = std::scoped_lock{mutex_};
    put_.bind_bytes(1, ns);
    put_.bind_text(2, key);
    put_.bind_text(3, value);
    put_.run();
  }

  void erase(const std::string& ns, std::string_view key) {
    const auto lock = std::scoped_lock{mutex_};
    erase_.bind_bytes(1, ns);
    erase_.bind_text(2, key);
    erase_.run();
  }

  std::vector<store_item> search(const store_query& query) {
    auto out = std::vector<store_item>{};
    const auto prefix = joined(query.prefix);
    const auto from = prefix + '\0';
    const auto to = prefix + '\1';
    const auto lock = std::scoped_lock{mutex_};
    auto s = statement_use{query.prefix.empty() ? all_ : search_};
    if (!query.prefix.empty()) {
      s->bind_bytes(1, prefix);
      s->bind_bytes(2, from);
      s->bind_bytes(3, to);
    }
    // Filters mean what fits() says, which is more than SQL's comparisons of JSON can say.
    for (auto skipped = std::size_t{0}; out.size() < query.limit && s->step();) {
      auto value = std::move(parse_row(s->text(2)).as_object());
      if (!fits(query.filter, value, no_number::is_left_out) || skipped++ < query.offset)
        continue;
      out.push_back({split(s->bytes(0)), std::string{s->text(1)}, std::move(value)});
    }
    return out;
  }

  std::vector<store_namespace> namespaces() {
    auto out = std::vector<store_namespace>{};
    const auto lock = std::scoped_lock{mutex_};
    auto s = statement_use{namespaces_};
    while (s->step())
      out.push_back(split(s->bytes(0)));
    return out;
  }

private:
  std::mutex mutex_;
  database db_;
  statement get_;
  statement put_;
  statement erase_;
  statement search_;
  statement all_;
  statement namespaces_;
};

sqlite_store::sqlite_store(std::string path, sqlite_store_options options)
    : impl_{std::make_unique<impl>(path, options)} {}

sqlite_store::~sqlite_store() = default;

std::optional<json::object> sqlite_store::get(const store_namespace& ns, std::string_view key) {
  check_labels(ns);
  return impl_->get(joined(ns), key);
}

void sqlite_store::put(const store_namespace& ns, std::string_view key, json::object value,
                       const store_put_options& options) {
  check_target(ns);
  check_plain_put(options, "sqlite_store");
  impl_->put(joined(ns), key, to_text(value));
}

void sqlite_store::erase(const store_namespace& ns, std::string_view key) {
  check_labels(ns);
  impl_->erase(joined(ns), key);
}

std::vector<store_item> sqlite_store::search(const store_query& query) {
  check_labels(query.prefix);
  return impl_->search(query);
}

std::vector<store_namespace> sqlite_store::list(const namespace_query& query) {
  return listed(impl_->namespaces(), query);
}

} // namespace superstep
