#include "edl/store/settle.h"

#include <algorithm>

namespace edl::store {
namespace {

constexpr Duration kPauseMin = 20ms;
constexpr Duration kPauseMax = 500ms;

class Settling final : public os::Pending::Operation {
 public:
  Settling(Store& store, Change change, std::string key, Duration limit, Done<Settled> done)
      : store_(store),
        change_(std::move(change)),
        key_(std::move(key)),
        deadline_(store.system().now() + limit),
        pause_(kPauseMin),
        done_(std::move(done)) {
    attempt();
  }

 private:
  void attempt() {
    under_way_ = store_.change(change_, [this](Result<Changed> changed) {
      if (!changed.ok()) return retry(changed.error(), [this] { attempt(); });
      if (changed->happened) {
        return finish(Settled{.happened = true, .revision = changed->revision});
      }
      look();
    });
  }

  void look() {
    under_way_ = store_.find(key_, [this](Result<std::optional<KeyValue>> found) {
      if (!found.ok()) return retry(found.error(), [this] { look(); });
      finish(Settled{.stored = std::move(found).value()});
    });
  }

  void retry(const Error& error, os::Task again) {
    const bool passing = error.code == Code::kTimeout || error.code == Code::kUnavailable ||
                         error.code == Code::kExhausted;
    if (!passing) return finish(error);
    if (store_.system().now() + pause_ >= deadline_) {
      return finish(Error{Code::kTimeout, error.message});
    }
    under_way_ = store_.system().after(pause_, std::move(again));
    pause_ = std::min(pause_ * 2, kPauseMax);
  }

  void finish(Result<Settled> settled) {
    const auto done = done_;  // it may destroy us
    done(std::move(settled));
  }

  Store& store_;
  const Change change_;
  const std::string key_;
  const Time deadline_;
  Duration pause_;
  const Done<Settled> done_;
  os::Pending under_way_;
};

}  // namespace

os::Pending settle(Store& store, Change change, std::string key, Duration limit,
                   Done<Settled> done) {
  return os::Pending(
      std::make_unique<Settling>(store, std::move(change), std::move(key), limit, std::move(done)));
}

os::Pending put_if_absent(Store& store, const std::string& key, const std::string& value,
                          Duration limit, Done<std::string> done) {
  Change change{.conditions = {{key, 0}}, .puts = {{key, value, 0}}};
  return settle(store, std::move(change), key, limit,
                [value, done = std::move(done)](Result<Settled> settled) {
                  if (!settled.ok()) return done(settled.error());
                  if (settled->happened) return done(value);
                  if (settled->stored) return done(settled->stored->value);
                  done(Error{Code::kConflict, "the key was deleted, though it is to stay"});
                });
}

}  // namespace edl::store
