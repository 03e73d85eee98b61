#include "edl/agent/job_store.h"

#include "edl/base/text.h"

namespace edl::agent {
namespace {

constexpr Duration kPause = 200ms;

std::uint64_t next_id_in(const std::optional<store::KeyValue>& kv) {
  if (!kv) return 1;
  const auto json = parse_json(kv->value);
  std::uint64_t next = 1;
  if (json.ok()) {
    JsonReader in(*json, "next-id");
    in.read("next", next);
  }
  return next;
}

}  // namespace

JobStore::JobStore(store::Store& store, const std::string& job, OnFailed on_failed)
    : store_(store), prefix_(job_prefix(job)), on_failed_(std::move(on_failed)) {}

template <class T>
void JobStore::persist(std::function<os::Pending(store::Done<T>)> call,
                       std::function<void(T)> done) {
  attempt<T>(calls_made_++, std::move(call), std::move(done));
}

template <class T>
void JobStore::attempt(std::uint64_t number, std::function<os::Pending(store::Done<T>)> call,
                       std::function<void(T)> done) {
  calls_[number] = call([this, number, call, done](Result<T> answer) {
    if (answer.ok()) {
      const auto told = done;
      calls_.erase(number);
      return told(std::move(answer).value());
    }
    const Code code = answer.error().code;
    if (code != Code::kUnavailable && code != Code::kTimeout) return on_failed_(answer.error());
    calls_[number] = store_.system().after(
        kPause, [this, number, call, done] { attempt<T>(number, call, done); });
  });
}

void JobStore::look(std::function<void(const JobPicture&)> done) {
  using Listed = std::vector<store::KeyValue>;
  persist<Listed>(
      [this](store::Done<Listed> listed) { return store_.list(prefix_, std::move(listed)); },
      [this, done = std::move(done)](const Listed& kvs) {
        JobPicture picture{.prefix = prefix_};
        for (const store::KeyValue& kv : kvs) picture.take({store::Fact::Kind::kPut, kv});
        done(picture);
      });
}

void JobStore::change(const store::Change& change, std::function<void(bool happened)> done) {
  persist<store::Changed>(
      [this, change](store::Done<store::Changed> changed) {
        return store_.change(change, std::move(changed));
      },
      [done = std::move(done)](const store::Changed& changed) { done(changed.happened); });
}

void JobStore::put(const std::string& name, const Json& value) {
  change({.puts = {{key(name), json_line(value), 0}}}, [](bool) {});
}

void JobStore::put_if_absent(const std::string& name, const Json& value,
                             std::function<void()> done) {
  const store::Change once{.conditions = {{key(name), 0}},
                           .puts = {{key(name), json_line(value), 0}}};
  change(once, [done = std::move(done)](bool) { done(); });
}

void JobStore::remove(const std::string& name) {
  change({.deletes = {key(name)}}, [](bool) {});
}

void JobStore::edit_wanted(const Edit& edit, std::function<void()> done) {
  look([this, edit, done = std::move(done)](const JobPicture& picture) {
    Wanted wanted = picture.wanted.value_or(Wanted());
    edit(wanted);
    const store::Change once{.conditions = {{key("wanted"), picture.revision("wanted")}},
                             .puts = {{key("wanted"), json_line(wanted_json(wanted)), 0}}};
    change(once, [this, edit, done](bool happened) {
      if (happened) return done();
      edit_wanted(edit, done);
    });
  });
}

void JobStore::take_ids(std::uint32_t count, std::function<void(std::vector<std::string>)> done) {
  using Found = std::optional<store::KeyValue>;
  persist<Found>(
      [this](store::Done<Found> found) { return store_.find(key("next-id"), std::move(found)); },
      [this, count, done = std::move(done)](const Found& found) {
        const std::uint64_t first = next_id_in(found);
        const store::Change take{
            .conditions = {{key("next-id"), found ? found->mod_revision : 0}},
            .puts = {{key("next-id"), json_line({{"next", first + count}}), 0}}};
        change(take, [this, first, count, done](bool happened) {
          // Also when an earlier try of ours happened and was not heard of: those are skipped.
          if (!happened) return take_ids(count, done);
          std::vector<std::string> ids;
          for (std::uint64_t i = 0; i < count; ++i) ids.push_back(text("w", first + i));
          done(std::move(ids));
        });
      });
}

}  // namespace edl::agent
